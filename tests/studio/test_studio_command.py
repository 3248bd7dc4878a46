"""``jamrank studio`` as a user starts it: a process, its links, an orderly end, a copy while it runs."""

from __future__ import annotations

import signal
import subprocess
import sys

import httpx
import pytest
from click.testing import CliRunner

pytest.importorskip("starlette", reason="jamrank[studio] is not installed")

from jamrank.cli import main
from jamrank.collect import open_ledger
from jamrank.errors import LedgerError
from jamrank.io import read_comparisons
from jamrank.studio.backup import back_up
from jamrank.studio.setup import open_study, prepare

COMMAND = [sys.executable, "-m", "jamrank", "studio"]


@pytest.fixture
def folder(tmp_path):
    text = "item,text\n" + "".join(f"i{place},{place}\n" for place in range(5))
    (tmp_path / "items.csv").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def started(folder):
    processes = []

    def start(*more):
        process = subprocess.Popen(
            [*COMMAND, *more, "--port", "0", "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[0].startswith("Admin page"), process.stderr.read()
        return process, lines[0].split()[2], lines[1].split()[1]

    yield start
    for process in processes:
        process.kill()
        process.wait(timeout=20)
        process.stdout.close()
        process.stderr.close()


def vote(url, link, times=1, client=None):
    client = client or httpx.Client(base_url=url, timeout=30)
    if "jamrank-judge" not in client.cookies:
        assert client.post("/join", data={"token": link.rpartition("/")[2]}).status_code == 303
    csrf = client.get("/vote").text.partition('data-csrf="')[2].partition('"')[0]
    headers = {"X-CSRF-Token": csrf, "Accept": "application/json"}
    state = client.post("/next", json={}, headers=headers).json()
    for _ in range(times):
        body = {"key": state["open"][0]["key"], "answer": "left"}
        state = client.post("/vote", json=body, headers=headers).json()
    return client


def test_a_study_stops_in_order_goes_on_and_can_be_copied(started, folder):
    process, admin, link = started("items.csv")
    url = admin.partition("/admin")[0]
    client = vote(url, link, 2)
    # A copy while it runs.
    done = subprocess.run(
        [*COMMAND, "backup", "items.studio.sqlite", "copy.sqlite"],
        cwd=folder,
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "events copied" in done.stdout
    with open_ledger(folder / "copy.sqlite", create=False) as ledger:
        assert ledger.votes().height == 2
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143  # as every command that is terminated
    assert process.stderr.read() == ""
    # The same command goes on: the judge's cookie is valid, the votes are there, the old admin link is not.
    process, again, _ = started("items.csv")
    other = again.partition("/admin")[0]
    more = httpx.Client(base_url=other, timeout=30, cookies={"jamrank-judge": client.cookies["jamrank-judge"]})
    vote(other, link, 1, more)
    assert httpx.post(f"{other}/admin/enter", data={"token": admin.rpartition("/")[2]}).status_code == 404
    assert httpx.post(f"{other}/admin/enter", data={"token": again.rpartition("/")[2]}).status_code == 303
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert read_comparisons(folder / "items.studio.sqlite").n_votes == 3
    # The copy can be served, too.
    process, _, _ = started("--database", "copy.sqlite")


def test_links_for_many(folder, monkeypatch):
    (folder / "names.txt").write_text("Ann\n\nBen\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    open_study(folder / "a.sqlite").dispose()
    done = CliRunner().invoke(
        main, ["studio", "invite", "a.sqlite", "--names", "names.txt", "--url", "https://x.example"]
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [name for name, _ in lines] == ["Ann", "Ben"]
    assert all(link.startswith("https://x.example/join/") for _, link in lines)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name a table or folder of items"),
        (["nowhere.csv"], "there is no such file or folder"),
        (["items.csv", "--host", "0.0.0.0"], "with --url"),
        (["items.csv", "--url", "ftp://x"], "expected http://host"),
        (["items.csv", "--url", "https://x/path"], "without a path"),
        (["items.csv", "--processes", "2"], "needs PostgreSQL"),
        (["items.csv", "--study", "nowhere.toml"], "cannot be read"),
        (["study.toml"], "did you mean 'question'"),
        (["--database", "nowhere.sqlite"], "does not exist"),
        (["items.csv", "--database", "items.csv", "--port", "0"], "database"),
        (["backup", "nowhere.sqlite", "copy.sqlite"], "does not exist"),
    ],
)
def test_mistakes_end_with_one_line(folder, monkeypatch, words, told):
    (folder / "study.toml").write_text("questoin = 'x'\nitems = 'items.csv'\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(main, ["studio", *words])
    assert done.exit_code == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_copy_is_whole_or_not_there(folder):
    open_study(folder / "a.sqlite").dispose()
    (folder / "there.sqlite").write_text("mine")
    with pytest.raises(LedgerError, match="exists"):
        back_up(folder / "a.sqlite", folder / "there.sqlite")
    assert (folder / "there.sqlite").read_text() == "mine"
    assert back_up(folder / "a.sqlite", folder / "b.sqlite") == 0
    assert not list(folder.glob(".jamrank-*"))


def test_older_tables_are_brought_up_to_date_and_newer_ones_refused(folder):
    engine = open_study(folder / "a.sqlite")
    done = []
    with engine.begin() as connection:
        prepare(connection, [lambda c: done.append(1), lambda c: done.append(2)])
        assert done == [1, 2]
        prepare(connection, [lambda c: done.append(1), lambda c: done.append(2)])
        assert done == [1, 2]
        with pytest.raises(LedgerError, match="newer jamrank"):
            prepare(connection)
    engine.dispose()


def test_a_ledger_of_the_jury_alone_becomes_a_study(folder):
    open_ledger(folder / "a.sqlite").close()
    open_study(folder / "a.sqlite", create=False).dispose()
