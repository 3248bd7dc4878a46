"""What the suite asks of itself: nothing waits for ever, and nothing depends on how fast the machine is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

FILES = sorted(Path(__file__).parent.rglob("*.py"))
RUNS = {"run", "call", "check_call", "check_output"}
CLOCKS = {"perf_counter", "process_time", "time", "thread_time"}


def calls(path: Path) -> Iterator[tuple[ast.Call, str, str]]:
    """Yield the calls of attributes, with the names of what they belong to and of themselves."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            yield node, owner.id if isinstance(owner, ast.Name) else "", node.func.attr


def waits(owner: str, name: str) -> bool:
    ran = owner == "subprocess" and name in RUNS
    return ran or name == "communicate" or (name == "wait" and "process" in owner)


def test_every_subprocess_has_a_timeout() -> None:
    without = [
        f"{path.name}, line {call.lineno}"
        for path in FILES
        for call, owner, name in calls(path)
        if waits(owner, name) and all(keyword.arg != "timeout" for keyword in call.keywords)
    ]
    assert not without


def test_no_clock_is_read() -> None:
    read = [
        f"{path.name}, line {call.lineno}"
        for path in FILES
        for call, owner, name in calls(path)
        if owner == "time" and name in CLOCKS
    ]
    assert not read
