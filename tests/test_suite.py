"""What the suite asks of itself: it mirrors src, nothing waits for ever, no clock decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = sorted(HERE.rglob("*.py"))
SOURCE = HERE.parent / "src" / "jamrank"
# Folders of parts with a contract of their own: formats, sections, checks and so on are tested as one.
PARTS = {"assets", "checks", "experiments", "formats", "gpu", "sections", "static", "strategies", "templates", "twin"}
RUNS = {"run", "call", "check_call", "check_output"}
CLOCKS = {"perf_counter", "process_time", "time", "thread_time"}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def calls(path: Path) -> Iterator[tuple[ast.Call, str, str]]:
    """Yield the calls of attributes, with the names of what they belong to and of themselves."""
    for node in ast.walk(parsed(path)):
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


def mirrors(path: Path) -> bool:
    """Tell whether a test file has the name of a module of its room (``test_studio_items`` too)."""
    room = path.relative_to(HERE).parent
    name = path.stem.removeprefix("test_").removeprefix(f"{room.name}_")
    return (SOURCE / room / f"{name}.py").exists() or (SOURCE / room / name).is_dir()


@pytest.mark.skipif(not SOURCE.exists(), reason="the source is not beside the tests")
def test_tests_mirror_the_source() -> None:
    """A file of tests has the name of a module, or says in its first line what it is about across modules."""
    rooms = {path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_dir() and path.name != "__pycache__"}
    rooms = {room for room in rooms if not PARTS & set(room.parts)}
    tested = {path.relative_to(HERE).parent for path in FILES if path.name.startswith("test_")}
    assert rooms <= tested, "rooms without tests"
    assert tested - rooms <= {Path(), Path("golden")}, "tests of rooms that do not exist"
    nameless = [
        str(path.relative_to(HERE))
        for path in FILES
        if path.name.startswith("test_") and not mirrors(path)
        if not ast.get_docstring(parsed(path))
    ]
    assert not nameless, "neither the name of a module nor a docstring"
