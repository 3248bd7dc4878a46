from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jamrank.errors import InputError
from jamrank.io import begins_with, publish_run, write_together
from jamrank.io import publish as module

OTHERS = {"by.csv": begins_with(rb"item,rank"), "leaderboard.md": begins_with(rb"# [^\n]*\n\n\| Rank ")}
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="exchanges folders on Linux only")


@pytest.fixture(params=["exchange", "journal"])
def way(request, monkeypatch):
    """Publish in either way."""
    if request.param == "journal":
        monkeypatch.setattr(module, "_renameat2", lambda: None)
    elif not sys.platform.startswith("linux"):
        pytest.skip("exchanges folders on Linux only")
    return request.param


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_new_folder_appears_with_all_its_files(tmp_path, way):
    publish_run(tmp_path / "deep" / "results", {"a.csv": "1", "b.csv": "2"})
    assert files(tmp_path / "deep" / "results") == {"a.csv": "1", "b.csv": "2"}
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["results"]


def test_a_run_replaces_the_one_before_and_keeps_what_is_not_its_own(tmp_path, way):
    folder = tmp_path / "results"
    publish_run(folder, {"a.csv": "1", "by.csv": "item,rank\n", "leaderboard.md": "# x\n\n| Rank | Item |"})
    (folder / "notes.txt").write_text("mine")
    (folder / "link").symlink_to("notes.txt")
    folder.chmod(0o750)
    removed = publish_run(folder, {"a.csv": "2"}, OTHERS)
    assert sorted(removed) == ["by.csv", "leaderboard.md"]
    assert files(folder) == {"a.csv": "2", "notes.txt": "mine", "link": "mine"}
    assert folder.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_file_of_the_same_name_that_is_not_ours_stays(tmp_path, way):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "leaderboard.md").write_text("# My own notes")
    assert publish_run(folder, {"a.csv": "1"}, OTHERS) == []
    assert (folder / "leaderboard.md").read_text() == "# My own notes"


def test_a_private_file_stays_private(tmp_path, way):
    folder = tmp_path / "results"
    publish_run(folder, {"a.csv": "1"})
    (folder / "a.csv").chmod(0o600)
    publish_run(folder, {"a.csv": "2"})
    assert (folder / "a.csv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_run_that_fails_leaves_the_old_one(tmp_path, monkeypatch, way, error, call):
    folder, genuine, calls = tmp_path / "results", os.fsync, []
    publish_run(folder, {"a.csv": "1", "b.csv": "2"})

    def fail(handle):
        calls.append(handle)
        if len(calls) == call:
            raise error
        genuine(handle)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError if isinstance(error, OSError) else type(error)):
        publish_run(folder, {"a.csv": "new", "b.csv": "new"})
    assert files(folder) == {"a.csv": "1", "b.csv": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_what_a_killed_process_left_behind_is_removed(tmp_path, way):
    folder = tmp_path / "results"
    publish_run(folder, {"a.csv": "1"})
    left = tmp_path / ".results.jamrank-0123456789abcdef"
    left.mkdir()
    (left / "a.csv").write_text("0")
    inside = folder / ".jamrank-0123456789abcdef"
    inside.mkdir()
    (inside / "a.csv").write_text("0")
    old = folder / ".jamrank-0123456789abcdef.tmp"
    old.write_text("0")
    os.utime(old, (0, 0))
    publish_run(folder, {"a.csv": "2"})
    assert files(folder) == {"a.csv": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_file_that_came_at_the_last_moment_is_not_lost(tmp_path):
    folder = tmp_path / "results"
    publish_run(folder, {"a.csv": "1"})
    left = tmp_path / ".results.jamrank-0123456789abcdef"
    left.mkdir()
    (left / "late.txt").write_text("mine")
    publish_run(folder, {"a.csv": "2"})
    assert files(folder) == {"a.csv": "2", "late.txt": "mine"}


def test_a_committed_journal_is_completed(tmp_path):
    for name in ("a.csv", "by.csv"):
        (tmp_path / name).write_text("old")
    journal = tmp_path / ".jamrank-0123456789abcdef.commit"
    journal.mkdir()
    (journal / "a.csv").write_text("new")
    (journal / "outdated").write_text("by.csv\n../etc\n")
    write_together(tmp_path, {"b.csv": "more"})
    assert files(tmp_path) == {"a.csv": "new", "b.csv": "more"}


@linux
def test_a_folder_that_somebody_works_in_stays_the_same_folder(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    publish_run(folder, {"a.csv": "1"})
    monkeypatch.chdir(folder)
    publish_run(".", {"a.csv": "2"})
    assert Path("a.csv").read_text() == "2"
    assert os.path.samestat(Path().stat(), folder.stat())


def test_subfolders_stay(tmp_path):
    folder = tmp_path / "results"
    (folder / "plots").mkdir(parents=True)
    (folder / "plots" / "x").write_text("mine")
    publish_run(folder, {"a.csv": "1"})
    assert (folder / "plots" / "x").read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "plots"]


# A process that publishes two runs of different files in turn, ended again and again at a random moment.
KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from jamrank.io import begins_with, publish_run

folder, kills = Path(sys.argv[1]) / "results", int(sys.argv[2])
names = ["ranking.csv", "annotators.csv", "pairs.csv", "model.json", "report.html"]
runs = [
    {**{name: f"old {name} " * 2000 for name in names}, "leaderboard.md": "# old"},
    {**{name: f"new {name} " * 3000 for name in names}, "by.csv": "item new", "features.csv": "new"},
]
heads = {"leaderboard.md": b"# old", "by.csv": b"item", "features.csv": b"new"}
others = {name: begins_with(head) for name, head in heads.items()}
publish_run(folder, runs[0])
(folder / "notes.txt").write_text("mine")
begin = time.perf_counter()
for run in (runs[1], runs[0]):
    publish_run(folder, run, others)
each = (time.perf_counter() - begin) / 2
rng, seen, amid = random.Random(int(sys.argv[3])), set(), 0
for kill in range(kills):
    before = set(folder.parent.iterdir())
    child = os.fork()
    if not child:
        try:
            while True:
                for run in runs:
                    publish_run(folder, run, others)
        except KeyboardInterrupt:
            os._exit(130)
    time.sleep(rng.uniform(0, 4 * each))
    os.kill(child, signal.SIGINT if kill % 3 == 0 else signal.SIGKILL)
    os.waitpid(child, 0)
    found = {path.name: path.read_text() for path in folder.iterdir()}
    assert found.pop("notes.txt") == "mine"
    assert found in runs, sorted(found)
    left = set(folder.parent.iterdir()) - before
    assert not (left and kill % 3 == 0), left
    seen.add(runs.index(found))
    amid += bool(left)
publish_run(folder, runs[0], others)
assert [path.name for path in folder.parent.iterdir()] == ["results"]
print(len(seen), amid)
"""


@linux
@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.long)])
def test_whatever_ends_a_process_the_folder_holds_one_runs_files_and_nothing_else(tmp_path, kills):
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(kills), str(kills)]
    environment = {**os.environ, "JAMRANK_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    both, amid = map(int, done.stdout.split())
    # Ended in the middle of it, and in either state; otherwise this would show nothing.
    assert (both == 2 or kills < 20) and amid >= kills // 10
