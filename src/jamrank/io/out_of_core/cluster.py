"""The interface to a dask cluster: tasks on parts, tree sums, errors in one line."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jamrank.errors import ClusterError, JamrankError, ParameterError
from jamrank.io.documents import check_folder
from jamrank.io.private import own_scratch, private_folder
from jamrank.kernels import default_threads

Tick = Callable[[int, int], None]

_FAN_IN, _SUMS_A_THREAD = 8, 2
_ANSWER_WITHIN, _WORKERS_WITHIN, _LOOK_EVERY = 10.0, 60.0, 0.2
_INSTALL = "install it: pip install 'jamrank[cluster]'"


def cluster_at_hand() -> str | None:
    """Return the address of a scheduler known to this process; None if there is none.

    That is the open client of the caller or ``DASK_SCHEDULER_ADDRESS``. dask is not imported for this.
    """
    client = _client_at_hand()
    return str(client.scheduler.address) if client is not None else os.environ.get("DASK_SCHEDULER_ADDRESS")


def _client_at_hand() -> Any:
    import sys

    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


class Cluster:
    """A client of a scheduler.

    client: Open.
    own: What to close with it, in order; empty if the caller opened the client.
    """

    def __init__(self, client: Any, own: Sequence[Any] = ()) -> None:
        self.client = client
        self.address: str = client.scheduler.address
        self.local = len(own) > 1
        # Of all workers, when parts were last shared among them.
        self._threads = 1
        self._close = weakref.finalize(self, _close, list(own))

    @classmethod
    def at(
        cls,
        scheduler: str | None = None,
        workers: int | None = None,
        scratch: str | os.PathLike[str] | None = None,
    ) -> Cluster:
        """Connect to a scheduler, or start one here.

        scheduler: Its address; by default the known client or address, otherwise a local cluster.
        workers: How many worker processes a local cluster has; one for each core unless given.
        scratch: Where the workers of a local cluster put what does not fit into memory.
        Raises ParameterError: If dask is not installed.
        Raises ClusterError: If no scheduler answers at the address.
        """
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError:
            raise ParameterError(f"the engine 'dask' needs dask; {_INSTALL}") from None
        if scheduler is None and workers is None and (known := _client_at_hand()) is not None:
            return cls(known)
        scheduler = scheduler or (os.environ.get("DASK_SCHEDULER_ADDRESS") if workers is None else None)
        if scheduler is not None:
            try:
                client = Client(scheduler, timeout=_ANSWER_WITHIN, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:
                reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
                raise ClusterError(f"no dask scheduler answers at {scheduler!r} ({reason})") from None
            return cls(client, [client])
        room = str(_room(scratch))
        # dask's default folder is accessible to other users, and whoever reaches a scheduler can run code as its
        # owner: connections need a key that only these processes have, and no page is served.
        private = {"temporary-directory": room, "distributed.scheduler.http.routes": []}
        with warnings.catch_warnings(), dask.config.set({**private, "distributed.worker.http.routes": []}):
            warnings.simplefilter("ignore", UserWarning)
            cluster = LocalCluster(
                n_workers=workers or default_threads(),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                protocol="tls://",
                security=_temporary_keys(),
                dashboard_address=None,
                local_directory=room,
                env={"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
                silence_logs=40,
            )
            client = Client(cluster, set_as_default=False)
        return cls(client, [client, cluster])

    @property
    def dashboard(self) -> str:
        """Address of the page that shows what the cluster is doing; empty for a local cluster, which has none."""
        return "" if self.local else str(self.client.dashboard_link)

    @property
    def n_workers(self) -> int:
        """How many workers there are now."""
        with self.clearly():
            return len(self.client.nthreads())

    def require_workers(self) -> None:
        """Check that there are workers."""
        with self.clearly():
            try:
                self.client.wait_for_workers(1, timeout=_WORKERS_WITHIN)
            except TimeoutError:
                problem = f"the dask scheduler at {self.address} has no workers"
                raise ClusterError(f"{problem}; start some with dask worker {self.address}") from None

    def close(self) -> None:
        """Close the client, and the cluster, if they were opened here."""
        self._close()

    # -- tasks ----------------------------------------------------------------------------------------------

    def carry(self, *values: Any) -> Any:
        """Return a future of values that all workers will need.

        They are sent as a task, so that they are sent again if their worker dies.
        """
        with self.clearly(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.submit(_values, *values, pure=False)

    def each(
        self,
        function: Callable[..., Any],
        parts: Sequence[Any],
        *shared: Any,
        places: Sequence[str | None] | None = None,
    ) -> list[Any]:
        """Call a function on every part at its worker, or at any other once that worker is gone."""
        with self.clearly():
            places = self.places(parts) if places is None else places
            futures: list[Any] = [None] * len(parts)
            for worker in dict.fromkeys(places):
                own = [number for number, place in enumerate(places) if place == worker]
                found = self.client.map(
                    function,
                    [parts[number] for number in own],
                    *([value] * len(own) for value in shared),
                    pure=False,
                    **_at(worker),
                )
                for number, future in zip(own, found, strict=True):
                    futures[number] = future
            return futures

    def places(self, parts: Sequence[Any]) -> list[str | None]:
        """Return the worker that has each part; None for those that are not in memory."""
        asked = [part for part in parts if hasattr(part, "key")]
        if not asked:
            return [None] * len(parts)
        with self.clearly():
            known = self.client.who_has(asked)
        return [next(iter(sorted(known.get(part.key, ()))), None) for part in parts]

    def runs(self, parts: Sequence[Any]) -> list[str | None]:
        """Return a worker for each part: every worker gets consecutive parts, by its number of threads.

        Neighbouring sums are added first: if they are at one worker, only one sum is sent.
        """
        places = self.places(parts)
        with self.clearly():
            threads: dict[str, int] = self.client.nthreads()
        self._threads = sum(threads.values())
        held = {worker: [at for at, place in enumerate(places) if place == worker] for worker in sorted(threads)}
        order = sorted(held, key=lambda worker: sum(held[worker]) / len(held[worker]) if held[worker] else len(parts))
        runs = [worker for worker in order for _ in range(threads[worker])]
        return [runs[at * len(runs) // len(parts)] if runs else None for at in range(len(parts))]

    def total(self, add: Callable[..., Any], futures: Sequence[Any], places: Sequence[str | None]) -> Any:
        """Add up futures in a tree whose shape depends only on their number."""
        with self.clearly():
            while True:
                # Pairwise for few parts: less is sent if neighbouring parts are at one worker.
                width = _FAN_IN if len(futures) > _FAN_IN else 2
                groups = range(0, len(futures), width)
                futures = [self._submit(places[at], add, *futures[at : at + width]) for at in groups]
                places = [places[at] for at in groups]
                if len(futures) == 1:
                    return futures[0]

    def sum_over(
        self,
        add: Callable[..., Any],
        function: Callable[..., Any],
        parts: Sequence[Any],
        *shared: Any,
        tick: Tick | None = None,
    ) -> Any:
        """Return the sum of what a function returns for every part, added in the tree of :meth:`total`.

        The lowest sums of the tree are one task together with their parts, where these are all at one worker and
        every thread has several sums: the scheduler assigns tasks one after another, and runs on the same cores.
        """
        places = self.places(parts)
        if len(parts) < _SUMS_A_THREAD * _FAN_IN * self._threads:
            found = self.each(function, parts, *shared, places=places)
            return self.result(self.total(add, found, places), [(future, 1) for future in found], tick)
        sums: list[Any] = []
        pieces: list[tuple[Any, int]] = []
        for begin in range(0, len(parts), _FAN_IN):
            own, at = parts[begin : begin + _FAN_IN], places[begin : begin + _FAN_IN]
            if at[0] is not None and len(set(at)) == 1:
                sums.append(self._submit(at[0], _sum_of_parts, add, function, len(own), *own, *shared))
                pieces.append((sums[-1], len(own)))
            else:
                found = self.each(function, own, *shared, places=at)
                sums.append(self._submit(at[0], add, *found))
                pieces += [(future, 1) for future in found]
        return self.result(self.total(add, sums, places[::_FAN_IN]), pieces, tick)

    def _submit(self, worker: str | None, function: Callable[..., Any], *given: Any) -> Any:
        with self.clearly():
            return self.client.submit(function, *given, pure=False, **_at(worker))

    def result(self, future: Any, pieces: Sequence[tuple[Any, int]] = (), tick: Tick | None = None) -> Any:
        """Wait for a future, and report how many parts are done; `pieces` are futures of one or several of them."""
        ended, n_parts = threading.Event(), sum(count for _, count in pieces)
        with self.clearly():
            future.add_done_callback(lambda _: ended.set())
            while not ended.wait(_LOOK_EVERY):
                if self.client.status == "closed":
                    raise OSError
                if tick is not None:
                    tick(sum(count for piece, count in pieces if piece.done()), n_parts)
            if tick is not None:
                tick(n_parts, n_parts)
            return future.result()

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return what futures are."""
        with self.clearly():
            return list(self.client.gather(list(futures)))

    @contextlib.contextmanager
    def clearly(self) -> Iterator[None]:
        """Convert errors of a failing cluster to one line."""
        from distributed import KilledWorker

        try:
            yield
        except JamrankError:
            raise
        except KilledWorker as error:
            problem = f"workers died repeatedly at the same task ({error.task})"
            raise ClusterError(f"{problem}; they may need more memory, or votes in smaller parts") from None
        except (asyncio.CancelledError, concurrent.futures.CancelledError, OSError) as error:
            if isinstance(error, FileNotFoundError | PermissionError):
                raise
            problem = f"the dask scheduler at {self.address} is gone, with the data of its workers"
            raise ClusterError(f"{problem}; start it and the fit again") from None


def _temporary_keys() -> Any:
    """Return a key and a certificate for the connections of one local cluster.

    Raises ParameterError: If they cannot be made.
    """
    from distributed import Security

    try:
        return Security.temporary()
    except ImportError:
        problem = "a local dask cluster needs the package cryptography, which keeps other users of the machine out"
        raise ParameterError(f"{problem}; {_INSTALL}") from None


def _room(scratch: str | os.PathLike[str] | None) -> Path:
    """Return a private folder for the files of workers; dask's default can be read by others."""
    if scratch is None:
        return private_folder(own_scratch() / "dask")
    check_folder(scratch)
    who = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
    return private_folder(Path(scratch).absolute() / f"jamrank-dask{who}")


def _close(own: list[Any]) -> None:
    for each in own:
        with contextlib.suppress(Exception):
            each.close()


def _at(worker: str | None) -> dict[str, Any]:
    """Return options that keep a task at its data; dask would move them to a less busy worker."""
    return {} if worker is None else {"workers": [worker], "allow_other_workers": True}


def _values(*values: Any) -> Any:
    return values


def _sum_of_parts(add: Callable[..., Any], function: Callable[..., Any], n_parts: int, *given: Any) -> Any:
    """Add up what a function returns for the parts that are given first."""
    return add(*(function(part, *given[n_parts:]) for part in given[:n_parts]))
