"""What a fit from disk keeps is safe from the other users of the machine."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import InputError
from jamrank.io.out_of_core.storage_plan import plan_storage
from jamrank.io.private import hold, own_scratch, private_folder, private_open, refuse_shared

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no such users")
as_root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can be somebody else")
MEMORY, NOBODY = "600MB", 65534


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def as_nobody(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python as another user, without any of this user's groups."""
    become = f"import os, sys; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
    command = [sys.executable, "-I", "-S", "-c", become + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def shared():
    """A folder as the system's one for temporary files: everybody's, each entry its owner's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o1777)
        yield folder


@pytest.fixture
def votes(tmp_path):
    rng = np.random.default_rng(0)
    left = rng.integers(0, 8, 400)
    right = (left + rng.integers(1, 8, 400)) % 8
    winner = np.where(rng.random(400) < 0.5 + 0.05 * (left - right), "left", "right")
    frame = pl.DataFrame({"annotator": rng.integers(0, 4, 400), "left": left, "right": right, "winner": winner})
    path = tmp_path / "votes.parquet"
    frame.write_parquet(path)
    path.chmod(0o600)
    return path


def fit(stored) -> np.ndarray:
    return jr.CrowdBT().fit(stored).scores_


# -- modes and places ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_everything_in_scratch_is_for_its_owner_alone(votes, shared, umask):
    before = os.umask(umask)
    try:
        stored = jr.store_comparisons(votes, shared, MEMORY)
        fit(stored)
    finally:
        os.umask(before)
    found = [stored.folder, *stored.folder.rglob("*")]
    assert {path.name for path in found} > {"lock", "votes.json", "items.parquet", "rows.json"}
    for path in found:
        assert mode_of(path) == (0o700 if path.is_dir() else 0o600), path


def test_scratch_lies_in_the_users_cache(votes, tmp_path, monkeypatch):
    monkeypatch.delenv("JAMRANK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    plan = plan_storage(votes, None, MEMORY)
    assert plan.folder.parent == tmp_path / "cache" / "jamrank" / "scratch"
    assert mode_of(plan.folder.parent) == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert own_scratch() == tmp_path / "home" / ".cache" / "jamrank" / "scratch"


def test_without_a_home_it_lies_in_a_private_folder_among_temporary_files(tmp_path, monkeypatch, shared):
    (tmp_path / "file").touch()
    monkeypatch.delenv("JAMRANK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    assert own_scratch() == shared / f"jamrank-{os.geteuid()}"
    assert mode_of(own_scratch()) == 0o700


def test_workers_of_dask_have_a_private_folder_too(tmp_path, monkeypatch):
    from jamrank.io.out_of_core.cluster import _room

    monkeypatch.setenv("JAMRANK_CACHE", str(tmp_path / "cache"))
    for room in (_room(None), _room(tmp_path / "scratch")):
        assert tmp_path in room.parents
        assert mode_of(room) == 0o700


def test_a_folder_that_others_may_read_is_closed_to_them(tmp_path):
    (tmp_path / "own").mkdir(mode=0o755)
    assert mode_of(private_folder(tmp_path / "own")) == 0o700


def test_files_are_made_for_their_owner_and_links_are_not_followed(tmp_path):
    with private_open(tmp_path / "new", "wb") as file:
        file.write(b"votes")
    assert mode_of(tmp_path / "new") == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "new")
    for mode in ("rb", "wb", "ab"):
        with pytest.raises(OSError, match="link"):
            private_open(tmp_path / "link", mode)
    assert (tmp_path / "new").read_bytes() == b"votes"


# -- what somebody else may have put there --------------------------------------------------------------------------


def test_a_link_in_place_of_the_folder_is_refused(votes, shared, tmp_path):
    folder = plan_storage(votes, shared, MEMORY).folder
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    for attempt in (plan_storage, jr.store_comparisons):
        with pytest.raises(InputError, match="is a link, not a folder of jamrank's own"):
            attempt(votes, shared, MEMORY)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_link_in_place_of_the_lock_empties_nothing(votes, shared, tmp_path):
    private = tmp_path / "private.txt"
    private.write_text("mine")
    folder = private_folder(plan_storage(votes, shared, MEMORY).folder)
    (folder / "lock").symlink_to(private)
    with pytest.raises(InputError, match="the lock of the scratch folder cannot be opened"):
        jr.store_comparisons(votes, shared, MEMORY)
    assert private.read_text() == "mine"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o707])
def test_a_folder_that_others_may_write_to_is_refused(votes, shared, mode):
    folder = plan_storage(votes, shared, MEMORY).folder
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(InputError, match=r"can be written to by others \(mode \d{4}\); delete it, or give"):
        jr.store_comparisons(votes, shared, MEMORY)


def test_a_file_in_place_of_the_folder_is_refused(votes, shared):
    plan_storage(votes, shared, MEMORY).folder.touch()
    with pytest.raises(InputError, match="is a file, not a folder"):
        jr.store_comparisons(votes, shared, MEMORY)


@as_root
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_place_where_others_could_exchange_the_folder_is_refused(votes, tmp_path, mode):
    (tmp_path / "open").mkdir()
    os.chown(tmp_path / "open", 0, NOBODY)
    (tmp_path / "open").chmod(mode)
    for scratch in (tmp_path / "open", tmp_path / "open" / "deeper"):
        with pytest.raises(InputError, match=r"open: can be written to by others"):
            jr.store_comparisons(votes, scratch, MEMORY)


@as_root
def test_folders_and_links_of_another_user_are_refused(votes, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    for scratch in (theirs, theirs / "deeper"):
        with pytest.raises(InputError, match="theirs: belongs to another user"):
            jr.store_comparisons(votes, scratch, MEMORY)
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    refuse_shared(tmp_path / "link")
    os.chown(tmp_path / "link", NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(InputError, match="link: is a link of another user"):
        jr.store_comparisons(votes, tmp_path / "link", MEMORY)


@as_root
def test_somebody_else_can_neither_read_nor_change_nor_empty_anything(votes, shared):
    """The attacks of a second user, who knows the name of the folder, while a fit runs."""
    stored = jr.store_comparisons(votes, shared, MEMORY)
    scores = fit(stored)
    attack = """
folder, tried, done = sys.argv[1], 0, []
for name in ("lock", "votes.json", "items.parquet", "votes-00000.keys", "planted"):
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_CREAT):
        tried += 1
        try:
            os.close(os.open(os.path.join(folder, name), flags, 0o666)); done.append((name, flags))
        except PermissionError:
            pass
for attempt in (lambda: os.listdir(folder), lambda: os.rename(folder, folder + "-away"), lambda: os.rmdir(folder),
                lambda: os.chmod(folder, 0o777), lambda: os.symlink("/etc", os.path.join(folder, "link"))):
    tried += 1
    try:
        attempt(); done.append("attempt")
    except PermissionError:
        pass
print(tried, done)
"""
    result = as_nobody(attack, stored.folder)
    assert result.stdout == "20 []\n", result
    stored.lock.close()
    np.testing.assert_array_equal(fit(jr.store_comparisons(votes, shared, MEMORY)), scores)


@as_root
@pytest.mark.parametrize("planted", ["folder", "link", "votes of their own"])
def test_what_somebody_else_planted_is_refused_and_never_read(votes, shared, tmp_path, planted):
    folder = plan_storage(votes, shared, MEMORY).folder
    private = tmp_path / "private.txt"
    private.write_text("mine")
    private.chmod(0o600)
    if planted == "votes of their own":  # whole and with right checksums, but of another user
        jr.store_comparisons(votes, shared, MEMORY).lock.close()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    else:
        code = "os.mkdir(sys.argv[1]); os.symlink(sys.argv[2], sys.argv[1] + '/lock')"
        if planted == "link":
            code = "os.symlink(sys.argv[2], sys.argv[1])"
        done = as_nobody(code, folder, private)
        assert done.returncode == 0, done.stderr
    with pytest.raises(InputError, match=r"belongs to another user|is a link"):
        jr.store_comparisons(votes, shared, MEMORY)
    assert private.read_text() == "mine"


# -- locks ------------------------------------------------------------------------------------------------------


def test_a_lock_is_held_once_and_given_back(tmp_path):
    first = hold(tmp_path / "lock")
    with pytest.raises(InputError, match="another run"):
        hold(tmp_path / "lock")
    first.close()
    hold(tmp_path / "lock").close()


def test_a_lock_that_was_removed_meanwhile_is_made_anew(tmp_path, monkeypatch):
    import fcntl

    lock, seen = tmp_path / "lock", []

    def flock(file, how):
        if not seen:
            lock.unlink()
        seen.append(file.fileno())

    monkeypatch.setattr(fcntl, "flock", flock)
    held = hold(lock)
    assert len(seen) == 2
    assert os.path.samestat(os.fstat(held.fileno()), lock.stat())
    held.close()
