"""A running studio: the real app behind a real port, with a worker in a thread."""

from __future__ import annotations

import struct
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="jamrank[studio] is not installed")
import httpx
import uvicorn

from jamrank.collect.database import reading
from jamrank.collect.votes import votes_frame
from jamrank.studio import people
from jamrank.studio.app import create_app
from jamrank.studio.catalogue import save_study, set_state
from jamrank.studio.database import Database
from jamrank.studio.items import read_items
from jamrank.studio.serve import listen
from jamrank.studio.setup import Material, open_study, start
from jamrank.studio.study import Study
from jamrank.studio.web import Studio
from jamrank.studio.worker import Worker


def png(grey: int, size: int = 40) -> bytes:
    rows = b"".join(b"\0" + bytes([grey]) * size for _ in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


@dataclass
class Running:
    """A studio that is up."""

    studio: Studio
    url: str
    admin_token: str
    folder: Path
    server: uvicorn.Server | None = None

    def judge_link(self, name: str = "") -> tuple[str, str]:
        """Return a new judge's pseudonym and link."""
        judge, token = self.studio.database.write(lambda c: people.invite_judge(c, name))
        return judge, f"{self.url}/join/{token}"

    def open_link(self, most: int) -> str:
        return f"{self.url}/join/{self.studio.database.write(lambda c: people.invite(c, 'open', most=most))}"

    def change(self, study: Study) -> None:
        self.studio.database.write(lambda c: save_study(c, study))
        self.studio.changed()

    def set_state(self, state: str) -> None:
        self.studio.database.write(lambda c: set_state(c, state))
        self.studio.changed()

    def votes(self, purposes: tuple[str, ...] = ("vote", "gold", "repeat")):
        with reading(self.studio.database.engine) as connection:
            return votes_frame(connection, purposes, 0)

    def events(self, *kinds: str):
        from sqlalchemy import select

        from jamrank.collect.schema import events

        with reading(self.studio.database.engine) as connection:
            rows = connection.execute(select(events).order_by(events.c.id)).all()
        return [row for row in rows if not kinds or row.kind in kinds]

    def client(self, **more) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=20, **more)

    def judge(self, link: str | None = None) -> JudgeClient:
        """Return a judge who has come in."""
        client = self.client()
        answer = client.post("/join", data={"token": (link or self.judge_link()[1]).rpartition("/")[2]})
        assert answer.status_code == 303, answer.text
        return JudgeClient(client)

    def admin(self) -> AdminClient:
        client = self.client()
        answer = client.post("/admin/enter", data={"token": self.admin_token})
        assert answer.status_code == 303, answer.text
        return AdminClient(client)


class JudgeClient:
    """A judge without a browser: the same requests as the page's script."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        page = client.get("/vote").text
        self.csrf = page.partition('data-csrf="')[2].partition('"')[0]

    def post(self, path: str, **values) -> httpx.Response:
        headers = {"Accept": "application/json", "X-CSRF-Token": self.csrf}
        return self.client.post(path, json=values, headers=headers)

    def state(self) -> dict:
        answer = self.post("/next")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def vote(self, key: str, said: str = "left", **more) -> httpx.Response:
        return self.post("/vote", key=key, answer=said, **more)


class AdminClient:
    """An admin without a browser."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.csrf = client.get("/admin").text.partition('name="csrf" value="')[2].partition('"')[0]

    def post(self, path: str, **values) -> httpx.Response:
        return self.client.post(path, data={"csrf": self.csrf, **values})

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path)


@pytest.fixture
def images(tmp_path):
    """A folder of six images."""
    folder = tmp_path / "items"
    folder.mkdir()
    for place in range(6):
        (folder / f"photo-{place}.png").write_bytes(png(40 * place))
    return folder


@pytest.fixture
def run_studio(tmp_path):
    """Start studios; all are stopped at the end, and none may have failed inside."""
    started: list[tuple[uvicorn.Server, threading.Thread, threading.Event, Running]] = []

    def run(
        items: Path, study: Study | None = None, *, where: str | None = None, worker: bool = False, public: str = ""
    ) -> Running:
        found, media = read_items(items)
        engine = open_study(where or str(tmp_path / "study.sqlite"))
        opened = listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{opened.getsockname()[1]}"
        links = start(engine, Material(study or Study(), "test", tuple(found), media, "items"), url)
        studio = Studio(Database(engine), media, public or url)
        config = uvicorn.Config(
            create_app(studio), log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=2
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        stop = threading.Event()
        if worker:
            threading.Thread(target=Worker(engine).run, args=(stop,), daemon=True).start()
        running = Running(studio, url, links.admin.rpartition("/")[2], tmp_path, server)
        started.append((server, thread, stop, running))
        for _ in range(200):
            if server.started:
                break
            stop.wait(0.05)
        return running

    yield run
    for server, thread, stop, running in started:
        stop.set()
        running.studio.stopping = True
        server.should_exit = True
        thread.join(timeout=10)
        running.studio.database.close()


@pytest.fixture
def running(run_studio, images):
    """A study of six images."""
    return run_studio(images, Study(title="Six photographs", question="Which is brighter?", votes_per_judge=10))
