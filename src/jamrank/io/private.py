"""Private folders and files, which no other user can read or change."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from jamrank.errors import InputError

_FOLDER, _FILE, _OTHERS, _OTHERS_WRITE = 0o700, 0o600, 0o077, 0o022
_ELSEWHERE = "give a folder of your own with --scratch"
# Systems without these flags have neither such links nor such modes.
_NO_LINK, _NO_CHILD = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def own_scratch() -> Path:
    """Return this user's own folder for scratch files: in the cache or, if there is none, among temporary files.

    Raises InputError: If neither is safe from other users.
    """
    try:
        return private_folder(_cache() / "scratch")
    except (InputError, RuntimeError):  # without a home, or in one that belongs to somebody else
        who = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
        return private_folder(Path(tempfile.gettempdir()) / f"jamrank{who}")


def _cache() -> Path:
    given = os.environ.get("JAMRANK_CACHE")
    if given:
        return Path(given)
    shared = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    # By the specification relative paths are ignored.
    return (Path(shared) if shared and Path(shared).is_absolute() else Path.home() / ".cache") / "jamrank"


def private_folder(path: Path) -> Path:
    """Create a private folder, or check that an existing one is private.

    Raises InputError: If it is a link, belongs to somebody else or can be written to by others, or cannot be made.
    """
    try:
        path.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
        refuse_shared(path.parent)
        path.mkdir(mode=_FOLDER, exist_ok=True)
    except FileExistsError:
        pass  # a file or a broken link, which the check names
    except OSError as error:
        problem = f"the folder cannot be created ({error.strerror or error})"
        raise InputError(problem, _ELSEWHERE, source=str(error.filename or path)) from None
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """Check that an existing folder belongs to this user alone; remove read access of others.

    Raises InputError: If it is a link, belongs to somebody else, or can be written to by others.
    """
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        raise InputError("is a link, not a folder of jamrank's own", f"delete it, or {_ELSEWHERE}", source=str(path))
    if not stat.S_ISDIR(about.st_mode):
        raise InputError("is a file, not a folder", f"delete it, or {_ELSEWHERE}", source=str(path))
    if not hasattr(os, "geteuid"):
        return
    if about.st_uid != os.geteuid():
        raise InputError("belongs to another user", _ELSEWHERE, source=str(path))
    if about.st_mode & _OTHERS_WRITE:
        problem = f"can be written to by others (mode {stat.S_IMODE(about.st_mode):04o})"
        raise InputError(problem, f"delete it, or {_ELSEWHERE}", source=str(path))
    if about.st_mode & _OTHERS:
        path.chmod(_FOLDER)


def refuse_shared(folder: Path) -> None:
    """Raise for a place where others could replace a folder of ours.

    Such places are folders and links that belong to another user (root excepted), and folders that others may write
    to, unless only the owner of an entry may replace it (mode +t): at any level of the path.

    Raises InputError: That names the folder.
    """
    if not hasattr(os, "geteuid"):
        return
    trusted = {0, os.geteuid()}
    for place, about in _way_to(folder):
        if about.st_uid not in trusted:
            what = "is a link of" if stat.S_ISLNK(about.st_mode) else "belongs to"
            raise InputError(f"{what} another user, who could replace its content", _ELSEWHERE, source=str(place))
        if stat.S_ISLNK(about.st_mode) or about.st_mode & stat.S_ISVTX:
            continue
        if about.st_mode & _OTHERS_WRITE and not _own_group_only(about):
            problem = f"can be written to by others (mode {stat.S_IMODE(about.st_mode):04o})"
            raise InputError(problem, _ELSEWHERE, source=str(place))


def _way_to(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield a folder and those above it, as they are named and as they are behind links."""
    named, real = folder.absolute(), folder.resolve()
    for way in dict.fromkeys((named, *named.parents, real, *real.parents)):
        yield way, way.lstat()


def _own_group_only(about: os.stat_result) -> bool:
    """Return whether the writing group has no other member than this user, as on many systems."""
    if about.st_mode & stat.S_IWOTH:
        return False
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(about.st_gid), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def private_open(path: Path, mode: str, buffering: int = -1) -> BinaryIO:
    """Open a file of a private folder: new files are private, links are not followed.

    path: The file.
    mode ({"rb", "wb", "ab"}): As for :func:`open`.
    buffering: As for :func:`open`.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | _NO_LINK | _NO_CHILD, _FILE)

    return cast(BinaryIO, open(path, mode, buffering=buffering, opener=opener))


def hold(path: Path) -> Any:
    """Hold a lock file while the result lives; None if the system has no such locks.

    Raises InputError: If another run holds it.
    """
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        try:
            file = private_open(path, "ab")
        except OSError as error:
            problem = f"the lock of the scratch folder cannot be opened ({error.strerror})"
            raise InputError(problem, _ELSEWHERE, source=str(path)) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            problem, remedy = (
                "another run is using this scratch folder",
                "wait for it, or give another with --scratch",
            )
            raise InputError(problem, remedy, source=str(path.parent)) from None
        # A run that ended in the meantime has removed the opened file.
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.lstat()):
            return file
        file.close()
