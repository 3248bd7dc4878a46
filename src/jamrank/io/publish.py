"""Publish the files of a run as a whole: old files or new files, never some of each.

Several files of a folder cannot be replaced in one step, but the folder can: the new one is prepared beside it, and
the two names are exchanged (``renameat2`` on Linux). Whatever kills the process, one of the two is in place; what it
leaves behind is a hidden folder beside it, which the next run removes.

Where the folder cannot be exchanged (another system, subfolders or links in it, somebody working in it), a journal is
kept in it: all files are staged in a hidden subfolder, whose renaming commits them, and then moved into place. What a
killed process leaves behind is completed or undone by the next run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from jamrank.errors import InputError, ParameterError
from jamrank.io.documents import checked_target, ensure_folder, reason_of, replace_all, write_durably

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

Recognizer = Callable[[Path], bool]

_TOKEN = "[0-9a-f]{16}"
_TEMPORARY = re.compile(rf"\.jamrank-{_TOKEN}\.tmp")
_STAGED = re.compile(rf"\.jamrank-{_TOKEN}")
_COMMITTED = re.compile(rf"\.jamrank-{_TOKEN}\.commit")
_OUTDATED = "outdated"
# A temporary file of this age, in seconds, is abandoned.
_ABANDONED = 60.0
# A folder with more files than this is not only for results, and is left in place.
_MOST_FILES = 1000
_HERE, _EXCHANGE = -100, 2


def begins_with(pattern: bytes, longest: int = 4096) -> Recognizer:
    """Return a test of whether a file begins with a pattern, a regular expression."""
    compiled = re.compile(pattern)

    def recognize(path: Path) -> bool:
        with path.open("rb") as file:
            return compiled.match(file.read(longest)) is not None

    return recognize


def publish_run(
    folder: str | os.PathLike[str],
    contents: Mapping[str, str | bytes],
    others: Mapping[str, Recognizer] | None = None,
) -> list[str]:
    """Replace the files of an earlier run in a folder atomically.

    Files that are neither are kept. The folder is made where it does not exist.

    folder: The folder.
    contents: Content by file name.
    others: Names of files that an earlier run may have written, each with a test that recognises such a file. Those
        not in `contents` are removed.
    Returns: The names that were removed.
    Raises InputError: If a file cannot be written; the old files are untouched then.
    """
    encoded = _encoded(contents)
    target = Path(folder).resolve()
    known = {*encoded, *(others or ())}
    recover_run(target)
    _remove_leftovers(target, known)
    outdated = [
        name for name, ours in (others or {}).items() if name not in encoded and _is_file(target / name, ours)
    ]
    for name in encoded:
        if target.exists():
            checked_target(target / name)
    if not _exchange_folder(target, encoded, outdated):
        _write_by_journal(ensure_folder(target), encoded, outdated)
    return outdated


def write_together(folder: str | os.PathLike[str], contents: Mapping[str, str | bytes]) -> None:
    """Write several files of a folder, none of them before all are on the disk.

    folder: An existing folder.
    contents: Content by file name.
    Raises InputError: If one of them cannot be written; the old files are untouched then.
    """
    encoded = _encoded(contents)
    target = Path(folder).resolve()
    recover_run(target)
    _write_by_journal(target, encoded, ())


def recover_run(folder: str | os.PathLike[str]) -> None:
    """Complete or undo the interrupted write of a killed process."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in list(entries):
            path = Path(entry.path)
            if _COMMITTED.fullmatch(entry.name) and _has_no_owner(path):
                _complete(path)
            elif _STAGED.fullmatch(entry.name) and _has_no_owner(path):
                shutil.rmtree(path, ignore_errors=True)
            elif _TEMPORARY.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _ABANDONED:
                path.unlink(missing_ok=True)


def _encoded(contents: Mapping[str, str | bytes]) -> dict[str, bytes]:
    for name in contents:
        if Path(name).name != name:
            raise ParameterError(f"{name!r} is not a plain file name; give one without folders")
    return {name: content.encode() if isinstance(content, str) else content for name, content in contents.items()}


def _is_file(path: Path, ours: Recognizer) -> bool:
    try:
        return path.is_file() and ours(path)
    except (OSError, ValueError):
        return False


# -- exchanging the folder ----------------------------------------------------------------------------------------


def _exchange_folder(target: Path, encoded: Mapping[str, bytes], outdated: Collection[str]) -> bool:
    """Prepare a new folder beside the old one and exchange the two; False if that is not possible."""
    if not _can_be_exchanged(target, encoded):
        return False
    replaced, switched = {*encoded, *outdated}, False
    with contextlib.ExitStack() as stack:
        try:
            staged = stack.enter_context(_staging(target.parent, f".{target.name[:100]}.jamrank-"))
            _take_over(target, staged.path, replaced)
        except OSError:
            return False
        _write_all(staged.path, encoded, target)
        with _uninterrupted():
            switched = staged.used = _switch(staged.path, target)
            if switched:
                _sync(target.parent)
                _discard(staged.path, target, replaced)
    return switched


def _can_be_exchanged(target: Path, encoded: Mapping[str, bytes]) -> bool:
    if _renameat2() is None or fcntl is None or not target.name:
        return False
    if not target.exists():
        return target.parent.is_dir()
    if os.path.ismount(target) or target.stat().st_uid != os.geteuid():
        return False
    # An access list would be lost.
    if any(not name.startswith("security.") for name in os.listxattr(target)):
        return False
    with os.scandir(target) as entries:
        found = list(entries)
    ordinary = all(e.is_file(follow_symlinks=False) or (e.is_symlink() and e.name not in encoded) for e in found)
    return ordinary and len(found) <= _MOST_FILES and not _is_in_use(target)


def _is_in_use(folder: Path) -> bool:
    """Return whether the folder is the working directory of any process."""
    for process in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if process.readlink() == folder:
                return True
    return not Path("/proc/self").exists()


def _take_over(target: Path, staged: Path, replaced: Collection[str]) -> None:
    """Give the new folder the rights of the old one, and those of its files that are not replaced."""
    if not target.exists():
        return
    old = target.stat()
    if staged.stat().st_gid != old.st_gid:
        os.chown(staged, -1, old.st_gid)
    staged.chmod(stat.S_IMODE(old.st_mode))
    with os.scandir(target) as entries:
        for entry in entries:
            if entry.name not in replaced:
                os.link(entry.path, staged / entry.name, follow_symlinks=False)


def _switch(staged: Path, target: Path) -> bool:
    if not target.exists():
        with contextlib.suppress(OSError):
            staged.rename(target)
            return True
    rename = _renameat2()
    assert rename is not None
    return rename(_HERE, os.fsencode(staged), _HERE, os.fsencode(target), _EXCHANGE) == 0


def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if found is not None:
        found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return found


def _remove_leftovers(target: Path, known: Collection[str]) -> None:
    """Remove folders that killed processes left beside the folder."""
    left = re.compile(rf"\.{re.escape(target.name[:100])}\.jamrank-{_TOKEN}")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in list(entries):
            if left.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False) and _has_no_owner(Path(entry.path)):
                _discard(Path(entry.path), target, known)


def _discard(old: Path, target: Path, replaced: Collection[str]) -> None:
    """Remove a folder that was replaced; files added in the meantime are moved to the new one."""
    with contextlib.suppress(OSError):
        for path in list(old.iterdir()):
            with contextlib.suppress(OSError):
                if path.name in replaced or _is_same(path, target / path.name):
                    path.unlink()
                else:
                    path.replace(target / path.name)
        old.rmdir()


def _is_same(path: Path, other: Path) -> bool:
    try:
        return os.path.samestat(path.lstat(), other.lstat())
    except FileNotFoundError:
        return False


# -- a journal in the folder --------------------------------------------------------------------------------------


def _write_by_journal(target: Path, encoded: Mapping[str, bytes], outdated: Collection[str]) -> None:
    """Stage the files in a subfolder, commit them by renaming it, and move them into place."""
    places = {name: checked_target(target / name) for name in encoded}
    if any(place.parent != target for place in places.values()):
        # Behind a link, perhaps on another disk: each file is staged beside its place.
        replace_all({places[name]: content for name, content in encoded.items()})
        _remove(target, outdated)
        return
    try:
        with _staging(target, ".jamrank-") as staged:
            _write_all(staged.path, encoded, target)
            (staged.path / _OUTDATED).write_text("\n".join(outdated), encoding="utf-8")
            committed = staged.path.with_name(f"{staged.path.name}.commit")
            with _uninterrupted():
                staged.path.rename(committed)
                staged.used = True
                _sync(target)
                _complete(committed)
    except OSError as error:
        raise _cannot_write(target, error) from None


def _complete(committed: Path) -> None:
    """Move committed files into place, and remove what they replace."""
    target = committed.parent
    names = (
        (committed / _OUTDATED).read_text(encoding="utf-8").split("\n") if (committed / _OUTDATED).exists() else []
    )
    for path in sorted(committed.iterdir()):
        if path.name != _OUTDATED:
            path.replace(target / path.name)
    _remove(target, (name for name in names if name and Path(name).name == name))
    shutil.rmtree(committed, ignore_errors=True)


def _remove(folder: Path, names: Collection[str] | Iterator[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError):
            (folder / name).unlink()


# -- both ---------------------------------------------------------------------------------------------------------


def _write_all(staged: Path, encoded: Mapping[str, bytes], target: Path) -> None:
    name = ""
    try:
        for name, content in encoded.items():
            write_durably(staged / name, content, like=target / name)
        _sync(staged)
    except OSError as error:
        raise _cannot_write(target / name, error) from None


def _cannot_write(place: Path, error: OSError) -> InputError:
    problem = f"the file cannot be written ({reason_of(error)})"
    return InputError(problem, "choose a writable folder", source=str(place))


@dataclass
class _Staging:
    """A folder of new files, and whether it was published."""

    path: Path
    used: bool = False


@contextlib.contextmanager
def _staging(parent: Path, prefix: str) -> Iterator[_Staging]:
    """Create a folder for new files; remove it unless it was used."""
    made: _Staging | None = None
    lock = -1
    try:
        with _uninterrupted():
            path, lock = _make_locked(parent, prefix)
            made = _Staging(path)
        yield made
    finally:
        with _uninterrupted():
            if lock >= 0:
                os.close(lock)
            if made is not None and not made.used:
                shutil.rmtree(made.path, ignore_errors=True)


def _make_locked(parent: Path, prefix: str) -> tuple[Path, int]:
    """Create a folder with a new name and return it with a lock, which shows that its owner is alive."""
    while True:
        path = parent / f"{prefix}{secrets.token_hex(8)}"
        path.mkdir()
        lock = os.open(path, os.O_RDONLY)
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), path.stat()):
                return path, lock
        except OSError:  # another process took it for a leftover
            pass
        os.close(lock)


def _has_no_owner(path: Path) -> bool:
    """Return whether the process that created a folder is gone."""
    if fcntl is None:
        return time.time() - path.stat().st_mtime > _ABANDONED
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(lock)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay terminating signals until a short task is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        waiting.append(number)

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    usual = {
        number: signal.getsignal(number) for name in names if (number := getattr(signal, name, None)) is not None
    }
    usual = {number: handler for number, handler in usual.items() if handler is not None}
    try:
        for number in usual:
            signal.signal(number, wait)
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)
