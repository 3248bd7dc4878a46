from __future__ import annotations

import json

import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import InputError, ParameterError

HEAD = "annotator,left,right,winner\n"
GOOD = ["ann,a,b,left", "bob,b,c,right", "ann,a,c,left", "carl,c,a,right", "carl,b,a,right", "bob,c,b,left"]
BAD = {
    "an item compared with itself": "ann,b,b,left",
    "right is missing": "ann,a,,left",
    "annotator is missing": ",a,b,left",
    "unknown winner": "ann,a,b,lft",
}


def write(tmp_path, rows, head=HEAD, name="votes.csv"):
    path = tmp_path / name
    path.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_row_is_refused_with_its_number_and_set_aside_on_request(tmp_path, reason):
    path = write(tmp_path, [*GOOD[:2], BAD[reason], *GOOD[2:4], BAD[reason], *GOOD[4:]])
    with pytest.raises(InputError, match=r"row 3: .*in row 6.*skip-bad-rows.* these 2 rows"):
        jr.read_comparisons(path)
    votes = jr.read_comparisons(path, skip_bad_rows=True)
    clean = jr.read_comparisons(write(tmp_path, GOOD, name="clean.csv"))
    assert votes.to_frame().equals(clean.to_frame())
    assert votes.readings[0].set_aside == {f"{reason}: rows 3, 6": 2}
    assert votes.readings[0].rows == 8


def test_all_reasons_are_counted(tmp_path):
    path = write(tmp_path, [*GOOD, *BAD.values()])
    with pytest.raises(InputError, match="4 rows cannot be votes") as caught:
        jr.read_comparisons(path)
    assert all(reason in str(caught.value) for reason in BAD)
    assert sum(jr.read_comparisons(path, skip_bad_rows=True).readings[0].set_aside.values()) == 4


@pytest.mark.parametrize(
    ("head", "rows", "bad"),
    [
        (
            "model_a,model_b,winner\n",
            ["x,y,model_a", "y,z,model_b", "x,z,tie"],
            ["x,x,model_a", "x,,model_a", "x,y,q"],
        ),
        ("worker,left,right,label\n", ["w,x,y,x", "w,y,z,z"], ["w,x,x,x", ",x,y,x", "w,x,y,nobody"]),
        ("judge,candidate_chosen,candidate_not_chosen\n", ["j,x,y", "j,y,z", "k,x,z"], ["j,x,x", "j,,x"]),
    ],
)
def test_other_formats_are_sifted_too(tmp_path, head, rows, bad):
    clean = jr.read_comparisons(write(tmp_path, rows, head, "clean.csv"))
    votes = jr.read_comparisons(write(tmp_path, [*bad, *rows], head), skip_bad_rows=True)
    assert votes.to_frame().equals(clean.to_frame())
    assert sum(votes.readings[0].set_aside.values()) == len(bad)


def test_no_hint_where_the_file_is_misunderstood(tmp_path):
    path = write(tmp_path, ["ann,a,b,1", "ann,b,c,2", "ann,a,c,1"])
    with pytest.raises(InputError, match="row 1") as caught:
        jr.read_comparisons(path)
    assert "skip" not in str(caught.value)
    with pytest.raises(InputError, match="row 1"):
        jr.read_comparisons(path, skip_bad_rows=True)


def test_rows_after_those_set_aside_keep_their_numbers(tmp_path):
    rows = ["x,z,x", "x,x,left", "tie,y,tie"]  # the last could be a tie or a win of the item called tie
    path = write(tmp_path, rows, "left,right,winner\n")
    with pytest.raises(InputError, match="row 3: winner is 'tie', which is an outcome and the name of an item"):
        jr.read_comparisons(path, skip_bad_rows=True)


def test_only_and_without_are_the_file_without_these_rows(tmp_path):
    path = write(tmp_path, GOOD)
    kept = write(tmp_path, [row for row in GOOD if not row.startswith("bob")], name="kept.csv")
    expected = jr.read_comparisons(kept).to_frame()
    for chosen in ({"without": "bob"}, {"without": ["bob"]}, {"only": ["ann", "carl"]}, {"only": "ann,carl"}):
        votes = jr.read_comparisons(path, **chosen)
        assert votes.to_frame().equals(expected)
        assert votes.readings[0].set_aside == {"votes of annotators who are left out": 2}
        assert jr.read_comparisons(jr.read_comparisons(path), **chosen).to_frame().equals(expected)


def test_annotators_that_are_numbers_and_names_with_commas(tmp_path):
    frame = {"annotator": [1, 2, 2], "left": list("aba"), "right": list("bcc"), "winner": ["left"] * 3}
    assert jr.read_comparisons(frame, without=1).n_votes == 2
    frame["annotator"] = ["x, y", "x", "y"]
    assert jr.read_comparisons(frame, without="x, y").n_votes == 2
    assert jr.read_comparisons(frame, without="x,y").n_votes == 1


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"without": "anm"}, "--without anm: no such annotator among 3 annotators; did you mean ann?"),
        ({"only": "zzzz"}, "--only zzzz: no such annotator among 3 annotators; there are ann, bob, carl"),
        ({"without": ["ann", "bob", "carl"]}, "--without leaves no annotator"),
        ({"without": "ann", "only": "bob"}, "exclude each other"),
    ],
)
def test_unknown_annotators_are_refused(tmp_path, chosen, message):
    with pytest.raises(ParameterError) as caught:
        jr.read_comparisons(write(tmp_path, GOOD), **chosen)
    assert message in str(caught.value)


def test_groups_are_filtered_like_the_whole(tmp_path):
    path = write(
        tmp_path, ["ann,a,b,left,x", "bob,a,b,right,y", "ann,b,a,left,y", "ann,a,a,left,x"], f"{HEAD[:-1]},lang\n"
    )
    votes, groups = jr.read_groups(path, "lang", skip_bad_rows=True, without="bob")
    assert votes.n_votes == 2
    assert {name: own.n_votes for name, own in groups.items()} == {"x": 1, "y": 1}
    votes, groups = jr.read_groups(path, "lang", skip_bad_rows=True, only="bob")
    assert list(groups) == ["y"]


def test_frames_are_read_as_files_are(tmp_path):
    path = write(
        tmp_path,
        [row.replace("left", "model_a").replace("right", "model_b") for row in GOOD],
        "rater,model_a,model_b,winner\n",
    )
    expected = jr.read_comparisons(path)
    table = pl.read_csv(path)
    pandas = pytest.importorskip("pandas")
    sources = [
        table,
        table.to_dict(as_series=False),
        table.to_dicts(),
        pandas.DataFrame(table.to_dict(as_series=False)),
    ]
    for source in sources:
        votes = jr.read_comparisons(source)
        assert pl.DataFrame(votes.to_frame()).equals(expected.to_frame())
    assert jr.read_comparisons(sources[-1]).frames == "pandas"


def test_lists_of_votes():
    four = [("ann", "a", "b", "left"), ("ann", "c", "b", "right")]
    expected = jr.Comparisons.from_arrays(["a", "c"], ["b", "b"], ["ann", "ann"], [1, 0])
    assert jr.read_comparisons(four).to_frame().equals(expected.to_frame())
    three = jr.read_comparisons([vote[1:] for vote in four])
    assert three.annotators.tolist() == ["unnamed"]
    two = jr.read_comparisons([("a", "b"), ("b", "c")])
    assert jr.BradleyTerry().fit(two).items_.tolist() == ["a", "b", "c"]
    assert not two.readings[0].sides


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (5, ParameterError, "votes is a int; expected"),
        (None, ParameterError, "votes is a NoneType; expected"),
        (pl.LazyFrame({"left": ["a"]}), ParameterError, "call collect"),
        ([("a", "b"), ("a",)], InputError, "row 2: a vote in the list is"),
        ([1, 2], InputError, "a vote in the list is 1"),
        ({"left": "abc"}, InputError, "the column 'left' is a str"),
        ({"left": ["a"], "right": ["b", "c"]}, InputError, "different length"),
        ([], ParameterError, "no files"),
        (pl.DataFrame({"q": [1]}), InputError, "the data frame: no known format"),
    ],
)
def test_what_cannot_be_votes_is_refused_in_one_line(given, error, message):
    with pytest.raises(error, match=message) as caught:
        jr.fit(given)
    assert "\n" not in str(caught.value)


def test_a_row_of_several_votes_is_named_by_its_own_number(tmp_path):
    def task(*items):
        made = [
            {"completed_by": who, "result": [{"type": "pairwise", "value": {"selected": "left"}}]} for who in "kl"
        ]
        return {"data": dict(zip(("image1", "image2"), items, strict=True)), "annotations": made}

    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task("a", "b"), task(1e-300, "b"), task("b", "c")]))
    with pytest.raises(InputError, match="row 2: image1 is 1e-300"):
        jr.read_comparisons(path)
    assert jr.read_comparisons(path, skip_bad_rows=True).n_votes == 4
