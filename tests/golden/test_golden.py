"""Results are those of the golden file, to 1e-9, but for what changed on purpose."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests.golden.cases import CASES
from tests.golden.data import DATA
from tests.golden.record import read, record

WITHIN = 1e-9
# Draws from the posterior and differences of finite steps amplify rounding, which differs between processors.
AMPLIFIED = 1e-5
AMPLIFYING = {"score_se", "score_low", "score_high", "flip_low", "flip_high"}
AMPLIFYING |= {f"{name}_interval" for name in ("coef", "bias", "tie", "discrimination", "cluster_flip")}

# What changed on purpose since the file was written, and why: a column, or ``data:Model(variant)/column`` with ``*``.
RIDGE = "chains follow the bent ridge along the scale of the scores, where they hardly moved"
CASES_ON_RIDGES = ("crowd:JAM", "crowd:CrowdBT", "questions:JAM", "gold:JAM(known)", "gold:CrowdBT(known)")
DRAWN = ("score_se", "score_low", "score_high", "rank_low", "rank_high", "flip_low", "flip_high")
ALONE = "the flip of a single annotator is missing"
CHANGED: dict[str, str] = {f"{case}/{column}": RIDGE for case in CASES_ON_RIDGES for column in DRAWN}
CHANGED |= {f"two:*/{column}": ALONE for column in ("overall_flip", "flip_low", "flip_high")}

GOLDEN = read()


def is_changed(case: str, column: str) -> bool:
    return any(fnmatchcase(column, key) or fnmatchcase(f"{case}/{column}", key) for key in CHANGED)


def differences(expected: Any, found: Any, path: str, within: float = WITHIN) -> list[str]:
    """Return where two values differ: numbers relatively or, where they are small, absolutely."""
    if isinstance(expected, (dict, list)):
        if type(expected) is not type(found) or len(expected) != len(found):
            return [f"{path}: {expected!r:.80}, now {found!r:.80}"]
        keys = expected if isinstance(expected, dict) else range(len(expected))
        return [line for key in keys for line in differences(expected[key], found[key], f"{path}[{key}]", within)]
    numbers = all(isinstance(value, (int, float)) for value in (expected, found))
    if numbers and math.isclose(expected, found, rel_tol=within, abs_tol=within):
        return []
    return [] if expected == found else [f"{path}: {expected!r}, now {found!r}"]


# Draws take a second or two in each of these.
SLOW = ("*two-coin*", "*davidson*", "*known*", "crowd:CrowdBT", "questions:CrowdBT", "ties:JAM")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if any(fnmatchcase(name, slow) for slow in SLOW) else [])
        for name in CASES
    ],
)
def test_a_fit_is_as_it_was(name: str) -> None:
    expected, found = GOLDEN["cases"][name], record(CASES[name])
    lines = []
    for column in expected | found:
        if is_changed(name, column):
            continue
        if (column in expected) != (column in found):
            lines.append(f"{column}: {'gone' if column in expected else 'new'}")
        else:
            within = AMPLIFIED if column in AMPLIFYING else WITHIN
            lines += differences(expected[column], found[column], column, within)
    assert not lines, f"{len(lines)} values changed:\n" + "\n".join(lines[:20])


def test_the_data_are_those_of_the_file() -> None:
    assert {name: data.checksum for name, data in DATA.items()} == GOLDEN["data"]


def test_every_case_of_the_file_is_fitted() -> None:
    assert set(GOLDEN["cases"]) == set(CASES)


def test_what_changed_on_purpose_is_in_the_file() -> None:
    known = [(case, column) for case, columns in GOLDEN["cases"].items() for column in columns]
    for key in CHANGED:
        matched = [1 for case, column in known if fnmatchcase(column, key) or fnmatchcase(f"{case}/{column}", key)]
        assert matched, f"{key!r} matches nothing"


def test_a_difference_is_seen() -> None:
    before = {"a": [1.0, None, "x"], "b": 2}
    assert differences(before, {"a": [1.0 + 1e-10, None, "x"], "b": 2}, "") == []
    for after in ({"a": [1.0 + 2e-9, None, "x"], "b": 2}, {"a": [1.0, 0.0, "x"], "b": 2}, {"a": [1.0], "b": 2}):
        assert len(differences(before, after, "")) == 1
