"""Imports go one way, few rooms open files, one prints."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import jamrank

SOURCE = Path(jamrank.__file__).parent
if not (SOURCE / "data/comparisons.py").exists():
    pytest.skip("the source is not beside the package", allow_module_level=True)

# A room may import from those above its own line only.
ORDER = [
    {"text", "typing"},
    {"errors"},
    {"registry"},
    {"kernels"},
    {"data"},
    {"io"},
    {"rows"},
    {"scorers", "noise"},
    {"engines"},
    {"linalg"},
    {"fitting"},
    {"inference"},
    {"models"},
    {"selection"},
    {"diagnostics"},
    {"simulation"},
    {"acquisition"},
    {"report"},
    {"paper"},
    {"collect"},
    {"jury"},
    {"studio"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}

# What a room looks up of a later one, inside a function: a model shows itself through what draws models.
LOOKED_UP = {
    ("models/base.py", "report"),
}

OPENS_FILES = {"io", "paper", "collect", "studio"}
FILE_CALLS = {"open", "read_text", "write_text", "read_bytes", "write_bytes", "unlink", "touch", "mkdir"}
FILE_CALLS |= {"read_csv", "read_parquet", "scan_csv", "scan_parquet", "loadtxt", "savetxt", "genfromtxt"}
PRINTS = {"cli"}
PRINTING_MODULES = {"fitting/progress.py"}
PRINT_CALLS = {"print", "echo", "secho", "Console", "pprint"}

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_at_the_top(nodes: list[ast.stmt]) -> Iterator[str]:
    """Yield the modules that are imported when a module is: not inside functions, not for types alone."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports_at_the_top(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody"):
                yield from imports_at_the_top(getattr(node, field, []))


def rooms_imported(path: Path) -> set[str]:
    parts = (name.split(".") for name in imports_at_the_top(parsed(path).body))
    return {part[1] for part in parts if part[0] == "jamrank"} - {room_of(path), "__version__"}


def calls(path: Path) -> set[str]:
    tree = parsed(path)
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {function.id for function in functions if isinstance(function, ast.Name)}
    return named | {function.attr for function in functions if isinstance(function, ast.Attribute)}


def test_every_room_has_its_place():
    assert {room_of(path) for path in MODULES} <= set(LEVEL) | {"__main__"}


def test_imports_go_one_way():
    wrong = [
        (name_of(path), room)
        for path in MODULES
        for room in rooms_imported(path)
        if LEVEL.get(room, -1) >= LEVEL.get(room_of(path), len(ORDER))
    ]
    assert wrong == []


def test_later_rooms_are_looked_up_only_where_that_is_said():
    found = set()
    for path in MODULES:
        tree = parsed(path)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        names = [name for function in functions for name in imports_at_the_top(function.body)]
        rooms = {name.split(".")[1] for name in names if name.startswith("jamrank.")}
        level = LEVEL.get(room_of(path), len(ORDER))
        found |= {(name_of(path), room) for room in rooms - {room_of(path)} if LEVEL.get(room, -1) >= level}
    assert found == LOOKED_UP


def opens_files(path: Path) -> set[str]:
    """Return the calls that open files, but for functions of io."""
    tree = parsed(path)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules = [node for node in imports if (node.module or "").startswith("jamrank.io")]
    through_io = {name.name for node in modules for name in node.names}
    return calls(path) & FILE_CALLS - through_io


def test_only_io_and_the_papers_loaders_touch_files():
    found = {name_of(path): opens_files(path) for path in MODULES if room_of(path) not in OPENS_FILES}
    assert {name: opened for name, opened in found.items() if opened} == {}


def test_only_the_command_line_prints():
    quiet = [path for path in MODULES if room_of(path) not in PRINTS and name_of(path) not in PRINTING_MODULES]
    found = {name_of(path): calls(path) & PRINT_CALLS for path in quiet}
    assert {name: printed for name, printed in found.items() if printed} == {}


@pytest.mark.parametrize("heavy", ["sklearn", "matplotlib", "pandas", "rich", "click", "fastapi", "dask", "cupy"])
def test_heavy_libraries_are_imported_where_they_are_used(heavy):
    allowed = {"click", "rich"} if heavy in {"click", "rich"} else set()
    guilty = [
        name_of(path)
        for path in MODULES
        if not (room_of(path) == "cli" and heavy in allowed)
        for name in imports_at_the_top(parsed(path).body)
        if name.split(".")[0] == heavy
    ]
    assert guilty == []


def asked_for_class(path: Path, parts: set[str]) -> set[str]:
    """Return the classes of engines, scorers or noises that a module tests for by isinstance."""
    tests = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call) and len(node.args) == 2]
    named = [node.args[1] for node in tests if isinstance(node.func, ast.Name) and node.func.id == "isinstance"]
    return {name.id for one in named for name in ast.walk(one) if isinstance(name, ast.Name)} & parts


def test_models_and_fitting_ask_parts_what_they_can_and_not_what_they_are():
    from jamrank import scorers
    from jamrank.engines import Engine
    from jamrank.noise import Noise

    def family(cls: type) -> set[str]:
        return {cls.__name__}.union(*(family(child) for child in cls.__subclasses__()))

    parts = family(Engine) | family(Noise) | {name for name in vars(scorers) if name.endswith("Scorer")}
    assert {"MemoryEngine", "Flip", "LinearScorer"} <= parts
    asked = {
        name_of(path): asked_for_class(path, parts) for path in MODULES if room_of(path) in ("models", "fitting")
    }
    assert {name: classes for name, classes in asked.items() if classes} == {}


def test_a_file_is_short_or_its_length_is_explained():
    reasons = (SOURCE.parents[1] / "docs/architecture.md").read_text(encoding="utf-8")
    reasons = reasons.partition("## Files over 450 lines")[2].partition("\n## ")[0]
    limits = {".py": 450, ".cpp": 600, ".hpp": 600, ".cu": 600}
    files = [path for path in SOURCE.rglob("*") if path.suffix in limits]
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in files}
    long = [name_of(path) for path in files if lines[path] > limits[path.suffix]]
    assert [name for name in long if f"`{name}`" not in reasons] == []
    assert len(list((SOURCE / "models").glob("*.py"))) <= 20


def test_the_check_sees_an_import_that_goes_the_wrong_way(tmp_path, monkeypatch):
    lower = tmp_path / "kernels" / "bad.py"
    lower.parent.mkdir()
    lower.write_text(
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "import jamrank.models.jam\n"
        "try:\n    from jamrank.engines import MemoryEngine\nexcept ImportError:\n    pass\n"
        "if TYPE_CHECKING:\n    from jamrank.report import Report\n"
        "def later():\n    from jamrank import cli\n    open('x')\n"
    )
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    assert rooms_imported(lower) == {"models", "engines"}
    assert "open" in calls(lower)
