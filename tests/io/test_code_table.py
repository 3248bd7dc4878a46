"""CSVs of other forms than jamrank's own, read part by part into categories."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import InputError
from jamrank.io import coded_files, reader
from tests.io.test_coded import same

ASKED = {"question": "prompt", "annotator": "who", "left": "one", "right": "other", "winner": "said"}


def drawn(columns: dict[str, list[str]], words: list[str], names: list[str], n: int = 400) -> pl.DataFrame:
    """Return made-up votes: the two items and who won, then further columns with some of their values."""
    rng = np.random.default_rng(5)
    left = rng.integers(0, len(names), n)
    right = (left + rng.integers(1, len(names), n)) % len(names)
    one, other, said = list(columns)[:3]
    frame = pl.DataFrame({one: np.array(names)[left], other: np.array(names)[right]})
    frame = frame.with_columns(pl.Series(said, np.array(words)[rng.integers(0, len(words), n)]).replace("", None))
    further = {name: np.array(values)[rng.integers(0, len(values), n)] for name, values in list(columns.items())[3:]}
    return frame.with_columns(pl.Series(name, values).replace("", None) for name, values in further.items())


ITEMS, NUMBERS = ["b, c", 'a "x"', "é", "7"], ["10", "9", "-3", "0"]
ARENA = {"model_a": [], "model_b": [], "winner": [], "judge": ["x", "y"], "language": ["en", "de"]}
EVALICA = {"left": [], "right": [], "winner": []}
OWN = {**EVALICA, "annotator": ["3", "11"]}
FILES = {
    "arena": (ARENA, ["model_a", "model_b", "tie", "tie (bothbad)"], ITEMS, {}),
    "arena, graded": (ARENA, ["A>>B", "A>B", "B>A", "a=b"], NUMBERS, {}),
    "arena, ids": (ARENA, ITEMS[:2], ITEMS[:2], {}),
    "arena, capitals": ({name.title(): values for name, values in ARENA.items()}, ["Model_A", "model_b"], ITEMS, {}),
    "evalica": (EVALICA, ["left", "right", "tie", ""], ITEMS, {}),
    "evalica, rater": ({**EVALICA, "rater": ["u", "v"]}, ["left", "right"], NUMBERS, {}),
    "own words": (OWN, ["L", "R", "none"], ITEMS, {"winner_words": {"L": "left", "R": "right", "none": "abstain"}}),
    "own": ({**OWN, "weight": ["1", "2.5"]}, ["left", "right", "both_bad"], NUMBERS, {}),
    "own, soft": ({**OWN, "p_left": ["0.2", "1", "0.5"]}, ["left", "right"], ITEMS, {}),
    "own, graded": ({**OWN, "grade": ["1", "2", "3"]}, ["left", "right"], ITEMS, {}),
    "own, prompts": ({**OWN, "Prompt": ["p", "q", ""]}, ["left", "right"], ITEMS, {}),
    "own, asked": ({**OWN, "question": ["1", "2", ""], "x": ["1"]}, ["left", "abstain"], ITEMS, {}),
    "own, times": ({**OWN, "time": ["2024-01-01", "2024-03-01"]}, ["left", "right"], ITEMS, {}),
    "some annotators": ({**OWN, "weight": ["1"]}, ["left", "right"], ITEMS, {"only": ["3"]}),
    "covariates": ({**OWN, "length": ["1", "-2"]}, ["left", "right"], NUMBERS, {"covariates": ["length"]}),
    "crowd-kit": ({"left": [], "right": [], "label": [], "worker": ["1", "2"]}, ITEMS[:2], ITEMS[:2], {}),
    "judgement": (
        {"candidate_chosen": [], "candidate_not_chosen": [], "x": [], "judge": ["1", "2"]},
        ["y"],
        ITEMS,
        {},
    ),
    "mapped": (
        {"one": [], "other": [], "said": [], "who": ["a", "b"], "prompt": ["p", "q"]},
        ["one", "other", "same"],
        ITEMS,
        {"mapping": ASKED},
    ),
    "mapped, two columns": (
        {"one": [], "other": [], "said": [], "size": ["s", "l"]},
        ["A", "b"],
        ITEMS,
        {"mapping": {"left": "one+size", "right": "other+size", "winner": "said"}},
    ),
    "mapped, numbers": (
        {"one": [], "other": [], "said": []},
        ["1", "0", "0.7"],
        ITEMS,
        {"mapping": {"left": "one", "right": "other", "p_left": "said"}},
    ),
    "wide": ({"left": [], "right": [], "ann": [], "bob": ["left", "right", ""]}, ["left", "right"], ITEMS, {}),
    "ratings": ({"item": [], "x": [], "rating": [], "annotator": ["a", "b"]}, ["1", "2", "5"], ITEMS, {}),
}  # fmt: skip


def otherwise(path, monkeypatch, **given) -> jr.Comparisons:
    """Return the votes by way of the whole table."""
    with monkeypatch.context() as patched:
        patched.setattr(reader, "code_table", lambda *given: None)
        return jr.read_comparisons(path, **given)


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_categories_have_the_votes_of_the_table(tmp_path, monkeypatch, name, quoted):
    columns, words, names, given = FILES[name]
    path = tmp_path / "votes.csv"
    drawn(columns, words, names).write_csv(path, quote_style="always" if quoted else "necessary")
    monkeypatch.setattr(coded_files, "_PART", 500)
    content = coded_files.code_table(path)
    assert content is not None and set(map(type, content.dtypes)) == {pl.Enum}
    expected = otherwise(path, monkeypatch, **given)
    found = jr.read_comparisons(path, **given)
    same(found, expected)
    assert np.array_equal(found.vote_grade, expected.vote_grade) and found.covariates == expected.covariates


# In a wide table every further column is an annotator.
@pytest.mark.parametrize("name", [name for name in FILES if name != "wide"])
def test_columns_that_no_one_looks_at_are_not_read(tmp_path, monkeypatch, name):
    columns, words, names, given = FILES[name]
    path = tmp_path / "votes.csv"
    text = pl.Series("comment", [f'so "{k}"' for k in range(400)])
    drawn(columns, words, names).with_columns(text).write_csv(path)
    monkeypatch.setattr(coded_files, "_SAMPLE", 3000)
    monkeypatch.setattr(coded_files, "_FEW", 100)
    expected, read, kinds = otherwise(path, monkeypatch, **given), reader.code_table, []

    def watched(path, needed):
        found = read(path, needed)
        kinds.extend([] if found is None else [found["comment"].dtype])
        return found

    monkeypatch.setattr(reader, "code_table", watched)
    same(jr.read_comparisons(path, **given), expected)
    # All columns of jamrank's own form are read.
    assert kinds == ([] if OWN.keys() <= columns.keys() and "winner_words" not in given else [pl.Null])


@pytest.mark.parametrize("name", ["arena", "evalica, rater", "mapped", "wide"])
def test_a_file_of_which_more_is_looked_at_than_was_read_is_left_to_the_table(tmp_path, monkeypatch, name):
    columns, words, names, given = FILES[name]
    path = tmp_path / "votes.csv"
    drawn(columns, words, names).write_csv(path)
    monkeypatch.setattr(coded_files, "_SAMPLE", 3000)
    expected = otherwise(path, monkeypatch, **given)
    for left_out in columns:
        with monkeypatch.context() as patched:
            patched.setattr(reader, "needed_columns", lambda *_, left_out=left_out: set(columns) - {left_out})
            same(jr.read_comparisons(path, **given), expected)


@pytest.mark.parametrize("name", ["arena", "evalica", "own words", "own", "mapped", "crowd-kit"])
@pytest.mark.parametrize("what", ["the same item", "no item", "unknown winner", "no annotator", "short"])
def test_odd_rows_are_refused_or_set_aside_as_before(tmp_path, monkeypatch, name, what):
    columns, words, names, given = FILES[name]
    path = tmp_path / "votes.csv"
    frame = drawn(columns, words, names)
    one, other, said = list(columns)[:3]
    change = {
        "the same item": (other, pl.col(one)),
        "no item": (one, None),
        "unknown winner": (said, pl.lit("what?")),
        "no annotator": (list(columns)[3:4], None),
        "short": (one, pl.col(one)),
    }[what]
    for place in np.atleast_1d(np.array(change[0], dtype=object)):
        odd = pl.int_range(pl.len()).is_in([7, 200])
        value = pl.lit(None) if change[1] is None else change[1]
        frame = frame.with_columns(pl.when(odd).then(value).otherwise(pl.col(str(place))).alias(str(place)))
    frame.write_csv(path)
    if what == "short":
        path.write_text(path.read_text() + "x\n")
    told = []
    for read in (
        lambda **more: otherwise(path, monkeypatch, **given, **more),
        lambda **more: jr.read_comparisons(path, **given, **more),
    ):
        for skip in (False, True):
            try:
                told.append(read(skip_bad_rows=skip))
            except InputError as error:
                told.append(str(error))
    for expected, found in zip(told[:2], told[2:], strict=True):
        if isinstance(expected, str):
            assert found == expected
        else:
            same(found, expected)


def test_a_column_that_hardly_repeats_itself_is_left_to_the_table(tmp_path, monkeypatch):
    path = tmp_path / "votes.csv"
    columns, words, names, _ = FILES["arena"]
    drawn(columns, words, names).with_row_index("id").write_csv(path)
    assert coded_files.code_table(path) is not None
    monkeypatch.setattr(coded_files, "_FEW", 100)
    assert coded_files.code_table(path) is None
    assert jr.read_comparisons(path).n_votes == 400


def test_a_line_that_is_too_long_is_left_to_the_table(tmp_path, monkeypatch):
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner\na,b,left\na,c," + "x" * 900 + "\nb,c,right\n")
    monkeypatch.setattr(coded_files, "_PART", 100)
    assert coded_files.code_table(path) is None
    monkeypatch.setattr(coded_files, "_PART", 1000)
    assert coded_files.code_table(path).height == 3


@pytest.mark.parametrize(
    "header", ["left,right,winner,\0text", "left,right,winner,te\0xt\r", "\0left,right,winner,text"]
)
def test_a_header_that_is_no_text_is_left_to_the_table(tmp_path, header):
    path = tmp_path / "votes.csv"
    path.write_bytes(f"{header}\na,b,left,x\n".encode())
    assert coded_files.code_table(path) is None
    with pytest.raises(InputError, match="neither text nor Parquet"):
        jr.read_comparisons(path)
