"""What a fit from disk leaves in its scratch folder, and how it is known again: manifests, the journal of passes."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import FormatError, ScratchError
from jamrank.io.documents import document_text, parse_document
from jamrank.io.out_of_core.arrays import Stamp, read_array, stamp_of, write_array, write_private
from jamrank.io.private import private_folder, private_open
from jamrank.typing import FloatArray

_DIGEST_BYTES = 16


def write_manifest(path: Path, kind: str, version: int, body: Mapping[str, Any]) -> None:
    """Write a JSON document after a line with its checksum."""
    text = document_text(kind, version, body).encode()
    write_private(path, _digest(text) + b"\n" + text)


def read_manifest(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Read what :func:`write_manifest` wrote.

    Raises ScratchError: If that is not what is there.
    """
    try:
        with private_open(path, "rb") as file:
            digest, _, text = file.read().partition(b"\n")
        if digest != _digest(text):
            raise ScratchError("the checksum is wrong", source=str(path))
        return parse_document(text, kind, version, str(path))
    except (OSError, FormatError) as error:
        raise ScratchError(f"the manifest cannot be read ({error})", source=str(path)) from None


def verify_files(folder: Path, files: Mapping[str, Stamp]) -> None:
    """Make sure that files are what a manifest says of them.

    Raises ScratchError: That names the first which is not.
    """
    for name, stamp in files.items():
        if stamp_of(folder / name) != stamp:
            raise ScratchError("the checksum is wrong", source=str(folder / name))


def refuse_beyond(codes: NDArray[np.integer], count: int, what: str, folder: Path) -> None:
    """Refuse codes out of their range, before a kernel takes them for places in memory.

    Raises ScratchError: If there is one.
    """
    if len(codes) and not (int(codes.min()) >= 0 and int(codes.max()) < count):
        problem = f"a scratch file is damaged (a code of {what} is out of range)"
        raise ScratchError(problem, "delete its folder and start again", source=str(folder))


def remove_folder(folder: Path) -> None:
    """Remove a folder and all that is in it; none there is no error."""
    shutil.rmtree(folder, ignore_errors=True)


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest().encode()


class Journal:
    """What passes said, on disk, found again by what they were asked.

    A fit is the same from run to run, to the last bit: one that was killed and is begun anew asks the same questions,
    and gets the answers that are here at once.

    folder: Where the answers are kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def recall(self, run: Callable[[], FloatArray], what: str, *asked: FloatArray) -> FloatArray:
        """Return the answer to a question, from an earlier run where there is one."""
        question = hashlib.blake2b(what.encode(), digest_size=_DIGEST_BYTES)
        for array in asked:
            question.update(np.ascontiguousarray(array).tobytes())
        path = self.folder / f"{question.hexdigest()}.sums"
        known = self._read(path, question.digest())
        if known is not None:
            return known
        answer = run()
        private_folder(self.folder)
        write_array(path, np.concatenate([_checksum(question.digest(), answer), answer]))
        return answer

    def _read(self, path: Path, question: bytes) -> FloatArray | None:
        """Return an answer that is there and whole."""
        if not path.exists():
            return None
        try:
            content = read_array(path, np.float64)
        except ScratchError:
            return None
        checksum, answer = content[:2], content[2:]
        return answer if checksum.tobytes() == _checksum(question, answer).tobytes() else None


def _checksum(question: bytes, answer: FloatArray) -> FloatArray:
    digest = hashlib.blake2b(question + answer.tobytes(), digest_size=_DIGEST_BYTES).digest()
    return np.frombuffer(digest, dtype=np.float64)
