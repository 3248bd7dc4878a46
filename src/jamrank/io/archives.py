"""Zip archives of a JSON header and ``.npy`` members: data, no code, sizes are checked before memory is allocated."""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import FormatError, ParameterError
from jamrank.text import without_lone_surrogates

_HEADER = "header.json"
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
# An archive may expand to this many times its size plus this many bytes (a header: fewer bytes). Where arrays are
# large, those that compress better are stored uncompressed, so that anything beyond is a decompression bomb.
_LARGEST_RATIO, _SLACK, _HEADER_SLACK = 100, 1 << 28, 1 << 20
_MOST_MEMBERS = 1000
_DATE = (1980, 1, 1, 0, 0, 0)


def is_archive(content: bytes) -> bool:
    """Return whether content is a zip archive, by its first bytes."""
    return content[:4] == b"PK\x03\x04"


def pack(kind: str, version: int, body: Mapping[str, Any]) -> bytes:
    """Return an archive.

    kind: What it is; the header says ``"format": "jamrank-<kind>"``.
    version: Of the layout.
    body: Nested JSON values and numpy arrays of plain numbers; each array becomes a member.
    """
    arrays: dict[str, NDArray[Any]] = {}
    tree = _detach(body, "", arrays)
    header = {"format": f"jamrank-{kind}", "version": version, "body": tree}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        _write(archive, _HEADER, json.dumps(header, allow_nan=False, ensure_ascii=True).encode())
        large = sum(array.nbytes for array in arrays.values()) > _SLACK // 2
        for name, array in arrays.items():
            _write(archive, name, _npy(array), large)
    return content.getvalue()


def _detach(value: Any, path: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the value with its arrays replaced by the names of members."""
    if isinstance(value, np.ndarray):
        plain = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"), copy=False).reshape(value.shape)
        if plain.dtype.str not in _DTYPES:
            raise ParameterError(f"an array of {value.dtype} cannot be written; use numbers")
        name = f"{path.strip('/')}.npy"
        arrays[name] = plain
        return {"npy": name, "dtype": plain.dtype.str, "shape": list(plain.shape)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_detach(element, f"{path}/{k}", arrays) for k, element in enumerate(value)]
    if isinstance(value, Mapping):
        return {str(key): _detach(element, f"{path}/{key}", arrays) for key, element in value.items()}
    raise ParameterError(f"a {type(value).__name__} cannot be written to a file; use numbers, text and arrays")


def _npy(array: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
    return content.getvalue()


def _write(archive: zipfile.ZipFile, name: str, content: bytes, large: bool = False) -> None:
    # A fixed date: the same model gives the same bytes.
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    if large and len(content) > 1 << 20:
        sample = content[: 4 << 20]
        if len(sample) > _LARGEST_RATIO / 2 * len(zlib.compress(sample, 6)):
            info.compress_type = zipfile.ZIP_STORED
    archive.writestr(info, content)


def unpack(content: bytes, kind: str, version: int, source: str) -> dict[str, Any]:
    """Return the body of an archive; no code is executed.

    Raises FormatError: If it is something else, or damaged.
    """
    expected = f"this version reads 'jamrank-{kind}' of version {version}"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _checked_members(archive, len(content))
            text = without_lone_surrogates(_read(archive, members, _HEADER).decode("utf-8"))
            header = json.loads(text, parse_constant=_refuse_constant)
            if not isinstance(header, dict) or header.get("format") != f"jamrank-{kind}":
                raise _DamagedError("found another format")
            if header.get("version") != version or isinstance(header.get("version"), bool):
                raise _DamagedError(f"found version {str(header.get('version'))[:20]}")
            body = _attach(header.get("body"), archive, members, set())
    except _DamagedError as error:
        raise FormatError(f"{source}: {error}; {expected}") from None
    except (
        zipfile.BadZipFile,
        ValueError,
        KeyError,
        EOFError,
        RecursionError,
        NotImplementedError,
        RuntimeError,
        OSError,
        OverflowError,
        MemoryError,
        zlib.error,
    ) as error:
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise FormatError(f"{source}: the file is damaged ({reason}); {expected}") from None
    if not isinstance(body, dict):
        raise FormatError(f"{source}: the file has no body; {expected}")
    return body


class _DamagedError(ValueError):
    """A damaged archive, without the name of the file."""


def _refuse_constant(text: str) -> float:
    raise _DamagedError(f"found the number {text}, which JSON does not have")


def _checked_members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > _MOST_MEMBERS:
        raise _DamagedError(f"found {len(infos):,} members")
    members = {info.filename: info for info in infos}
    if len(members) < len(infos):
        raise _DamagedError("found a member twice")
    if _HEADER not in members:
        raise _DamagedError(f"found no {_HEADER}")
    for info in infos:
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _DamagedError("found a member that is encrypted or compressed in an unknown way")
        slack = _HEADER_SLACK if info.filename == _HEADER else _SLACK
        if info.file_size > slack + _LARGEST_RATIO * info.compress_size or info.compress_size > size:
            raise _DamagedError(f"found a member of {info.file_size:,} bytes in {info.compress_size:,}")
    if sum(info.compress_size for info in infos) > size:
        raise _DamagedError("found members that overlap")
    total = sum(info.file_size for info in infos)
    if total > _SLACK + _LARGEST_RATIO * size:
        raise _DamagedError(f"found members of {total:,} bytes in {size:,}")
    return members


def _read(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str) -> bytes:
    info = members[name]
    with archive.open(info) as file:
        # At most one byte more than stated: a larger member is a decompression bomb.
        content = file.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise _DamagedError(f"found a member {name[:60]!r} that is not as long as it says")
    return content


def _attach(value: Any, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], seen: set[str]) -> Any:
    """Return the tree with its arrays read."""
    if isinstance(value, list):
        return [_attach(element, archive, members, seen) for element in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"npy", "dtype", "shape"}:
        return _read_array(value, archive, members, seen)
    if value.keys() == {"float"}:
        if value["float"] not in ("inf", "-inf", "nan"):
            raise _DamagedError("found an invalid number")
        return float(value["float"])
    return {key: _attach(element, archive, members, seen) for key, element in value.items()}


def _read_array(
    spec: dict[str, Any], archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], seen: set[str]
) -> NDArray[Any]:
    name, dtype, shape = spec["npy"], spec["dtype"], spec["shape"]
    if not isinstance(name, str) or name not in members or name in seen:
        raise _DamagedError(f"found no member {str(name)[:60]!r} for an array, or one for several")
    seen.add(name)
    if dtype not in _DTYPES:
        raise _DamagedError(f"found an array of the unknown dtype {str(dtype)[:20]!r}")
    if not isinstance(shape, list) or any(type(n) is not int or not 0 <= n < 2**48 for n in shape) or len(shape) > 4:
        raise _DamagedError(f"found an array of the impossible shape {str(shape)[:60]}")
    length = math.prod(shape) * np.dtype(dtype).itemsize
    if not 0 <= members[name].file_size - length <= 4096:
        raise _DamagedError(f"found {members[name].file_size:,} bytes for an array of shape {shape}")
    content = io.BytesIO(_read(archive, members, name))
    if np.lib.format.read_magic(content) != (1, 0):
        raise _DamagedError("found an array of another version of numpy's format")
    found_shape, fortran, found_dtype = np.lib.format.read_array_header_1_0(content)
    if tuple(found_shape) != tuple(shape) or fortran or found_dtype.str != dtype:
        raise _DamagedError(f"found an array {name[:60]!r} that is not as the header says")
    raw = content.read()
    if len(raw) != length:
        raise _DamagedError(f"found {len(raw):,} bytes for an array of shape {shape}")
    if dtype == "|b1" and raw.translate(None, b"\0\1"):
        raise _DamagedError("found an array of booleans with other values")
    array = np.frombuffer(raw, dtype=dtype).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="))
