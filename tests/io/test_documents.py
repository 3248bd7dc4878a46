from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from jamrank.errors import FormatError, InputError, ParameterError
from jamrank.io import ensure_folder, write_atomically, write_together
from jamrank.io.documents import document_text, parse_document, read_bytes

DTYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"]


def write_document(path: Path, kind: str, version: int, body: dict[str, object]) -> None:
    write_atomically(path, document_text(kind, version, body))


def read_document(path: Path, kind: str, version: int) -> dict[str, object]:
    return parse_document(read_bytes(path), kind, version, str(path))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail_on_call(monkeypatch, function: str, call: int, error: BaseException) -> None:
    """Make the nth call of a function of ``os`` fail."""
    genuine, calls = getattr(os, function), []

    def sometimes(*args, **options):
        calls.append(args)
        if len(calls) == call:
            raise error
        return genuine(*args, **options)

    monkeypatch.setattr(os, function, sometimes)


def test_write_replaces_what_was_there(tmp_path):
    path = tmp_path / "ranking.csv"
    write_atomically(path, "old")
    write_atomically(path, "ü\r\n")
    assert path.read_bytes() == "ü\r\n".encode()
    write_atomically(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert names(tmp_path) == ["ranking.csv"]


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, function, error):
    path = tmp_path / "model.jamrank"
    path.write_text("old")
    fail_on_call(monkeypatch, function, 1, error)
    expected = InputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_atomically(path, "new")
    if expected is InputError:
        assert str(caught.value).startswith(f"{path}: the file cannot be written (No space left on device)")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["model.jamrank"]


def test_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path):
    (tmp_path / "plain").write_text("")
    write_atomically(tmp_path / "new", "x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "new").chmod(0o640)
    write_atomically(tmp_path / "new", "y")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match=r"missing: the folder does not exist"):
        write_atomically(tmp_path / "missing" / "x", "x")
    with pytest.raises(InputError, match="this is a folder"):
        write_atomically(tmp_path, "x")
    with pytest.raises(InputError, match="not an ordinary file"):
        write_atomically("/dev/null", "x")
    assert names(tmp_path) == []


def test_ensure_folder_makes_parents_and_is_content_with_what_exists(tmp_path):
    assert ensure_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert ensure_folder(str(tmp_path / "a" / "b")).is_dir()


def test_ensure_folder_says_what_is_in_the_way(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="a file is in its place") as caught:
            ensure_folder(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_ensure_folder_where_nobody_may_write(tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match=r"cannot be created \(Permission denied\)"):
        ensure_folder(tmp_path / "out")


def test_write_together_writes_all(tmp_path):
    write_together(tmp_path, {"a.csv": "1", "b.bin": b"\x02"})
    assert (tmp_path / "a.csv").read_text() == "1"
    assert (tmp_path / "b.bin").read_bytes() == b"\x02"
    assert names(tmp_path) == ["a.csv", "b.bin"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_write_together_that_fails_on_the_way_changes_nothing(tmp_path, monkeypatch, error, call):
    old = {"a.csv": "old a", "b.csv": "old b"}
    write_together(tmp_path, old)
    fail_on_call(monkeypatch, "fsync", call, error)
    with pytest.raises(InputError if isinstance(error, OSError) else type(error)):
        write_together(tmp_path, {"a.csv": "new a", "b.csv": "new b", "c.csv": "new c"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == old


def test_write_together_looks_at_every_target_first(tmp_path):
    (tmp_path / "b.csv").mkdir()
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(InputError, match=r"b\.csv: this is a folder"):
        write_together(tmp_path, {"a.csv": "new", "b.csv": "new"})
    assert (tmp_path / "a.csv").read_text() == "old"
    assert names(tmp_path) == ["a.csv", "b.csv"]


@pytest.mark.parametrize("name", ["../a", "b/c", "/etc/x", "..", "", "."])
def test_write_together_stays_in_its_folder(tmp_path, name):
    with pytest.raises((ParameterError, InputError)):
        write_together(tmp_path / "", {name: "x"})
    assert names(tmp_path) == []


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    )
)
def test_arrays_come_back_bit_for_bit(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("documents") / "model.jamrank"
    write_document(path, "model", 1, {"deep": [{"array": array}]})
    found = read_document(path, "model", 1)["deep"][0]["array"]
    assert same_bits(found, array)
    assert found.flags.writeable


def test_special_floats_keep_their_bits(tmp_path):
    payload = np.array([0x7FF8DEADBEEF0001, 0xFFF0000000000000, 0x8000000000000000, 1], dtype=np.uint64)
    write_document(tmp_path / "m", "model", 1, {"x": payload.view(np.float64)})
    assert same_bits(read_document(tmp_path / "m", "model", 1)["x"].view(np.uint64), payload)


def test_array_in_foreign_order_comes_back_with_its_values(tmp_path):
    grid = np.arange(6.0).reshape(2, 3)
    write_document(tmp_path / "m", "model", 1, {"big": grid.astype(">f8"), "turned": np.asfortranarray(grid)})
    found = read_document(tmp_path / "m", "model", 1)
    assert same_bits(found["big"], grid)
    assert same_bits(found["turned"], grid)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.text().filter(lambda key: key not in ("format", "version")), JSON_VALUES))
def test_plain_values_come_back_as_they_were(tmp_path_factory, body):
    path = tmp_path_factory.mktemp("documents") / "model.jamrank"
    write_document(path, "model", 3, body)
    assert repr(read_document(path, "model", 3)) == repr(body)


def test_header_is_plain_to_see(tmp_path):
    write_document(tmp_path / "m", "model", 2, {"flip": np.array([0.5, 1.0]), "n": np.int64(3), "pair": (1, 2)})
    document = json.loads((tmp_path / "m").read_text())
    array = {
        "dtype": "<f8",
        "shape": [2],
        "base64": base64.b64encode(np.array([0.5, 1.0]).tobytes()).decode(),
    }
    assert document == {"format": "jamrank-model", "version": 2, "flip": array, "n": 3, "pair": [1, 2]}


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        np.float32("-inf"),
        np.array(["a"], dtype=object),
        np.array([1j]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.zeros(2, dtype=[("a", "f8")]),
        {1: "a"},
        {None: "a"},
        {"dtype": 1, "shape": 2, "base64": 3},
        {1, 2},
        object(),
        np.longdouble(1),
    ],
)
def test_what_would_not_come_back_is_refused(tmp_path, value):
    with pytest.raises(ParameterError):
        write_document(tmp_path / "m", "model", 1, {"value": value})
    assert names(tmp_path) == []


def test_header_keys_are_not_for_the_body(tmp_path):
    with pytest.raises(ParameterError, match="'version'"):
        write_document(tmp_path / "m", "model", 1, {"version": 2})


def array_document(**changes) -> str:
    array = {"dtype": "<f8", "shape": [1], "base64": base64.b64encode(bytes(8)).decode(), **changes}
    return json.dumps({"format": "jamrank-model", "version": 1, "x": array})


HEAD = '"format": "jamrank-model", "version": 1'


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "found no JSON"),
        ("annotator,left\n1,2\n", "found no JSON"),
        ("{" + HEAD, "found no JSON"),
        (b"\x80\x04\x95pickle", "found no JSON"),
        ("[" * 100_000, "found no JSON"),
        ("[1, 2]", "not an object"),
        (json.dumps({"dtype": "|u1", "shape": [0], "base64": ""}), "not an object"),
        ("{}", "found no 'format'"),
        ('{"format": "jamrank-results", "version": 1}', "found the format 'jamrank-results'"),
        ('{"format": ["jamrank-model"], "version": 1}', "found the format ['jamrank-model']"),
        ('{"format": "jamrank-model"}', "found no 'version'"),
        ('{"format": "jamrank-model", "version": 2}', "found version 2"),
        ('{"format": "jamrank-model", "version": 0}', "found version 0"),
        ('{"format": "jamrank-model", "version": true}', "found version True"),
        ('{"format": "jamrank-model", "version": 1.0}', "found version 1.0"),
        ('{"format": "jamrank-model", "version": "1\\n"}', r"found version '1\n'"),
        ("{" + HEAD + ', "x": NaN}', "number NaN"),
        ("{" + HEAD + ', "x": -Infinity}', "number -Infinity"),
        ("{" + HEAD + ', "x": 1e999}', "number 1e999"),
        ("{" + HEAD + ', "x": 1, "x": 2}', "key twice"),
        (array_document(dtype="|O8"), "unknown dtype '|O8'"),
        (array_document(dtype=">f8"), "unknown dtype '>f8'"),
        (array_document(dtype=["<f8"]), "unknown dtype ['<f8']"),
        (array_document(shape=[2]), "found 8 bytes for an array <f8 of shape [2]"),
        (array_document(shape=[10**30, 0], base64=""), "impossible shape"),
        (array_document(shape=[-1]), "impossible shape [-1]"),
        (array_document(shape=[True]), "impossible shape [True]"),
        (array_document(shape=1), "impossible shape 1"),
        (array_document(base64="AAA"), "broken base64"),
        (array_document(base64="AAAAAAAA\nAAA="), "broken base64"),
        (array_document(base64="é"), "broken base64"),
        (array_document(base64=5), "broken base64"),
        (array_document(dtype="|b1", base64="Ag=="), "booleans"),
    ],
)
def test_what_this_version_cannot_read_is_refused_in_one_line(tmp_path, content, found):
    path = tmp_path / "model.jamrank"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FormatError) as caught:
        read_document(path, "model", 1)
    told = str(caught.value)
    assert told.startswith(f"{path}: ")
    assert found in told
    assert told.endswith("this version reads a document 'jamrank-model' of version 1")
    assert len(told.splitlines()) == 1


def test_missing_document(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_document(tmp_path / "none.json", "model", 1)
