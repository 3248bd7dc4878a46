"""Running the studio: server processes, the worker beside them, an orderly end."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event, Thread
from typing import Any

from jamrank.errors import LedgerError, ParameterError

# Seconds for the worker to stop after its server.
_GRACE = 10.0


@dataclass(frozen=True)
class Options:
    """Options of the server.

    database: Path or URL.
    media: The folder of the items' files.
    url: Public URL.
    hosts: Further allowed host names.
    processes: Server processes; several need PostgreSQL.
    proxy: Whether to trust the forwarding headers of a proxy.
    upload_bytes: Most bytes of an upload.
    quiet: Whether to log only what goes wrong.
    """

    database: str
    media: Path
    url: str
    hosts: tuple[str, ...] = ()
    processes: int = 1
    proxy: bool = False
    upload_bytes: int = 50_000_000
    quiet: bool = True


def listen(host: str, port: int) -> socket.socket:
    """Open the port; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise ParameterError(
            f"port {port} of {host} cannot be used ({error.strerror}); choose another with --port"
        ) from None
    opened.listen(2048)
    return opened


def serve(options: Options, opened: socket.socket, ready: Callable[[], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; open requests are finished, then the worker stops."""
    context = multiprocessing.get_context("spawn")
    stopping = Event()
    worker = _Kept(
        lambda: context.Process(target=_work, args=(options,), name="jamrank-worker", daemon=True), stopping
    )
    servers: list[_Kept] = []
    try:
        if options.processes == 1:
            _serve_one(options, opened, ready)
        else:
            for _ in range(options.processes):
                make = lambda: context.Process(target=_serve_many, args=(options, opened), daemon=True)  # noqa: E731
                servers.append(_Kept(make, stopping))
            _wait(ready)
    finally:
        stopping.set()
        for kept in (*servers, worker):
            kept.end()
        opened.close()


def _wait(ready: Callable[[], None] | None) -> None:
    """Wait for a signal to end."""
    over = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    if ready is not None:
        ready()
    while not over.wait(0.5):
        pass


class _Kept:
    """A process that is restarted when it dies."""

    def __init__(self, make: Callable[[], BaseProcess], stopping: Event) -> None:
        self._make, self._stopping = make, stopping
        self._process: BaseProcess | None = None
        self._thread = Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        while not self._stopping.is_set():
            self._process = self._make()
            self._process.start()
            while self._process.is_alive() and not self._stopping.is_set():
                self._process.join(0.2)
            self._stopping.wait(1.0)

    def end(self) -> None:
        """Stop the process, and make sure that it ends."""
        self._thread.join(timeout=5)
        process = self._process
        if process is None or not process.is_alive():
            return
        process.terminate()
        process.join(10)
        if process.is_alive():
            process.kill()


def _serve_one(options: Options, opened: socket.socket, ready: Callable[[], None] | None = None) -> None:
    import uvicorn

    from jamrank.studio.app import create_app
    from jamrank.studio.database import Database
    from jamrank.studio.setup import open_study
    from jamrank.studio.web import Studio

    _log(options.quiet)
    # The writing thread waits for the database often. Each time it would wait for the interpreter for as long as
    # requests may keep it, by default 5 ms.
    sys.setswitchinterval(0.0005)
    database = Database(open_study(options.database, create=False))
    studio = Studio(database, options.media, options.url, options.upload_bytes)
    config = uvicorn.Config(
        create_app(studio, options.hosts),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=options.proxy,
        timeout_graceful_shutdown=5,
        lifespan="on",
    )
    server = _Server(config, studio, ready)
    try:
        server.run(sockets=[opened])
    finally:
        database.close()


def _serve_many(options: Options, opened: socket.socket) -> None:
    """Run one of several server processes; stop with the parent."""
    stop = Event()
    Thread(target=_end_with_parent, args=(stop,), daemon=True).start()
    Thread(target=_terminate_after, args=(stop,), daemon=True).start()
    _serve_one(options, opened)


def _terminate_after(stop: Event) -> None:
    stop.wait()
    os.kill(os.getpid(), signal.SIGTERM)


def _server_class() -> Any:
    import uvicorn

    class Server(uvicorn.Server):
        """A uvicorn server that notifies the studio when it starts and stops."""

        def __init__(self, config: Any, studio: Any, ready: Callable[[], None] | None) -> None:
            super().__init__(config)
            self._studio, self._ready = studio, ready

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self._ready is not None:
                self._ready()

        def handle_exit(self, sig: int, frame: Any) -> None:
            # Streams of events end by themselves once they know.
            self._studio.stopping = True
            super().handle_exit(sig, frame)

    return Server


def _Server(*args: Any) -> Any:  # noqa: N802 (a class that needs uvicorn to be made)
    return _server_class()(*args)


def _log(quiet: bool) -> None:
    from jamrank.studio.security import JsonLines

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("jamrank.studio", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING if quiet else logging.INFO)


def _work(options: Options) -> None:
    """Run the worker: one per ledger, a second one waits until the first has stopped.

    It gives way to the server: a lower priority, and one thread unless a variable says otherwise.
    """
    for name in (
        "JAMRANK_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "POLARS_MAX_THREADS",
    ):
        os.environ.setdefault(name, "1")
    from jamrank.collect.database import only_writer
    from jamrank.studio.security import log
    from jamrank.studio.setup import open_study
    from jamrank.studio.worker import Worker

    _log(options.quiet)
    stop = Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    Thread(target=_end_with_parent, args=(stop,), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(15)
    engine = open_study(options.database, create=False)
    while not stop.is_set():
        try:
            with only_writer(engine, "studio-worker"):
                Worker(engine).run(stop)
        except LedgerError as error:
            log.warning("worker waits", extra={"facts": {"reason": str(error)}})
            stop.wait(2.0)


def _end_with_parent(stop: Event) -> None:
    """Stop when the process that started this one is gone, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    stop.set()
    time.sleep(_GRACE)
    os._exit(1)
