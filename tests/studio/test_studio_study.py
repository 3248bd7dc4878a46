from __future__ import annotations

import pytest

from jamrank.errors import InputError
from jamrank.studio.forms import study_of_form
from jamrank.studio.study import Criterion, KnownPair, Study, as_toml, read_study, study_from
from jamrank.studio.texts import TEXTS, texts_of

FULL = """
items = "photos"
title = "A title"
question = "Which?"
ties = false
skip = false
grades = ["slightly better", "much better"]
votes_per_judge = 7
practice = [["a", "b"]]
gold = [["a", "c"], ["b", "c", "style"]]
gold_share = 0.2
repeat_share = 0.05
consent = "Yes **or** no"
ask = ["Age"]
goal = "top-k"
k = 3

[[criteria]]
name = "style"
question = "Which reads better?"

[texts]
skip = "Überspringen"
"""


def test_a_file_is_read_and_written_back():
    study, items = read_study(FULL, "study.toml")
    assert items == "photos"
    assert study.criteria == (Criterion("style", "Which reads better?"),)
    assert study.gold == (KnownPair("a", "c"), KnownPair("b", "c", "style"))
    assert texts_of(study.texts)["skip"] == "Überspringen"
    again, _ = read_study(as_toml(study), "again")
    assert again == study
    assert study_from(__import__("json").loads(study.as_json())) == study


def test_defaults_need_nothing():
    study, items = read_study("", "empty.toml")
    assert (study, items) == (Study(), None)
    assert as_toml(study) == "\n"
    assert study.asked() == (Criterion("", "Which is better?"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("questoin = 'x'", "did you mean 'question'"),
        ("title = 3", "title is 3; expected a text"),
        ("ties = 'yes'", "ties is 'yes'; expected true or false"),
        ("votes_per_judge = true", "expected a whole number"),
        ("votes_per_judge = 0", "expected at least 1"),
        ("gold_share = 0.7", "expected a share"),
        ("gold = [['a']]", "expected"),
        ("gold = [['a', 'a']]", "two different items"),
        ("gold = [['a', 'b', 'x']]", "names the criterion 'x'"),
        ("goal = 'all'", "expected ranking or"),
        ("goal = 'top-k'", "without k"),
        ("grades = ['a', 'b', 'c', 'd', 'e']", "at most 4"),
        ("criteria = [{name = 'a', question = 'x'}, {name = 'a', question = 'y'}]", "same name"),
        ("criteria = [{name = ' ', question = 'x'}]", "no name"),
        ("criteria = ['a']", "expected [[criteria]]"),
        ("texts = 3", "expected [texts]"),
        ("title = ", "not TOML"),
    ],
)
def test_mistakes_are_told_in_one_line(text, told):
    with pytest.raises(InputError) as caught:
        read_study(text, "study.toml")
    assert told in str(caught.value)
    assert str(caught.value).startswith("study.toml: ")
    assert "\n" not in str(caught.value)


def test_a_text_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="texts has 'skipp'"):
        texts_of({"skipp": "x"})
    assert texts_of({}) == TEXTS


def test_the_form_gives_the_same_study():
    study, _ = read_study(FULL, "x")
    fields = {
        "title": "A title",
        "question": "Which?",
        "grades": "slightly better, much better",
        "votes_per_judge": "7",
        "practice": "a > b\r\n",
        "gold": "a > c\r\nb > c > style",
        "gold_share": "0.2",
        "repeat_share": "0.05",
        "easy_share": "0",
        "cost_per_vote": "0",
        "consent": "Yes **or** no",
        "ask": "Age",
        "criteria": "style: Which reads better?",
    }
    assert study_of_form(study, fields) == study
    for name, wrong in {"votes_per_judge": "x", "gold": "a < b", "criteria": "style", "gold_share": "nan"}.items():
        with pytest.raises(InputError):
            study_of_form(study, {**fields, name: wrong})
