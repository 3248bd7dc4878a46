"""Counts and times of requests, in the text form that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from threading import Lock

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """What one server process has answered."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._lock = Lock()

    def observe(self, endpoint: str, status: int, seconds: float) -> None:
        """Count an answer."""
        with self._lock:
            self._answers[endpoint, status] += 1
            self._seconds[endpoint] += seconds  # type: ignore[assignment]
            for bound in _BOUNDS:
                if seconds <= bound:
                    self._within[endpoint, bound] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """Write all of it, and some values of the moment."""
        with self._lock:
            lines = ["# TYPE jamrank_requests_total counter"]
            for (endpoint, status), count in sorted(self._answers.items()):
                lines.append(f'jamrank_requests_total{{endpoint="{endpoint}",status="{status}"}} {count}')
            lines.append("# TYPE jamrank_request_seconds histogram")
            totals: Counter[str] = Counter()
            for (endpoint, _), count in self._answers.items():
                totals[endpoint] += count
            for endpoint, total in sorted(totals.items()):
                for bound in _BOUNDS:
                    within = self._within[endpoint, bound]
                    lines.append(f'jamrank_request_seconds_bucket{{endpoint="{endpoint}",le="{bound:g}"}} {within}')
                lines.append(f'jamrank_request_seconds_bucket{{endpoint="{endpoint}",le="+Inf"}} {total}')
                lines.append(f'jamrank_request_seconds_sum{{endpoint="{endpoint}"}} {self._seconds[endpoint]:.6f}')
                lines.append(f'jamrank_request_seconds_count{{endpoint="{endpoint}"}} {total}')
        for name, value in gauges.items():
            lines += [f"# TYPE jamrank_{name} gauge", f"jamrank_{name} {value:g}"]
        return "\n".join(lines) + "\n"
