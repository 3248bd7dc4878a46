"""Files of other projects: what is in them, how they are told apart, and what becomes of damaged ones."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import jamrank as jr
from jamrank.cli.files import VotesRequest
from jamrank.errors import InputError, ParameterError
from jamrank.io.formats import FORMATS, Table, recognise
from jamrank.io.formats.base import soft_votes

pytest.importorskip("benchmarks", reason="benchmarks/ is found where tests run as `python -m pytest` in the checkout")

from benchmarks import fuzz, naive
from benchmarks.hostile import KINDS, files
from benchmarks.hostile.base import REFUSED, RIGHT, WRONG
from benchmarks.mangle import mangled
from benchmarks.samples import SAMPLES, write_records

NAMES = list(SAMPLES)


def save(tmp_path, data, name="votes.csv"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def refusal(path, **options):
    with pytest.raises(InputError) as caught:
        jr.read_comparisons(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def expected(sample):
    return {(*vote[:4], vote[5]): float(vote[4]) for vote in sample.votes}, sample.missing


def test_every_format_has_a_sample():
    assert {sample.format for sample in SAMPLES.values()} == set(FORMATS)
    assert set(naive.READERS) == set(FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_made_as_its_source_says_loads_without_an_option(tmp_path, name):
    sample = SAMPLES[name]
    for kind in sample.kinds:
        votes = jr.read_comparisons(save(tmp_path, sample.write(kind), f"votes.{kind}"))
        reading = votes.readings[0]
        assert reading.format == sample.format
        assert files.same(files.seen(votes), expected(sample)), kind
        assert sum(reading.set_aside.values()) == sample.set_aside
        assert {name: reading.outcomes.get(name) for name in sample.outcomes} == sample.outcomes
        assert reading.sides == sample.sides
        assert str(reading).startswith(f"{tmp_path}/votes.{kind}: ")


@pytest.mark.parametrize("name", NAMES)
def test_the_second_reader_of_the_fuzz_run_reads_the_samples_too(name):
    sample = SAMPLES[name]
    for kind in sample.kinds:
        assert files.same(naive.read(sample.format, naive.parse(sample.write(kind), f"v.{kind}")), expected(sample))


@pytest.mark.parametrize("name", NAMES)
def test_formats_may_be_named(tmp_path, name):
    sample = SAMPLES[name]
    path = save(tmp_path, sample.write("jsonl"), "votes")
    votes = jr.read_comparisons(path, format=sample.format)
    assert files.same(files.seen(votes), expected(sample))


@pytest.mark.parametrize("n_files", [20, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("format", list(FORMATS))
def test_damaged_files_end_in_one_line_or_in_the_right_votes(tmp_path, format, n_files):
    samples = [name for name in NAMES if SAMPLES[name].format == format]
    ends = Counter()
    for number in range(n_files):
        end, how = files.try_sample(samples[number % len(samples)], random.Random(number), tmp_path)
        assert end != WRONG, how
        ends[end] += 1
    assert min(ends[RIGHT], ends[REFUSED]) > n_files / 10


def test_the_fuzz_run_would_see_another_meaning(tmp_path, monkeypatch):
    from jamrank.io.formats import evalica

    monkeypatch.setitem(evalica._WORDS, "?", 2)  # an unknown winner taken for a tie
    data = b"left,right,winner\na,b,?\n"
    assert files.judge(SAMPLES["evalica"], data, tmp_path / "v.csv", False)[0] == WRONG
    monkeypatch.undo()
    assert files.judge(SAMPLES["evalica"], data, tmp_path / "v.csv", False)[0] == REFUSED
    monkeypatch.setattr(evalica, "_WORDS", None)
    end, how = files.judge(SAMPLES["evalica"], data, tmp_path / "v.csv", False)
    assert end == WRONG and "TypeError" in how


def test_mangled_files_are_the_same_for_the_same_seed():
    sample = SAMPLES["tl;dr"]
    assert mangled(sample, random.Random(3)) == mangled(sample, random.Random(3))


@pytest.mark.parametrize("kind", list(KINDS))
def test_hostile_cases_of_every_kind_in_small(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("JAMRANK_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "case"
    folder.mkdir()
    costly = kind in ("model files", "renamed items and annotators", "commands", "scratch files", "bombs")
    for number in range(3 if costly else 30):
        end, how = KINDS[kind][1](random.Random(number), folder)
        assert end != WRONG, how


@pytest.mark.long
def test_the_fuzz_run_tries_cases_in_a_process_of_their_own():
    ends = fuzz.Ends()
    assert list(fuzz.run(5, 60, ends)) == [60]
    assert ends.counts.total() == 60 and not ends.failures


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def test_compressed_files(tmp_path):
    data = SAMPLES["crowd-kit"].write("csv")
    for packed, name in ((gzip.compress(data), "v.csv.gz"), (zstd(data), "v.csv.zst"), (zstd(data), "v")):
        assert jr.read_comparisons(save(tmp_path, packed, name)).n_votes == 3
    assert "zstd file is damaged" in refusal(save(tmp_path, zstd(data)[:-5], "v.csv.zst"))
    assert "gzip file is damaged" in refusal(save(tmp_path, gzip.compress(data)[:-5], "v.csv.gz"))


def test_zstd_that_nothing_reads(tmp_path, monkeypatch):
    from jamrank.io import compression

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(compression, "import_module", missing)
    assert "jamrank[zstd]" in refusal(save(tmp_path, zstd(b"a"), "v.csv.zst"))


def test_both_bad_abstained_and_missing_are_told_apart(tmp_path):
    words = ["left", "tie", "both_bad", "abstain", ""]
    rows = "".join(f"a,{k},x,{word}\n" for k, word in enumerate(words))
    path = save(tmp_path, "annotator,left,right,winner\n" + rows)
    votes = jr.read_comparisons(path)
    assert (votes.n_votes, votes.n_ties, votes.n_missing) == (3, 2, 2)
    assert votes.readings[0].outcomes == {"both bad": 1, "abstained": 1, "no answer": 1}
    assert "1 both bad (counts as a tie), 1 abstained (no vote), 1 no answer (no vote)" in str(votes.readings[0])
    frame = pl.read_csv(path)
    assert jr.Comparisons.from_frame(frame.to_pandas()).n_ties == 2


def test_a_plain_file_goes_without_saying(tmp_path):
    votes = jr.read_comparisons(save(tmp_path, "annotator,left,right,winner\na,1,2,left\na,2,3,\n"))
    assert votes.readings[0].plain and votes.n_missing == 1


def test_who_won_is_not_which_side(tmp_path):
    rows = [("j", f"e{k % 7 + 1}", f"e{(k + 1 + k // 7) % 7 + 1}") for k in range(21)]
    rows = [row for row in rows if row[1] != row[2]]
    text = "judge,candidate_chosen,candidate_not_chosen\n" + "".join(",".join(row) + "\n" for row in rows)
    votes = jr.read_comparisons(save(tmp_path, text))
    assert not votes.readings[0].sides
    assert set(votes.to_frame()["winner"]) == {"left", "right"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("worker,left,right,label\nw,a,b,c\n", "row 1: label is 'c'; expected the id of one of the two items"),
        ("worker,left,right,label\nw,left,right,left\nw,right,left,left\n", "an outcome and the name of an item"),
        ("model_a,model_b,winner\nx,y,model_c\n", "winner is 'model_c'"),
        ("model_a,model_b,winner,annotator,user\nx,y,model_a,1,2\n", "'annotator' or 'user'"),
        ("id,model_a,model_b,winner_model_a,winner_model_b,winner_tie\n1,x,y,1,1,0\n", "row 1: winner_model_a 1"),
        ("generator_1,generator_2,preference\na,b,0.5\n", "from 1 to 2"),
        ("judge,item_a,item_b,p_a\nj,a,b,1.5\n", "p_a is '1.5'; expected a number from 0 to 1"),
        ("left,right,ann,bob\na,b,1,left\n", "numbers where others have words"),
        ("left,right,ann,bob\n0,1,1,0\n", "items and votes are both called 0 and 1"),
        ("annotator,item,rating\na,x,1\na,y,\n", "no two ratings to compare"),
        ("left,right,winner,label,worker\na,b,left,a,w\n", "--format crowd-kit) or evalica (--format evalica)"),
        ("chosen,rejected\na,a\n", "compared with itself"),
    ],
)
def test_doubts_are_errors(tmp_path, text, hint):
    assert hint in refusal(save(tmp_path, text))


def test_unknown_columns_get_the_closest_format_and_a_way_out(tmp_path):
    path = save(tmp_path, "Model A,Model B,Winner,judge\nx,y,a,j\n")
    told = refusal(path)
    assert "closest is Chatbot Arena" in told and "'model_a'" in told and "annotator=judge" in told
    votes = jr.read_comparisons(path, mapping={"left": "Model A", "right": "Model B", "winner": "Winner"})
    assert votes.to_frame()["winner"].to_list() == ["left"]
    assert "nor any like them" in refusal(save(tmp_path, "a,b\n1,2\n"))
    assert "the columns are those of ratings, the values are not" in refusal(
        save(tmp_path, "item,rating\nx,1\ny,2\n")
    )


def test_two_columns_of_items_and_a_choice_are_named_in_the_hint(tmp_path):
    told = refusal(save(tmp_path, "judge,itemA,itemB,choice\nj,x,y,x\n"))
    assert "--map left=itemA,right=itemB,winner=choice,annotator=judge" in told and "closest" not in told
    mapping = {"left": "itemA", "right": "itemB", "winner": "choice", "annotator": "judge"}
    assert jr.read_comparisons(tmp_path / "votes.csv", mapping=mapping).n_votes == 1


@pytest.mark.parametrize(
    "header", ["annotator,left,right,winner", "chosen,rejected", "model_a,model_b,winner,judge", "left,right,winner"]
)
@pytest.mark.parametrize("n_rows", [1, 3000])
def test_a_header_in_the_middle_is_refused_with_its_row(tmp_path, header, n_rows):
    row = {"annotator": "j", "judge": "j", "left": "x", "right": "y", "winner": "tie", "chosen": "x", "rejected": "y"}
    row |= {"model_a": "x", "model_b": "y"}
    part = header + "\n" + (",".join(row[name] for name in header.split(",")) + "\n") * n_rows
    path = save(tmp_path, part + part)
    assert f"row {n_rows + 1}: the header is repeated here" in refusal(path)
    assert jr.read_comparisons(path, skip_bad_rows=True).n_votes == 2 * n_rows


def test_spaces_after_commas_are_named(tmp_path):
    told = refusal(save(tmp_path, "annotator, left, right, winner\nj, x, y, left\nj, y, z, Right\n"))
    assert "row 1: winner is ' left'" in told and "remove the spaces around it" in told and "--winner" not in told
    votes = jr.read_comparisons(save(tmp_path, "annotator, left,right, winner\nj,x,y,left\n"))
    assert votes.readings[0].notes[-1] == "spaces around the column names were ignored"


def test_a_named_format_says_what_it_lacks(tmp_path):
    path = save(tmp_path, "left,right,winner\na,b,left\n")
    assert "Chatbot Arena needs the column 'model_a'" in refusal(path, format="chatbot-arena")


def test_mapping(tmp_path):
    path = save(tmp_path, "x,y,who,best,p,w,q\nA,B,1,A,0.25,2,k\nB,C,2,x,1,1,k\nC,A,2,tie,0.5,1,l\n")
    columns = {"left": "x", "right": "y", "annotator": "who", "weight": "w", "question": "q"}
    votes = jr.read_comparisons(path, mapping={**columns, "winner": "best"})
    assert votes.to_frame()["winner"].to_list() == ["left", "tie", "left"]
    assert votes.annotators.tolist() == [1, 2] and votes.questions.tolist() == ["k", "l"]
    soft = jr.read_comparisons(path, mapping={**columns, "p_left": "p"})
    assert sorted(soft.vote_weight) == [0.5, 1, 1, 1.5] and soft.n_votes == 3
    assert sorted(soft.to_frame()["p_left"].to_list(), key=str) == [0.25, None, None]
    won = jr.read_comparisons(path, mapping={"chosen": "x", "rejected": "y"})
    assert won.annotators.tolist() == ["unnamed"] and not won.readings[0].sides
    assert "no such column" in refusal(path, mapping={**columns, "winner": "nope"})
    path = save(tmp_path, "x,y,best\na,b,1\n")
    assert "p_left" in refusal(path, mapping={"left": "x", "right": "y", "winner": "best"})


def test_mapping_looks_into_records(tmp_path):
    records = [
        {"pair": [{"name": "a"}, {"name": "b"}], "said": {"best": "b"}},
        {"pair": [{"name": "b"}], "said": None},
    ]
    mapping = {"left": "pair.0.name", "right": "pair.1.name", "winner": "said.best"}
    path = save(tmp_path, json.dumps(records[:1]), "v.json")
    assert jr.read_comparisons(path, mapping=mapping).to_frame()["winner"].to_list() == ["right"]
    assert "row 2: pair.1.name is missing" in refusal(save(tmp_path, json.dumps(records), "v.json"), mapping=mapping)


@pytest.mark.parametrize(
    "mapping",
    [{}, {"left": "a", "right": "b", "winner": "c", "p_left": "d"}, {"lft": "a"}, {"chosen": "a", "left": "b"}],
)
def test_mappings_that_say_too_little_or_too_much(tmp_path, mapping):
    with pytest.raises(ParameterError):
        jr.read_comparisons(tmp_path / "none.csv", mapping=mapping)


def test_format_and_mapping_exclude_each_other(tmp_path):
    with pytest.raises(ParameterError, match="exclude each other"):
        jr.read_comparisons("v.csv", format="evalica", mapping={"chosen": "a", "rejected": "b"})


def test_part_of_a_mapping_goes_with_a_form_that_is_recognised(tmp_path):
    path = save(tmp_path, "worker,user,left,right,label,key,many\nw,u,a,b,a,k1,2\nw,u,b,c,c,k2,1\n")
    votes = jr.read_comparisons(path, mapping={"question": "key", "annotator": "user", "weight": "many"})
    assert votes.readings[0].format == "crowd-kit"
    assert votes.questions.tolist() == ["k1", "k2"] and votes.annotators.tolist() == ["u"]
    assert votes.vote_weight.tolist() == [2, 1]
    assert "questions are 'key'" in str(votes.readings[0])
    assert jr.read_comparisons(path, format="crowd-kit", mapping={"question": "key"}).questions.tolist() == [
        "k1",
        "k2",
    ]
    for mapping, told in [({"question": "nope"}, "no such column among"), ({"left": "nope"}, "no such column")]:
        assert told in refusal(path, mapping=mapping)
    # The other columns are those that are called so.
    path = save(tmp_path, "judge,left,right,winner,other\nj,a,b,left,c\nj,b,c,right,a\n")
    votes = jr.read_comparisons(path, mapping={"right": "other"})
    assert votes.items.tolist() == ["a", "b", "c"] and votes.annotators.tolist() == ["j"]
    assert sorted(votes.to_frame().select("left", "right").rows()) == [("a", "c"), ("b", "a")]
    path = save(tmp_path, "first,second\na,b\n")
    assert "mapping has left; expected left, right and winner" in refusal(path, mapping={"left": "first"})
    # A form that has its own way to say it does not look into the column.
    path = save(tmp_path, write_records(SAMPLES["mt-bench"].records, "jsonl"), "v.jsonl")
    told = refusal(path, mapping={"question": "judge"})
    assert "--map question=…: MT-Bench judgements has its own column for it" in told


def test_mapping_takes_several_columns_for_one_id(tmp_path):
    path = save(tmp_path, "scene,x,y,best\ncar,1,2,1\ndog,1,2,2\n")
    mapping = {"left": "scene+x", "right": "scene+y", "winner": "best"}
    votes = jr.read_comparisons(path, mapping=mapping, winner_words={1: "left", "2": "Right"})
    assert votes.items.tolist() == ["car 1", "car 2", "dog 1", "dog 2"]
    assert votes.to_frame()["winner"].to_list() == ["left", "right"]
    path = save(tmp_path, "a+b,c,best\nx,y,x\n")
    assert jr.read_comparisons(path, mapping={"left": "a+b", "right": "c", "winner": "best"}).items.tolist() == [
        "x",
        "y",
    ]


def test_words_of_the_users_own(tmp_path):
    path = save(tmp_path, "arg1,arg2,worker,label\nx,y,1,a1\ny,z,1,a2\nx,z,2,equal\nx,z,3,bad\nx,z,4,?\n")
    mapping = {"left": "arg1", "right": "arg2", "annotator": "worker", "winner": "label"}
    assert "--winner a1=SIDE" in refusal(path, mapping=mapping)
    words = {"a1": "left", "a2": "right", "equal": "tie", "bad": "both_bad", "?": "abstain"}
    votes = jr.read_comparisons(path, mapping=mapping, winner_words=words)
    assert sorted(votes.to_frame()["winner"]) == ["left", "right", "tie", "tie"] and votes.n_missing == 1
    # In every form that has words, the own one too; and before ids, since somebody said so.
    for header in ("annotator,left,right,winner", "worker,left,right,label", "judge,model_a,model_b,winner"):
        path = save(tmp_path, f"{header}\nk,2,1,1\nk,1,2,2\n")
        votes = jr.read_comparisons(path, winner_words={"1": "left", "2": "right"})
        assert sorted(votes.to_frame().select("left", "winner").rows()) == [(1, "right"), (2, "left")], header
    soft = save(tmp_path, "judge,item_a,item_b,p_a\nj,a,b,1\n")
    assert "has no words for the winner" in refusal(soft, winner_words={"1": "left"})
    for wrong in ({"a1": "links"}, {"": "left"}):
        with pytest.raises(ParameterError, match="a word stands for one of left"):
            jr.read_comparisons(soft, winner_words=wrong)


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("annotator,left,right,winner,prompt\nk,a,b,left,1\nk,b,c,left,1\nk,a,c,left,2\n", [1, 2]),
        ("left,right,winner,Prompt_ID\na,b,left,x\nb,c,left,x\n", ["x"]),
        ("worker,left,right,label,TOPIC\nw,a,b,a,t\nw,b,c,b,t\nw,b,c,b,\n", ["", "t"]),
        ("judge,candidate_chosen,candidate_not_chosen,instruction\nj,a,b,i\nj,b,c,i\n", ["i"]),
        ("judge,item_a,item_b,p_a,prompt\nj,a,b,1,i\nj,b,c,1,i\n", ["i"]),
        # The finest of several, unless each vote has one of its own.
        ("left,right,winner,topic,prompt\na,b,left,t,p\nb,c,left,t,p\n", ["p"]),
        ("left,right,winner,topic,prompt\na,b,left,t,p\nb,c,left,t,q\n", ["t"]),
        ("left,right,winner,prompt\na,b,left,p\nb,c,left,q\n", [""]),
        # A question that is called so needs no repetition.
        ("left,right,winner,question,prompt\na,b,left,p,x\nb,c,left,q,x\n", ["p", "q"]),
    ],
)
def test_questions_are_found_by_the_names_of_columns(tmp_path, text, questions):
    votes = jr.read_comparisons(save(tmp_path, text))
    assert votes.questions.tolist() == questions
    said = "questions are" in str(votes.readings[0])
    assert said == (votes.readings[0].asked_in is not None) == (questions not in ([""], ["p", "q"]))


def test_parts_of_a_file_have_the_questions_of_the_whole(tmp_path):
    rows = ["k,a,b,left,p1,x", "k,b,c,left,p1,y", "k,a,c,left,p2,x", "k,a,c,left,p2,y"]
    for header in ("annotator,left,right,winner,prompt,lang", "worker,left,right,winner,prompt,lang"):
        path = save(tmp_path, "\n".join([header, *rows, ""]))
        _, groups = jr.read_groups(path, "lang")
        assert {name: votes.questions.tolist() for name, votes in groups.items()} == {
            name: ["p1", "p2"] for name in "xy"
        }
        _, groups = jr.read_groups(path, "prompt")
        assert {name: votes.n_votes for name, votes in groups.items()} == {"p1": 2, "p2": 2}


@pytest.mark.parametrize("header", ["annotator,left,right,winner", "worker,left,right,winner"])
def test_winners_by_name_and_in_capitals(tmp_path, header):
    def said(*rows):
        votes = jr.read_comparisons(save(tmp_path, "\n".join([header, *rows, ""])))
        return votes.to_frame()["winner"].to_list(), "named by their ids" in str(votes.readings[0])

    assert said("k,a,b,b", "k,b,c,b", "k,c,d,tie") == (["right", "left", "tie"], True)
    assert said("k,1,2,2", "k,2,3,2") == (["right", "left"], True)
    assert said("k,a,b,Left", "k,b,c,RIGHT", "k,c,d,Tie") == (["left", "right", "tie"], False)
    # Words go first where all are words; what could be both is refused.
    assert said("k,left,right,right", "k,right,left,right") == (["right", "right"], False)
    path = save(tmp_path, f"{header}\nk,left,a,right\nk,a,right,right\nk,left,a,a\n")
    assert "row 1: winner is 'right', which is an outcome and the name of an item" in refusal(path)
    assert "row 1: winner is 'Left'" in refusal(save(tmp_path, f"{header}\nk,a,b,Left\nk,left,b,b\n"))
    assert "row 1: winner is 'c'" in refusal(save(tmp_path, f"{header}\nk,a,b,c\nk,b,c,c\n"))


def test_numbers_of_items_win_in_parquet_too(tmp_path):
    frame = pl.DataFrame({"annotator": ["k", "k"], "left": [1, 2], "right": [2, 3], "winner": [2, 2]})
    frame.write_parquet(tmp_path / "v.parquet")
    assert jr.read_comparisons(tmp_path / "v.parquet").to_frame()["winner"].to_list() == ["right", "left"]


def test_files_without_annotators_are_told_apart(tmp_path):
    row = "left,right,winner\na,b,left\n"
    (tmp_path / "sub").mkdir()
    paths = [save(tmp_path, row, name) for name in ("gpt-3.5.csv", "gpt4.csv.gz", "sub/gpt4.csv")]
    paths[1].write_bytes(gzip.compress(row.encode()))
    assert jr.read_comparisons(paths[0]).annotators.tolist() == ["unnamed"]
    votes = jr.read_comparisons(paths[:2])
    assert votes.annotators.tolist() == ["gpt-3.5", "gpt4"]
    assert "those of one annotator, named 'gpt4' after the file" in str(votes.readings[1])
    assert jr.read_comparisons(paths).annotators.tolist() == sorted(["gpt-3.5", str(paths[1]), str(paths[2])])
    named = save(tmp_path, "annotator,left,right,winner\nann,a,b,left\n", "named.csv")
    _, groups = jr.read_groups([paths[0], named], "annotator")
    assert sorted(groups) == ["ann", "gpt-3.5"]


def test_a_file_given_twice_is_refused(tmp_path):
    path = save(tmp_path, "left,right,winner\na,b,left\n")
    for again in (path, tmp_path / "." / "votes.csv"):
        with pytest.raises(ParameterError, match="is given twice"):
            jr.read_comparisons([path, str(again)])


def test_several_files_of_different_forms(tmp_path):
    one = save(tmp_path, "annotator,left,right,winner\n1,a,b,left\n", "one.csv")
    two = save(tmp_path, write_records(SAMPLES["arena, battles"].records, "jsonl"), "two.jsonl")
    three = save(tmp_path, "worker,left,right,label,weight\nw,a,gpt-4,a,2\n", "three.csv")
    votes = jr.read_comparisons([one, two, three])
    assert votes.n_votes == 6 and votes.vote_weight.sum() == 7
    assert [reading.format for reading in votes.readings] == ["canonical", "chatbot-arena", "crowd-kit"]
    assert "1" in votes.annotators.tolist() and "" in votes.questions.tolist()
    assert jr.read_comparisons([one]).annotators.tolist() == [1]
    bad = save(tmp_path, "annotator,left,right,winner\n1,a,b,left\n1,a,b,first\n", "bad.csv")
    assert f"{bad}, row 2: winner is 'first'" in refusal([one, bad])
    with pytest.raises(ParameterError, match="no files"):
        jr.read_comparisons([])


def test_rows_of_several_files_say_the_same_as_one(tmp_path):
    text = "annotator,left,right,winner\n" + "".join(f"{k % 3},{k},{k + 1},left\n" for k in range(9))
    whole = jr.read_comparisons(save(tmp_path, text, "whole.csv"))
    lines = text.splitlines(keepends=True)
    parts = [save(tmp_path, "".join([lines[0], *lines[k : k + 3]]), f"{k}.csv") for k in (1, 4, 7)]
    assert jr.read_comparisons(parts).to_frame().equals(whole.to_frame())


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[]", "empty"),
        ("null", "not JSON|holds None"),
        ('[{"a": 1}, 2]', "row 2: a record is 2"),
        ('{"a": 1}\n2\n', "line 2"),
        ('{"a": 1}\n{"a": \n', "line 2"),
        ('[{"a": 1, "a": 2}]', "the field 'a' twice"),
        ('[{"a": Infinity}]', "Infinity"),
        ("[" * 100_000, "nested too deeply|not JSON"),
        ('[{"left": 1' + "0" * 5000 + "}]", "thousands of digits"),
        ("left,right\n", "not JSON"),
    ],
)
def test_json_that_is_none(tmp_path, text, hint):
    assert re.search(hint, refusal(save(tmp_path, text, "v.json")))


def test_tables_as_pandas_writes_them(tmp_path):
    frame = pl.DataFrame(SAMPLES["evalica"].records).to_pandas()
    for orient in ("columns", "records"):
        path = save(tmp_path, frame.to_json(orient=orient), f"{orient}.json")
        assert jr.read_comparisons(path).n_votes == 3
    path = save(tmp_path, json.dumps({name: frame[name].tolist() for name in frame}), "lists.json")
    assert jr.read_comparisons(path).n_votes == 3


def test_a_damaged_parquet_file_says_one_line(tmp_path, capfd, monkeypatch):
    def panics(*given, **more):
        os.write(2, b"thread panicked\n")
        raise pl.exceptions.PanicException("out of bounds")

    def warns(*given, **more):
        os.write(2, b"deprecated\n")
        return pl.DataFrame(SAMPLES["evalica"].records)

    path = save(tmp_path, SAMPLES["evalica"].write("parquet"), "v.parquet")
    monkeypatch.setattr(pl, "read_parquet", panics)
    assert "damaged" in refusal(path)
    with pytest.raises(InputError):
        VotesRequest((str(path),)).read()
    assert capfd.readouterr().err == "thread panicked\n"  # of the library alone: the command line holds it back
    monkeypatch.setattr(pl, "read_parquet", warns)
    assert VotesRequest((str(path),)).read().n_votes == 3
    assert capfd.readouterr().err == "deprecated\n"


def test_ids_of_numbers_and_text(tmp_path):
    records = [{"left": 1, "right": 2.0, "winner": "left"}, {"left": 2, "right": None, "winner": "left"}]
    assert "right is missing" in refusal(save(tmp_path, json.dumps(records), "v.json"))
    records[1]["right"] = 3
    assert jr.read_comparisons(save(tmp_path, json.dumps(records), "v.json")).items.tolist() == [1, 2, 3]
    records[1]["left"] = "1"
    assert jr.read_comparisons(save(tmp_path, json.dumps(records), "v.json")).items.tolist() == ["1", "2", "3"]


def test_soft_votes():
    said, p_left = soft_votes(pl.Series([0.25, 0.5, 1.0, None]).to_numpy())
    assert said.tolist() == [1, 2, 0, 6]
    assert p_left[0] == 0.25 and all(p != p for p in p_left[1:])


def test_recognition_does_not_depend_on_the_order_of_columns():
    for sample in SAMPLES.values():
        records = [dict(reversed(record.items())) for record in sample.records]
        assert recognise(Table(records)).name == sample.format


PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
EXAMPLE = re.compile(r"### `(?P<format>[^`]+)`\n(?P<told>.*?)```(?P<kind>csv|jsonl?)\n(?P<content>.*?)```", re.DOTALL)


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")
def test_the_examples_of_the_page_are_of_the_format_that_it_says(tmp_path):
    shown = {example["format"]: example for example in EXAMPLE.finditer(PAGE.read_text())}
    assert set(shown) == set(FORMATS)
    for format, example in shown.items():
        path = save(tmp_path, example["content"], f"{format}.{example['kind']}")
        assert jr.read_comparisons(path).readings[0].format == format


def test_what_is_quoted_from_a_file_stays_on_one_line(tmp_path):
    record = json.loads(json.dumps(SAMPLES["argilla 1, records"].records[0]))
    record["responses"][0]["status"] = "a\nb"
    assert r"status 'a\nb'" in refusal(save(tmp_path, json.dumps([record]), "v.json"))
    assert "\n" not in str(InputError("one\ntwo", "three\u2028four"))


def test_what_the_fuzz_run_found(tmp_path):
    assert "the file is empty" in refusal(save(tmp_path, b"\xef\xbb\xbf"))
    pairs = SAMPLES["mt-bench, pairs"].records[:2]
    path = save(tmp_path, json.dumps([{**pair, "model_1": number} for number, pair in enumerate(pairs)]), "v.json")
    assert jr.read_comparisons(path).items.tolist() == ["0", "1", "claude", "gpt-4"]
    records = [{**record, "left": ""} for record in SAMPLES["canonical"].records]
    path = save(tmp_path, write_records(SAMPLES["canonical"].records[:2] + records, "parquet"), "v.parquet")
    assert "row 3: left is missing" in refusal(path)
    assert f"{path}, row 3: left is missing" in refusal([save(tmp_path, "left,right,winner\na,b,left\n"), path])


def test_a_misspelt_column_of_annotators_is_pointed_out(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("annotatr,left,right,winner\na,x,y,left\nb,y,z,left\n")
    (reading,) = jr.read_comparisons(path).readings
    assert "if 'annotatr' has them, --map annotator=annotatr" in str(reading)


@pytest.mark.parametrize(
    ("text", "winners"),
    [
        ("Left,Right,Winner,Rater\na,b,Left,x\nb,c,draw,y\n", [1.0, 0.5]),
        ("model_a,model_b,winner,judge\na,b,A>>B,j\nb,c,[[B]],j\na,c,A=B,k\n", [1.0, 0.0, 0.5]),
        ("model_a,model_b,winner\na,b,a\nb,c,c\na,c,bothbad\n", [1.0, 0.0, 0.5]),
        ("annotator,left,right,winner\nj,a,b,draw\nj,b,c,left\n", [0.5, 1.0]),
    ],
)
def test_common_words_and_headers_are_understood(tmp_path, text, winners):
    path = tmp_path / "votes.csv"
    path.write_text(text)
    votes = jr.read_comparisons(path)
    said = {
        (votes.items[votes.pair_first[p]], votes.items[votes.pair_second[p]]): r
        for p, r in zip(votes.vote_pair, votes.vote_result, strict=True)
    }
    pairs = [
        tuple(line.split(",")[:2]) if "annotator" not in text else tuple(line.split(",")[1:3])
        for line in text.splitlines()[1:]
    ]
    assert [{1: 1.0, 0: 0.0, 2: 0.5}[said[pair]] for pair in pairs] == winners


@pytest.mark.parametrize(
    ("words", "grades"),
    [
        (["A>>B", "B>A", "A=B", "[[B>>A]]"], [2, 1, None, 2]),
        (["A is much better", "B is slightly better", "about the same", "b better"], [3, 1, None, 2]),
        (["A>B", "B>A", "A=B", "B>A"], [None] * 4),
    ],
)
def test_graded_verdicts_are_kept(tmp_path, words, grades):
    rows = "".join(f"{left},{right},{word},j\n" for left, right, word in zip("abcd", "xyzw", words, strict=True))
    votes = jr.read_comparisons(save(tmp_path, "model_a,model_b,winner,judge\n" + rows))
    frame = votes.to_frame()
    assert frame["winner"].to_list() == ["left", "right", "tie", "right"]
    assert (frame["grade"].to_list() if "grade" in frame.columns else [None] * 4) == grades
    assert any("graded votes" in note for note in votes.readings[0].notes) == (grades != [None] * 4)


def test_margins_and_two_scores_are_graded_votes(tmp_path):
    path = save(tmp_path, "l,r,m,s,t\na,b,3,9,2\na,c,-1,4,5\nb,c,0,5,5\nc,d,,,\nd,a,2,7,4\n")
    sides = {"left": "l", "right": "r"}
    for mapping in ({**sides, "margin": "m"}, {**sides, "left_score": "s", "right_score": "t"}):
        votes = jr.read_comparisons(path, mapping=mapping)
        frame = votes.to_frame()
        assert votes.n_missing == 1 and votes.n_ties == 1
        assert dict(zip(frame["left"] + frame["right"], frame["winner"], strict=True)) == {
            "ab": "left",
            "ac": "right",
            "bc": "tie",
            "da": "left",
        }
        assert dict(zip(frame["left"] + frame["right"], frame["grade"], strict=True)) == {
            "ab": 3,
            "ac": 1,
            "bc": None,
            "da": 2,
        }
    many = "l,r,s,t\n" + "".join(f"a,b,{k / 7},{0}\n" for k in range(1, 31))
    votes = jr.read_comparisons(save(tmp_path, many), mapping={**sides, "left_score": "s", "right_score": "t"})
    assert votes.vote_weight.tolist() == [10.0, 10.0, 10.0] and votes.vote_grade.tolist() == [1, 2, 3]


def test_capitals_of_column_names_do_not_matter_to_groups_and_to_a_named_format(tmp_path):
    path = save(tmp_path, "annotator,left,Right,winner,lang\nk,a,b,left,en\nk,b,c,left,en\nl,a,c,right,de\n")
    _, groups = jr.read_groups(path, "lang")
    assert {name: votes.n_votes for name, votes in groups.items()} == {"de": 1, "en": 2}
    assert jr.read_comparisons(path, format="canonical").n_votes == 3
    with pytest.raises(InputError, match="jamrank's own form needs the column 'winner'"):
        jr.read_comparisons(save(tmp_path, "annotator,left,right\nk,a,b\n"), format="canonical")


def test_words_of_the_winner_may_be_half_a_character(tmp_path):
    path = save(tmp_path, "left,right,winner\na,b,left\nb,c,x\n")
    assert jr.read_comparisons(path, winner_words={"\udcff": "left", "x": "right", "left": "left"}).n_votes == 2


def test_a_column_called_question_counts_whatever_the_others_are_called(tmp_path):
    text = "home,away,result,question\nCity,Town,home,q1\nTown,City,draw,q2\n"
    assert jr.read_comparisons(save(tmp_path, text)).questions.tolist() == ["q1", "q2"]


@pytest.mark.parametrize(
    "header",
    ["home,away,home_goals,away_goals", "model_a,model_b,score_a,score_b", "player1,player2,score1,score2"],
)
def test_scores_of_both_sides_say_who_won_and_how_clearly(tmp_path, header):
    votes = jr.read_comparisons(save(tmp_path, f"{header}\nCity,Town,3,1\nTown,City,0,0\nRovers,City,0,1\n"))
    frame = votes.to_frame().sort("left", "right")
    assert frame.select("left", "right", "winner").rows() == [
        ("City", "Town", "left"),
        ("Rovers", "City", "right"),
        ("Town", "City", "tie"),
    ]
    assert votes.n_votes == 3


@pytest.mark.parametrize("name", ["v.csv", "v.jsonl"])
@pytest.mark.parametrize("who", ["annotator", "judge", None])
def test_p_left_in_place_of_the_winner_is_read_as_soft_votes(tmp_path, name, who):
    records = [{who: "k", "left": a, "right": b, "p_left": p} for a, b, p in (("x", "y", 0.75), ("y", "z", 0.25))]
    records = [{key: value for key, value in record.items() if key} for record in records]
    frame = pl.DataFrame(records)
    text = frame.write_csv() if name == "v.csv" else frame.write_ndjson()
    votes = jr.read_comparisons(save(tmp_path, text, name))
    assert votes.annotators.tolist() == ["k" if who else "unnamed"]
    assert votes.to_frame().sort("left").select("left", "right", "winner", "p_left").rows() == [
        ("x", "y", "left", 0.75),
        ("y", "z", "right", 0.25),
    ]


def test_p_left_beside_columns_of_votes_is_no_annotator(tmp_path):
    votes = jr.read_comparisons(save(tmp_path, "left,right,p_left,gpt\nx,y,1,1\ny,z,0,0\n"))
    assert votes.annotators.tolist() == ["unnamed"] and votes.n_votes == 2
    assert "p_left is '70'; expected a number from 0 to 1" in refusal(save(tmp_path, "left,right,p_left\nx,y,70\n"))


@pytest.mark.parametrize("header", ["home,away,result", "Home,Away,FTR", "HomeTeam,AwayTeam,FTR"])
@pytest.mark.parametrize("words", ["HAD", "had"])
def test_h_a_and_d_are_home_win_away_win_and_draw(tmp_path, header, words):
    rows = [("x", "y", "left"), ("y", "z", "right"), ("z", "x", "tie")]
    text = "".join(f"{left},{right},{word}\n" for (left, right, _), word in zip(rows, words, strict=True))
    votes = jr.read_comparisons(save(tmp_path, f"{header}\n{text}"))
    assert votes.to_frame().select("left", "right", "winner").sort("left").rows() == rows
    swapped = dict(zip(("right", "left", "winner"), header.split(","), strict=True))
    votes = jr.read_comparisons(save(tmp_path, f"{header}\n{text}"), mapping=swapped)
    assert set(votes.to_frame().select("left", "winner").rows()) == {("y", "right"), ("z", "left"), ("x", "tie")}


def test_a_is_not_the_first_item_beside_h(tmp_path):
    path = save(tmp_path, "home,away,result\nx,y,A\ny,z,H\n")
    assert jr.read_comparisons(path, winner_words={"H": "left"}).to_frame()["winner"].to_list() == ["right", "left"]
    path = save(tmp_path, "first,second,result\nx,y,A\ny,z,H\nz,x,D\n")
    assert "result is 'A'" in refusal(path, winner_words={"H": "left", "D": "tie"})
    path = save(tmp_path, "home,away,result\nA,y,A\ny,z,H\n")
    assert "an outcome and the name of an item" in refusal(path)
    path = save(tmp_path, "home,away,result\nA,B,A\nB,C,C\nD,C,D\n")  # ids, of which none is an H
    assert jr.read_comparisons(path).to_frame().sort("left")["winner"].to_list() == ["left", "right", "left"]
    path = save(tmp_path, "home,away,result\nx,y,A\ny,z,B\n")
    assert jr.read_comparisons(path).to_frame()["winner"].to_list() == ["left", "right"]


def test_an_error_does_not_call_different_unknown_words_the_same(tmp_path):
    told = refusal(save(tmp_path, "first,second,result\nx,y,P\ny,z,Q\nz,x,P\nx,z,R\nx,z,second\n"))
    assert "row 1: result is 'P'; unknown result in 3 more rows: 2, 3, 4;" in told
    assert "define words with --winner P=SIDE,Q=SIDE,R=SIDE:" in told
    told = refusal(save(tmp_path, "left,right,winner\n,y,left\n,z,left\n"))
    assert "left is missing; the same in row 2;" in told


def test_two_columns_of_which_either_could_be_the_score_are_not_guessed(tmp_path):
    with pytest.raises(InputError, match="left_score=…"):
        jr.read_comparisons(save(tmp_path, "home,away,home_goals,away_goals,home_points,away_points\na,b,1,0,3,0\n"))


def test_annotators_are_found_though_only_their_column_has_capitals(tmp_path):
    votes = jr.read_comparisons(save(tmp_path, "Annotator,left,right,winner\nk,a,b,left\nm,b,c,right\n"))
    assert votes.annotators.tolist() == ["k", "m"]


_BATTLE = {"model_a": "a", "model_b": "b", "winner": "model_a", "judge": "ann"}


@pytest.mark.parametrize(
    ("rows", "questions", "note"),
    [
        ([{"prompt": "p1"}, {"prompt": "p1"}, {"prompt": "p2"}], ["p1", "p2"], "questions are 'prompt'"),
        ([{"prompt": "p1"}, {"prompt": "p2"}, {"prompt": "p3"}], ["p1", "p2", "p3"], "questions are 'prompt'"),
        ([{"topic": "t", "Instruction": "i" * 9_999}, {"topic": "t", "Instruction": "j"}], ["i" * 9_999, "j"], ""),
        (
            [{"question_id": n, "prompt": "p" * (n // 2 + 1)} for n in range(4)],
            ["p", "pp"],
            "questions are 'prompt', as 'question_id' differs in every row",
        ),
        ([{"question_id": f"q{n}", "prompt": f"p{n}"} for n in range(3)], ["q0", "q1", "q2"], ""),
        ([{"question_id": f"q{n}", "topic": "t"} for n in range(3)], ["q0", "q1", "q2"], ""),
        ([{"question_id": f"q{n // 2}", "prompt": "p"} for n in range(4)], ["q0", "q1"], ""),
        ([{"id": 1, "prompt": ["p"]}, {"id": 2, "prompt": ["p"]}], [1, 2], "its values are no ids"),
    ],
)
def test_what_was_asked_is_the_question_of_a_battle(rows, questions, note):
    votes = jr.read_comparisons([{**_BATTLE, **row} for row in rows])
    assert votes.questions.tolist() == questions
    assert note in str(votes.readings[0])
    assert note or "question" not in str(votes.readings[0]) or questions[0].startswith("i")


def test_a_column_that_is_not_used_as_the_question_is_named():
    own = {"annotator": "ann", "left": "a", "right": "b", "winner": "left"}
    votes = jr.read_comparisons([{**own, "prompt": f"p{n}"} for n in range(3)])
    assert not votes.has_questions
    assert "'prompt' is not used as the question: it differs in every row" in str(votes.readings[0])
    mapped = [{"one": "a", "two": "b", "best": "one", "prompt": f"p{n // 2}"} for n in range(4)]
    roles = {"left": "one", "right": "two", "winner": "best"}
    votes = jr.read_comparisons(mapped, mapping=roles)
    assert "'prompt' is not used as the question; question=prompt maps it" in str(votes.readings[0])
    assert "not used" not in str(jr.read_comparisons(mapped, mapping={**roles, "question": "prompt"}).readings[0])


@pytest.mark.parametrize(
    "row",
    [
        {"generator_1": "a", "generator_2": "b", "preference": 1},
        {"chosen": "a", "rejected": "b"},
        {"model_1": "a", "model_2": "b", "g1_winner": "model_1", "g2_winner": "tie"},
        {"model_a": "a", "model_b": "b", "winner_model_a": 1, "winner_model_b": 0, "winner_tie": 0},
        {"left": "a", "right": "b", "ann": "left", "bob": "right"},
        {"item_a": "a", "item_b": "b", "p_a": 0.7},
        {"candidate_chosen": "a", "candidate_not_chosen": "b"},
        {"left": "a", "right": "b", "label": "a", "worker": "w"},
        {"model_a": "a", "model_b": "b", "verdict": "A>B"},
    ],
)
@pytest.mark.parametrize("name", ["prompt_id", "question_id", "instruction"])
def test_what_was_asked_is_the_question_in_every_form_of_two_items(row, name):
    votes = jr.read_comparisons([{**row, name: f"p{n // 2}"} for n in range(4)])
    assert votes.questions.tolist() == ["p0", "p1"]


def test_a_large_arena_file_with_prompts_is_read_in_parts_as_in_whole(tmp_path):
    rows = [f"u{n % 7},p{n // 2 if n > 5_000 else n},m{n % 5},m{n % 5 + 1},model_a" for n in range(12_000)]
    text = "\n".join(["judge,prompt,model_a,model_b,winner", *rows]) + "\n"
    (tmp_path / "v.csv").write_text(text)
    votes = jr.read_comparisons(tmp_path / "v.csv")
    assert len(votes.questions) == len({row.split(",")[1] for row in rows})
