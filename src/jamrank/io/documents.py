"""Atomic writing, and JSON documents whose arrays are preserved bit for bit."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import FormatError, InputError, ParameterError
from jamrank.text import without_lone_surrogates

_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
_ARRAY_KEYS = {"dtype", "shape", "base64"}
_HEADER_KEYS = {"format", "version"}


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file.

    path: The file, or a pipe.
    Raises InputError: If there is no such file or it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        problem, remedy = "the file does not exist", "check the name and the folder"
    except IsADirectoryError:
        problem, remedy = "this is a folder", "give the file in it"
    except PermissionError:
        problem, remedy = "permission denied", "make the file readable"
    except (OSError, ValueError) as error:
        problem, remedy = f"the file cannot be read ({reason_of(error)})", "check the name and the disk"
    raise InputError(problem, remedy, source=str(path))


def load_text(path: str | os.PathLike[str]) -> str:
    """Return the text in a file.

    Raises InputError: If there is no such file, or it is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the text is not UTF-8", "save the file as UTF-8", source=str(path)) from None


def shown(value: object) -> str:
    """Return a value as an error message shows it: in quotes, on one line, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def check_folder(path: str | os.PathLike[str]) -> None:
    """Check that a folder can be written to or created, without creating it.

    Raises InputError: If it cannot.
    """
    if not str(path).strip():
        raise InputError("the name of the folder is empty", "give the folder a name")
    folder = Path(path)
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not nearest.is_dir():
        raise InputError("is a file, not a folder", "choose another folder", source=str(nearest))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError("the folder is not writable", "choose another one", source=str(nearest))


def ensure_folder(path: str | os.PathLike[str]) -> Path:
    """Create a folder and its parents if they do not exist.

    path: The folder.
    Returns: The same folder.
    Raises InputError: If it cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        problem, remedy = "the folder cannot be created, a file is in its place", "choose another name"
    except (OSError, ValueError) as error:
        problem, remedy = (
            f"the folder cannot be created ({reason_of(error)})",
            "choose a writable folder",
        )
    else:
        return folder
    raise InputError(problem, remedy, source=str(path))


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that others see either the old content or all of the new one.

    path: The file; its folder must exist. A link is followed, and an old file's permissions are kept.
    content: Text is written as UTF-8, its line ends as they are.
    Raises InputError: If it cannot be written; nothing is left behind then.
    """
    replace_all({Path(path): content})


def replace_all(contents: Mapping[Path, str | bytes]) -> None:
    """Write some files, each beside its place and then renamed."""
    encoded = {
        checked_target(path): content.encode() if isinstance(content, str) else content
        for path, content in contents.items()
    }
    staged: dict[Path, Path] = {}
    try:
        for target, content in encoded.items():
            temporary = target.with_name(f".jamrank-{secrets.token_hex(8)}.tmp")
            staged[temporary] = target
            write_durably(temporary, content, like=target)
        for temporary, target in staged.items():
            temporary.replace(target)
    except OSError as error:
        raise InputError(
            f"the file cannot be written ({reason_of(error)})",
            "choose a writable folder",
            source=str(target),
        ) from None
    finally:
        for temporary in staged:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def checked_target(path: Path) -> Path:
    """Return the file behind any links, after making sure that it may be replaced."""
    # Renaming onto a device such as /dev/null would replace it.
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "not an ordinary file"
        raise InputError(f"this is {kind}", "give the name of a file", source=str(path))
    if not path.parent.is_dir():
        raise InputError("the folder does not exist", "make it first", source=str(path.parent))
    return path.resolve()


def write_durably(temporary: Path, content: bytes, like: Path) -> None:
    """Write a new file to the disk, with the permissions of the file that it will replace."""
    replaced = like.exists()
    # The replacement of a private file is private from the start.
    mode = stat.S_IMODE(like.stat().st_mode) if replaced else 0o666
    with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if replaced:
        shutil.copymode(like, temporary)


def reason_of(error: Exception) -> str:
    """Return why an operation failed, on one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())


def document_text(kind: str, version: int, body: Mapping[str, Any]) -> str:
    """Return the text of a JSON document.

    kind: What it is; the file says ``"format": "jamrank-<kind>"``.
    version: Of the document's layout.
    body: Nested JSON values and numpy arrays of plain numbers. Tuples come back as lists, numpy scalars as Python's.
    Raises ParameterError: If the body has a value that would not be preserved.
    """
    taken = _HEADER_KEYS & body.keys()
    if taken:
        raise ParameterError(f"the body has the key {min(taken)!r}, which the header needs; rename it")
    document = {"format": f"jamrank-{kind}", "version": version, **_encode(body)}
    # One line for each key, so that files can be compared by line.
    lines = (f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in document.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, np.generic) and value.dtype.newbyteorder("<").str in _DTYPES:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ParameterError(
            f"{value!r} outside an array cannot be written as JSON; put it into an array or use None"
        )
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_encode(element) for element in value]
    if isinstance(value, Mapping):
        return _encode_mapping(value)
    raise ParameterError(f"a {type(value).__name__} cannot be written as JSON; use JSON values and arrays")


def _encode_mapping(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    strange = next((key for key in mapping if not isinstance(key, str)), None)
    if strange is not None or None in mapping:
        raise ParameterError(f"the key {strange!r} is not a string; JSON has no other keys")
    if mapping.keys() == _ARRAY_KEYS:
        raise ParameterError("a dict with the keys dtype, shape and base64 would be taken for an array; rename one")
    return {key: _encode(value) for key, value in mapping.items()}


def _encode_array(array: NDArray[Any]) -> dict[str, Any]:
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _DTYPES:
        raise ParameterError(f"an array of {array.dtype} cannot be written; use one of {', '.join(_DTYPES)}")
    raw = array.astype(dtype, copy=False).tobytes()
    return {"dtype": dtype.str, "shape": list(array.shape), "base64": base64.b64encode(raw).decode("ascii")}


def parse_document(content: bytes, kind: str, version: int, source: str) -> dict[str, Any]:
    """Return the body of a document, with arrays identical to those written; no code is executed."""
    expected = f"this version reads a document 'jamrank-{kind}' of version {version}"
    try:
        document = _parse(content)
        _check_header(document, f"jamrank-{kind}", version)
    except _UnreadableError as error:
        raise FormatError(f"{source}: {error}; {expected}") from None
    return {key: value for key, value in document.items() if key not in _HEADER_KEYS}


class _UnreadableError(ValueError):
    """An unreadable document, without the name of the file."""


def _parse(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(
            without_lone_surrogates(content.decode("utf-8")),
            object_pairs_hook=_decode_object,
            parse_constant=_decode_float,
            parse_float=_decode_float,
        )
    except _UnreadableError:
        raise
    except (ValueError, RecursionError) as error:
        raise _UnreadableError(f"found no JSON ({reason_of(error)})") from None
    if not isinstance(document, dict):
        raise _UnreadableError("found JSON that is not an object")
    return document


def _check_header(document: dict[str, Any], expected: str, version: int) -> None:
    found = document.get("format")
    if found != expected:
        raise _UnreadableError("found no 'format'" if found is None else f"found the format {shown(found)}")
    number = document.get("version")
    if isinstance(number, bool) or not isinstance(number, int) or number != version:
        raise _UnreadableError("found no 'version'" if number is None else f"found version {shown(number)}")


def _decode_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _UnreadableError(f"found the number {text}, which JSON does not have")
    return value


def _decode_object(pairs: list[tuple[str, Any]]) -> Any:
    decoded = dict(pairs)
    if len(decoded) < len(pairs):
        raise _UnreadableError("found a key twice in one object")
    return _decode_array(**decoded) if decoded.keys() == _ARRAY_KEYS else decoded


def _decode_array(dtype: Any, shape: Any, base64: Any) -> NDArray[Any]:
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise _UnreadableError(f"found an array of the unknown dtype {shown(dtype)}")
    if not isinstance(shape, list) or any(type(length) is not int or length < 0 for length in shape):
        raise _UnreadableError(f"found an array of the impossible shape {shown(shape)}")
    raw = _decode_base64(base64)
    if math.prod(shape) * np.dtype(dtype).itemsize != len(raw):
        raise _UnreadableError(f"found {len(raw)} bytes for an array {dtype} of shape {shown(shape)}")
    if dtype == "|b1" and raw.translate(None, b"\0\1"):
        raise _UnreadableError("found an array of booleans with other values")
    try:
        array = np.frombuffer(raw, dtype=dtype).reshape(shape)
    except (ValueError, OverflowError):
        raise _UnreadableError(f"found an array of the impossible shape {shown(shape)}") from None
    return array.astype(array.dtype.newbyteorder("="))


def _decode_base64(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise _UnreadableError("found an array with broken base64") from None
