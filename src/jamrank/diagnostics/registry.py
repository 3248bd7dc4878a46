"""The health checks: one line each, in the order in which their numbers are shown."""

from __future__ import annotations

from collections.abc import Callable

from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult
from jamrank.registry import Registry

HealthCheck = Callable[[Examination], CheckResult]

CHECKS: Registry[HealthCheck] = Registry(
    "health check",
    {
        "size": "jamrank.diagnostics.checks.size:size",
        "similar ids": "jamrank.diagnostics.checks.similar_ids:similar",
        "connection": "jamrank.diagnostics.checks.connection:connection",
        "bridges": "jamrank.diagnostics.checks.connection:bridges",
        "separation": "jamrank.diagnostics.checks.separation:separated",
        "cycles": "jamrank.diagnostics.checks.cycles:cycles",
        "contradictions": "jamrank.diagnostics.checks.consistency:contradictions",
        "circular annotators": "jamrank.diagnostics.checks.consistency:circular_annotators",
        "answers": "jamrank.diagnostics.checks.answers:answers",
        "sides": "jamrank.diagnostics.checks.sides:side_preference",
        "annotators": "jamrank.diagnostics.checks.annotators:annotators",
        "same votes": "jamrank.diagnostics.checks.same_votes:same",
        "sign": "jamrank.diagnostics.checks.sign:sign",
        "planning": "jamrank.diagnostics.checks.planning:planning",
        "uninformative": "jamrank.diagnostics.checks.uninformative:uninformative",
    },
)
