"""Hostile names: nothing of them is interpreted, and nothing ends in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from jamrank.cli import main

NAMES = ["[/x]", "[en]", "[red]r", "\x1b[31mred\x1b]0;t\x07", "a\u202eb", "$x$", "=1+1", "a\nb", "\x9b2J", "😀" * 40]
LONG = "long" * 25_000


def call(*arguments: object):
    result = CliRunner().invoke(main, [os.fspath(a) if isinstance(a, Path) else str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    for text in (result.stdout, result.stderr):
        assert all(line.isprintable() for line in text.splitlines()), "a control character reached the terminal"
    return result


@pytest.fixture(scope="module")
def votes(tmp_path_factory) -> Path:
    """Votes whose items, annotators and groups all have hostile names."""
    path = tmp_path_factory.mktemp("hostile") / "[en] votes.csv"
    items = [*NAMES, LONG]
    rows = [(items[k % 11], items[(k * 3 + 1 + k // 11) % 11], items[k % 7], items[k % 3]) for k in range(300)]
    rows = [row for row in rows if row[0] != row[1]]
    frame = pl.DataFrame(rows, schema=["left", "right", "annotator", "[en]"], orient="row")
    frame.with_columns(winner=pl.Series(["left", "right", "left"] * len(rows))[: len(rows)]).write_csv(path)
    return path


def test_a_fit_prints_and_writes_hostile_names(votes, tmp_path):
    out = tmp_path / "[en]"
    exports = "parquet,json,preferences,markdown"
    options = "--model", "CrowdBT", "--by", "[en]", "--out", out, "--export", exports
    result = call("fit", votes, *options)
    assert result.exit_code == 0, result.stderr[:500]
    assert "[/x]" in result.stdout and "[en]" in result.stdout and "[red]r" in result.stdout
    assert "Rank by [en]" in result.stdout
    assert len(result.stdout) < 50_000 and len(result.stderr) < 10_000
    assert set(pl.read_csv(out / "ranking.csv", glob=False)["item"]) == {*NAMES, LONG}
    assert json.loads(call("fit", votes, "--model", "bt", "--json").stdout)["ranking"]


@pytest.mark.parametrize("command", ["check", "compare"])
def test_other_commands_print_hostile_names(votes, command):
    more = ["--model", "bt", "--folds", "2"] if command == "compare" else []
    assert call(command, votes, *more).exit_code in (0, 1)


def test_errors_print_hostile_names_on_one_short_line(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(f"annotator,left,right,winner\nk,a,b,\x1b[31m[/x]{LONG}\n")
    for arguments in (
        ["fit", path],
        ["fit", "[/x]\x1b[2J.csv"],
        ["fit", path, "--model", "[/x]\x1b[2J"],
        ["fit", path, "--anchor", "\x1b[2J"],
        ["[/x]\x1b[2J"],
        ["fit", path, "--map", f"left={LONG[:1000]}"],
    ):
        result = call(*arguments)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1 and len(result.stderr) < 2_200


def test_spreadsheets_get_no_formulas(votes, tmp_path):
    options = "--model", "bt", "--out", tmp_path, "--export", "preferences", "--spreadsheet-safe", "--quiet"
    assert call("fit", votes, *options).exit_code == 0
    assert "'=1+1" in set(pl.read_csv(tmp_path / "ranking.csv")["item"])
    assert "=1+1" not in set(pl.read_csv(tmp_path / "ranking.csv")["item"])
    assert not any(name.startswith("=") for name in pl.read_csv(tmp_path / "preferences.csv")["chosen"])


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX names")
def test_a_file_name_that_is_no_text(tmp_path):
    name = os.fsdecode(b"votes-\xff.csv")
    (tmp_path / name).write_text("annotator,left,right,winner\nk,a,b,left\nk,b,c,left\n")
    command = [sys.executable, "-m", "jamrank", "fit", name, "--model", "bt", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
@pytest.mark.parametrize(("content", "code"), [("k,a,b,left\n", 0), ("k,a,b,left\nk,c,d,left\n", 1)])
def test_a_closed_pipe_changes_no_exit_code(tmp_path, content, code):
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\n" + content)
    script = f"'{sys.executable}' -m jamrank check votes.csv | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (code, b"")
