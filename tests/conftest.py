"""Settings of the whole suite: the same examples on every machine, however slow it is, and one thread a worker."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # Before numpy and polars are imported, which is when they look. Tests of threads ask for their number.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "JAMRANK_THREADS"):
        os.environ.setdefault(name, "1")

from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
