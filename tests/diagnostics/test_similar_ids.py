"""Ids that a person would take for the same are pointed out."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

import jamrank as jr
from jamrank.diagnostics.similar_ids import similar_ids, told_apart


def labels(*names) -> np.ndarray:
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found


@pytest.mark.parametrize(
    "other",
    ["tea ", " tea", "Tea", "TEA", "t ea", "tea\u00a0", "te\u200ba", "\ufefftea", "ｔｅａ", "tea\n"],
    ids=ascii,
)
def test_spaces_case_and_forms_of_characters_make_similar_ids(other):
    assert similar_ids(labels("milk", "tea", other)) == [["tea", other]]


def test_both_normal_forms_are_one():
    one, other = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    assert one != other
    assert similar_ids(labels(one, other)) == [[one, other]]
    assert told_apart([one, other]) == r"'caf\xe9' and 'cafe\u0301'"


@pytest.mark.parametrize("names", [("tea", "teas"), ("a1", "a-1"), ("cafe", "café"), (1, 2), ("", "a")], ids=str)
def test_other_differences_are_differences(names):
    assert similar_ids(labels(*names)) == []


def test_numbers_are_not_looked_at():
    assert similar_ids(np.arange(3)) == []


def test_long_ids_are_cut():
    assert len(told_apart(["a" * 1000, "A" * 1000])) < 150


def test_check_points_them_out():
    votes = jr.Comparisons.from_arrays(["tea", "Tea", "x"], ["milk", "milk", "X "], ["ann", "ann ", "bob"], [1, 0, 1])
    health = jr.check(votes)
    told = {finding.sentence: finding.level for finding in health.findings if finding.about == "ids"}
    assert set(told.values()) == {"warning"}
    items, annotators = told
    assert "item ids 'Tea' and 'tea' differ only by spaces, case or Unicode normalisation (1 more case)" in items
    assert "annotator ids 'ann' and 'ann ' differ" in annotators
    assert health.details["similar_items"] == [["Tea", "tea"], ["X ", "x"]]
    clean = jr.check(jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "y"], [1, 1]))
    assert not [finding for finding in clean.findings if finding.about == "ids"]
