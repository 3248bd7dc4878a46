"""What a file says, by readers that share no code with jamrank: the oracle of the fuzz run.

Each reader takes records (a CSV's values are text, None for an empty field) and returns the weight of every vote
and the number of missing ones, or raises :class:`RefusedError` where a careful person would not go on.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["READERS", "RefusedError", "parse", "read"]

Record = dict[str, Any]
Found = tuple[dict[tuple[str, str, str, str, str], float], int]

WHO = ["annotator", "worker", "judge", "performer", "rater", "labeler", "labeller", "assessor", "user"]
WHO += ["annotator_id", "worker_id", "judge_id", "rater_id", "labeler_id", "user_id"]
TIES = dict.fromkeys(["abstain", "skip", "skipped"])
TIES |= dict.fromkeys(["tie", "draw", "equal", "same", "both_good", "both good", "bothgood", "tie (bothgood)"], "tie")
TIES |= dict.fromkeys(["both_bad", "both bad", "bothbad", "tie (bothbad)", "tie (both bad)", "neither"], "tie")
ASKED = ("question", "question_id", "prompt_id", "prompt", "instruction")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class RefusedError(Exception):
    """Not a file of that format."""


def parse(data: bytes, name: str) -> list[Record]:
    """Return the records of a file by Python's own parsers, or pyarrow's."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:4] == b"\x28\xb5\x2f\xfd":
        import pyarrow as pa

        data = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    if data[:4] == b"PAR1":
        import pyarrow.parquet as pq

        return [_unstruct(record) for record in pq.read_table(io.BytesIO(data)).to_pylist()]
    text = data.decode("utf-8").removeprefix("\ufeff")
    if text.lstrip()[:1] in ("[", "{"):
        return _from_json(text)
    separator = "\t" if ".tsv" in name else separated(text)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if row]
    header = rows[0]
    if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows) or len(rows) < 2:
        raise RefusedError("ragged")
    return [{name: value or None for name, value in zip(header, row, strict=True)} for row in rows[1:]]


def separated(text: str) -> str:
    """Return the one mark by which the first line has columns; a comma in any doubt."""
    found = []
    for mark in ",;\t|":
        try:
            lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
            header = next((row for row in lines if row), [])
        except csv.Error:
            continue
        if len(header) > 1:
            found.append(mark)
    return found[0] if len(found) == 1 else ","


def _unstruct(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unstruct(inner) for name, inner in value.items()}
    return [_unstruct(inner) for inner in value] if isinstance(value, list) else value


def _from_json(text: str) -> list[Record]:
    def once(pairs: list[tuple[str, Any]]) -> Record:
        if len(dict(pairs)) < len(pairs):
            raise RefusedError("a field twice")
        return dict(pairs)

    def constant(word: str) -> None:
        if word != "NaN":
            raise RefusedError(word)

    try:
        content = json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except json.JSONDecodeError:
        content = [
            json.loads(line, object_pairs_hook=once, parse_constant=constant)
            for line in text.split("\n")
            if line.strip()
        ]
    if isinstance(content, dict):
        lists = list(content.values())
        if len(lists) > 1 and all(isinstance(column, list) for column in lists) and len(set(map(len, lists))) == 1:
            rows = [dict(zip(content, row, strict=True)) for row in zip(*lists, strict=True)]
            if not any(isinstance(value, dict | list) for row in rows for value in row.values()):
                return rows
        content = [content]
    if not content or not all(isinstance(record, dict) for record in content):
        raise RefusedError("no records")
    return content


def read(format: str, records: list[Record]) -> Found:
    """Return what is in records of a format; capitals in column names are ignored where names stay distinct."""
    try:
        return _read(format, records)
    except RefusedError:
        names = {name: name.strip().lower() for name in names_of(records)}
        if len(set(names.values())) < len(names) or all(name == low for name, low in names.items()):
            raise
        return _read(format, [{names[name]: value for name, value in record.items()} for record in records])


def _read(format: str, records: list[Record]) -> Found:
    votes: dict[tuple[str, str, str, str, str], float] = defaultdict(float)
    missing = 0
    for who, left, right, said, weight, question in READERS[format](records):
        if left == right:
            raise RefusedError("compared with itself")
        if said is None:
            missing += 1
        else:
            votes[who, left, right, said, question] += weight
    if not votes and not missing:
        raise RefusedError("no votes")
    return dict(votes), missing


def absent(value: Any) -> bool:
    return value is None or value == "" or value != value


def ident(value: Any) -> str:
    if absent(value) or isinstance(value, bool | list | dict | bytes):
        raise RefusedError(f"no id: {value!r}")
    if isinstance(value, float):
        if not value.is_integer() or abs(value) >= 2**53:
            raise RefusedError(f"no id: {value!r}")
        return str(int(value))
    if not isinstance(value, str | int):
        raise RefusedError(f"no id: {value!r}")
    return str(value)


def optional(value: Any) -> str:
    return "" if absent(value) else ident(value)


def number(value: Any, low: float, high: float) -> float | None:
    if absent(value) or (isinstance(value, str) and value.lower().lstrip("+-") == "nan"):
        return None
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        raise RefusedError(f"no number: {value!r}")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RefusedError(f"no number: {value!r}")
    try:
        found = float(value)
    except OverflowError:
        raise RefusedError("huge") from None
    if not low <= found <= high or found in (float("inf"), float("-inf")):
        raise RefusedError(f"out of bounds: {found}")
    return found


def weight(record: Record, there: bool) -> float:
    found = number(record.get("weight"), 0, float("inf")) if there else 1.0
    if found is None:
        raise RefusedError("no weight")
    return found


def names_of(records: list[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record))


def voter(records: list[Record], *own: str) -> Callable[[Record], str]:
    names = names_of(records)
    found = [name for name in own if name in names][:1] or [name for name in names if name.strip().lower() in WHO]
    if len(found) > 1:
        raise RefusedError("two columns of annotators")
    return (lambda record: ident(record.get(found[0]))) if found else (lambda record: "unnamed")


def asked(records: list[Record], *own: str) -> Callable[[Record], str]:
    found = next((name for name in own if name in names_of(records)), None)
    return (lambda record: optional(record.get(found))) if found else (lambda record: "")


def asked_alike(records: list[Record], *own: str, each: bool = False, broad: bool = True) -> Callable[[Record], str]:
    """Return the question, also from a column that is only called like one, if ids come back or each counts."""
    names = names_of(records)
    mine = next((name for name in own if name in names), None)
    if mine is not None and (mine not in ("id", "question_id") or comes_back(records, mine)):
        return asked(records, mine)
    like = [name for wanted in ASKED for name in sorted(names) if name.lower() == wanted and name != mine]
    good = [name for name in like if comes_back(records, name) is not None]
    again = [name for name in good if comes_back(records, name)]
    if again:
        return asked(records, again[0])
    if mine is not None:
        return asked(records, mine)
    if each and good:
        return asked(records, good[0])
    topics = [name for name in sorted(names) if name.lower() == "topic" and comes_back(records, name)]
    return asked(records, topics[0]) if broad and topics else lambda record: ""


def comes_back(records: list[Record], name: str) -> bool | None:
    """Return whether an id is in a column twice; None if it has no ids."""
    try:
        ids = [ident(record.get(name)) for record in records if not absent(record.get(name))]
    except RefusedError:
        return None
    return len(set(ids)) < len(ids) if ids else None


def word(value: Any, meaning: dict[str, str | None]) -> str | None:
    if absent(value):
        return None
    text = ident(value)
    if text not in meaning and text.lower() not in meaning:
        raise RefusedError(f"no outcome: {text!r}")
    return meaning[text] if text in meaning else meaning[text.lower()]


def word_or_item(value: Any, left: str, right: str, items: set[str], meaning: dict[str, str | None]) -> str | None:
    """Return an outcome by a word or by the id of the item that won; never by what could be both."""
    if absent(value):
        return None
    text = ident(value)
    by_id = {left: "left", right: "right"}.get(text)
    if text in items and text in meaning and meaning[text] != by_id:
        raise RefusedError("an item or an outcome")
    if by_id is not None:
        return by_id
    if text not in meaning and text.lower() in {item.lower() for item in items}:
        raise RefusedError("neither item nor outcome")
    return word(value, meaning)


def sided(
    own: tuple[str, ...],
    words: dict[str, str | None],
    sides: tuple[str, str] = ("left", "right"),
    questions: Callable[[list[Record]], Callable[[Record], str]] | None = None,
) -> Callable[[list[Record]], Iterator[tuple[Any, ...]]]:
    """Read ``left,right,winner``: all winners are words, or else some are items."""

    def reader(records: list[Record]) -> Iterator[tuple[Any, ...]]:
        who, question, weighted = (
            voter(records, *own),
            asked_alike(records, "question") if questions is None else questions(records),
            "weight" in names_of(records),
        )
        said = [record.get("winner") for record in records]
        plain = all(absent(value) or ident(value) in words for value in said)
        items = {ident(record.get(side)) for record in records for side in sides}
        for record in records:
            left, right = (ident(record.get(side)) for side in sides)
            winner = record.get("winner")
            outcome = word(winner, words) if plain else word_or_item(winner, left, right, items, words)
            yield who(record), left, right, outcome, weight(record, weighted), question(record)

    return reader


def arena(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    own, sides = ("judge", "evaluation_session_id"), ("model_a", "model_b")
    return sided(
        own, MODELS, sides, lambda records: asked_alike(records, "question_id", "id", "question", each=True)
    )(records)


def named_pairs(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    """Read two columns and a winner by their names, or winners and losers."""
    names = names_of(records)
    if {"winner", "loser"} <= set(names):
        who, question, weighted = voter(records), asked_alike(records, "question"), "weight" in names
        for record in records:
            one, two = ident(record.get("winner")), ident(record.get("loser"))
            left, right, said = (one, two, "left") if one < two else (two, one, "right")
            yield who(record), left, right, said, weight(record, weighted), question(record)
        return
    pairs = [pair for pair in PAIRS if set(pair) <= set(names)]
    winners = [name for name in WINNERS if name in names]
    if len(winners) != 1 or len(pairs) != 1:
        raise RefusedError("other columns")
    words = {**MODELS, pairs[0][0]: "left", pairs[0][1]: "right"}
    yield from sided((), words, pairs[0])([{**record, "winner": record.get(winners[0])} for record in records])


def crowd_kit(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    who, question, weighted = (
        voter(records, "worker", "performer"),
        asked_alike(records, "question"),
        "weight" in names_of(records),
    )
    items = {ident(record.get(side)) for record in records for side in ("left", "right")}
    words = {"left": "left", "right": "right", **TIES}
    for record in records:
        left, right = ident(record.get("left")), ident(record.get("right"))
        said = word_or_item(record.get("label"), left, right, items, words)
        yield who(record), left, right, said, weight(record, weighted), question(record)


def one_hot(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    who, question, weighted = (
        voter(records, "judge"),
        asked_alike(records, "id", "question_id", "question", each=True),
        "weight" in names_of(records),
    )
    for record in records:
        marks = [number(record.get(f"winner_{end}"), 0, 1) for end in ("model_a", "model_b", "tie")]
        if marks == [None] * 3:
            said = None
        elif sorted(marks, key=str) == sorted([0.0, 0.0, 1.0], key=str):
            said = ("left", "right", "tie")[marks.index(1.0)]
        else:
            raise RefusedError("not one 1")
        yield (
            who(record),
            ident(record.get("model_a")),
            ident(record.get("model_b")),
            said,
            weight(record, weighted),
            question(record),
        )


def mt_bench(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    words = {"model_a": "left", "model_b": "right", "tie (inconsistent)": "tie", **TIES}
    who, weighted = voter(records, "judge"), "weight" in names_of(records)
    for record in records:
        question = f"{ident(record.get('question_id'))} turn {optional(record.get('turn')) or '?'}"
        sides = ident(record.get("model_a")), ident(record.get("model_b"))
        yield who(record), *sides, word(record.get("winner"), words), weight(record, weighted), question


def mt_pairs(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    words = {"model_1": "left", "model_2": "right", "error": "error", **TIES}
    names = names_of(records)
    who = voter(records, "judge")
    for record in records:
        judge = record.get("judge")
        person = ident(judge[0]) if isinstance(judge, list) and judge else who(record)
        question = asked_alike(records, "question_id", each=True)(record)
        if "question_id" in names and "turn" in names:
            question = f"{ident(record.get('question_id'))} turn {optional(record.get('turn')) or '?'}"
        one, two = ident(record.get("model_1")), ident(record.get("model_2"))
        if one == two:
            raise RefusedError("itself")
        for game, (left, right) in (("g1_winner", (one, two)), ("g2_winner", (two, one))):
            said = word(record.get(game), words)
            if game == "g2_winner" and said in ("left", "right"):
                said = {"left": "right", "right": "left"}[said]
            if said != "error":
                yield person, left, right, said, 1.0, question


def soft(
    left: str, right: str, p_left: Callable[[Record], float | None], own: str, questions: tuple[str, ...]
) -> Any:
    def reader(records: list[Record]) -> Iterator[tuple[Any, ...]]:
        each = "instruction" in questions
        who, question = voter(records, own), asked_alike(records, *questions, each=each)
        weighted = "weight" in names_of(records)
        for record in records:
            p, much = p_left(record), weight(record, weighted)
            sides = ident(record.get(left)), ident(record.get(right))
            if p is None or p == 0.5:
                yield who(record), *sides, None if p is None else "tie", much, question(record)
                continue
            if p > 0:
                yield who(record), *sides, "left", much * p, question(record)
            if p < 1:
                yield who(record), *sides, "right", much * (1 - p), question(record)

    return reader


def alpaca(record: Record) -> float | None:
    preference = number(record.get("preference"), 0, 2)
    if preference is None:
        return None
    if preference == 0:
        return 0.5
    if preference < 1:
        raise RefusedError("below 1")
    return 2 - preference


def in_order(who: str, won: str, lost: str, *rest: Any) -> tuple[Any, ...]:
    return (who, won, lost, "left", *rest) if won < lost else (who, lost, won, "right", *rest)


def judgement(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    who, question = voter(records, "judge"), asked_alike(records, "question")
    weighted = "weight" in names_of(records)
    for record in records:
        won, lost = ident(record.get("candidate_chosen")), ident(record.get("candidate_not_chosen"))
        yield in_order(who(record), won, lost, weight(record, weighted), question(record))


def text_of(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        content = value[0].get("content")
        if isinstance(content, str) and content:
            return content
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def preferences(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    names = names_of(records)
    who, weighted = voter(records, "annotator"), "weight" in names
    models = next(
        (
            pair
            for pair in (("chosen_model", "rejected_model"), ("chosen-model", "rejected-model"))
            if {*pair} <= {*names}
        ),
        None,
    )
    found = []
    for record in records:
        won, lost, prompt = record.get("chosen"), record.get("rejected"), record.get("prompt")
        if not all(value and isinstance(value, str | list) for value in (won, lost)):
            raise RefusedError("no answers")
        question = "" if prompt is None else text_of(prompt)
        if isinstance(won, list) and isinstance(lost, list):
            same = list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(won[:-1], lost[:-1], strict=False)))
            if prompt is None and same:
                question = text_of(won[: len(same)])
            won, lost = won[len(same) :], lost[len(same) :]
        won, lost = (ident(record.get(name)) for name in models) if models else (text_of(won), text_of(lost))
        found.append((record, won, lost, question))
    alike = asked_alike(records, "question", each=True)
    none = "prompt" not in names and not any(question for *_, question in found)
    for record, won, lost, question in found:
        yield in_order(who(record), won, lost, weight(record, weighted), alike(record) if none else question)


def tldr(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    who = voter(records, "worker")
    for record in records:
        summaries, info = record.get("summaries"), record.get("info")
        if not (
            isinstance(summaries, list) and len(summaries) == 2 and all(isinstance(one, dict) for one in summaries)
        ):
            raise RefusedError("no summaries")
        choice = number(record.get("choice"), 0, 1)
        if choice not in (None, 0, 1):
            raise RefusedError("no choice")
        first, second = (ident(one.get("policy")) for one in summaries)
        post = (info.get("id") or info.get("article") or info.get("post")) if isinstance(info, dict) else info
        person, question = who(record), optional(post)
        if first != second:
            yield person, first, second, {None: None, 0: "left", 1: "right"}[choice], 1.0, question


def wide(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    skip = {"left", "right", "question", "question_id", "weight", "id", "pair_id", "index", "", "Unnamed: 0"}
    skip |= {name for name in names_of(records) if name.lower() in (*ASKED, "topic")}
    names = [name for name in names_of(records) if name not in skip]
    question = asked_alike(records, "question", "question_id", each=True)
    weighted = "weight" in names_of(records)
    words = {"left": "left", "right": "right", **TIES}
    numbers = {"1": "left", "1.0": "left", "0": "right", "0.0": "right", "0.5": "tie", ".5": "tie"}
    cells = {str(record.get(name)) for record in records for name in names if not absent(record.get(name))}
    if cells & words.keys() and cells & numbers.keys():
        raise RefusedError("words and numbers")
    meaning = words if cells & words.keys() else numbers if cells & numbers.keys() else words
    called = {ident(record.get(side)) for record in records for side in ("left", "right")}
    if meaning is numbers and called <= numbers.keys():
        raise RefusedError("items or votes")
    for record in records:
        for name in names:
            cell = record.get(name)
            if isinstance(cell, bool | list | dict):
                raise RefusedError(f"no vote: {cell!r}")
            said = None if absent(cell) else word(str(cell), meaning)
            yield (
                name,
                ident(record.get("left")),
                ident(record.get("right")),
                said,
                weight(record, weighted),
                question(record),
            )


def ratings(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    names = names_of(records)
    who = voter(records, "annotator")
    question = asked_alike(records, "question", "question_id", broad=False)
    item, rating = ("item" if "item" in names else "item_id"), ("rating" if "rating" in names else "score")
    rated = [
        (
            who(record),
            question(record),
            ident(record.get(item)),
            number(record.get(rating), float("-inf"), float("inf")),
        )
        for record in records
    ]
    for (one, asked_one, x, rx), (two, asked_two, y, ry) in itertools.combinations(rated, 2):
        if (one, asked_one) != (two, asked_two) or rx is None or ry is None or x == y:
            continue
        if rx == ry:
            yield one, min(x, y), max(x, y), "tie", 1.0, asked_one
        else:
            yield in_order(one, *((x, y) if rx > ry else (y, x)), 1.0, asked_one)


def ranked(who: Any, status: Any, ranking: Any, fields: Record, question: str) -> Iterator[tuple[Any, ...]]:
    if status != "submitted" or ranking in (None, []):
        return
    if isinstance(ranking, dict):
        ranking = unzipped(ranking)
    if not isinstance(ranking, list) or not all(isinstance(option, dict) for option in ranking):
        raise RefusedError("no ranking")
    person = ident(who)
    options = []
    for option in ranking:
        name, rank = option.get("value"), option.get("rank")
        if not isinstance(name, str) or not name or isinstance(rank, bool) or not isinstance(rank, int | float):
            raise RefusedError("no option")
        if not 1 <= rank < 2**31:
            raise RefusedError("no rank")
        text = fields.get(name)
        options.append((text if isinstance(text, str) and text else name, rank))
    for (x, rx), (y, ry) in itertools.combinations(options, 2):
        if x == y:
            continue
        if rx == ry:
            yield person, min(x, y), max(x, y), "tie", 1.0, question
        else:
            yield in_order(person, *((x, y) if rx < ry else (y, x)), 1.0, question)


def unzipped(value: Record) -> list[Record]:
    columns = list(value.values())
    if not value or not all(isinstance(column, list) for column in columns) or len(set(map(len, columns))) > 1:
        raise RefusedError("no list")
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def named(record: Record, row: int) -> str:
    for name in ("id", "external_id", "prompt", "instruction", "question", "input"):
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return f"row {row + 1}"


def is_ranking(value: Any) -> bool:
    if isinstance(value, dict):
        return {"rank", "value"} <= value.keys()
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(o, dict) and {"rank", "value"} <= o.keys() for o in value)
    )


def only(names: set[str]) -> str:
    if len(names) != 1:
        raise RefusedError("no question, or several")
    return names.pop()


def argilla_2(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    names = names_of(records)
    if "responses" in names and any(isinstance(record.get("responses"), dict) for record in records):
        question = only({
            name for record in records if isinstance(record.get("responses"), dict)
            for name, said in record["responses"].items() if isinstance(said, list)
            and any(isinstance(answer, dict) and is_ranking(answer.get("value")) for answer in said)
        })  # fmt: skip
        for row, record in enumerate(records):
            answers = record.get("responses")
            answers = answers.get(question) if isinstance(answers, dict) else answers
            fields = record.get("fields") if isinstance(record.get("fields"), dict) else {}
            if answers in (None, [], {}):
                continue
            answers = unzipped(answers) if isinstance(answers, dict) else answers
            if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
                raise RefusedError("no answers")
            own = {name: record.get(name) for name in ("id", "external_id") if name in names}
            for answer in answers:
                status = answer.get("status", "submitted")
                yield from ranked(
                    answer.get("user_id"), status, answer.get("value"), fields, named({**fields, **own}, row)
                )
        return
    ends = [name.removesuffix(".responses") for name in names if name.endswith(".responses")]
    question = only({
        name for name in ends if f"{name}.responses.users" in names and any(
            is_ranking(value) for record in records if isinstance(record.get(f"{name}.responses"), list)
            for value in record[f"{name}.responses"]
        )
    })  # fmt: skip
    for row, record in enumerate(records):
        answers, users = record.get(f"{question}.responses"), record.get(f"{question}.responses.users")
        if answers is None and users is None:
            continue
        statuses = record.get(f"{question}.responses.status")
        if f"{question}.responses.status" not in names:
            statuses = ["submitted"] * len(answers) if isinstance(answers, list) else []
        if not all(isinstance(value, list) for value in (answers, users, statuses)):
            raise RefusedError("no lists")
        if not len(answers) == len(users) == len(statuses):
            raise RefusedError("not as many")
        fields = {
            name: value for name, value in record.items() if ".responses" not in name and ".suggestion" not in name
        }
        for user, status, value in zip(users, statuses, answers, strict=True):
            yield from ranked(user, status, value, fields, named(fields, row))


def argilla_1(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    def raw(answers: Any) -> list[str]:
        found = []
        for answer in answers if isinstance(answers, list) else []:
            values = answer.get("values") if isinstance(answer, dict) else None
            for name, said in values.items() if isinstance(values, dict) else ():
                if is_ranking(said.get("value") if isinstance(said, dict) else said):
                    found.append(name)
        return found

    def answers_of(value: Any) -> list[Record]:
        if isinstance(value, dict):
            return unzipped(value) if value else []
        if isinstance(value, list) and all(isinstance(answer, dict) for answer in value):
            return value
        if value is None:
            return []
        raise RefusedError("no answers")

    def holds(name: str) -> bool:
        for record in records:
            try:
                answers = answers_of(record.get(name)) if isinstance(record.get(name), list | dict) else []
            except RefusedError:
                continue
            if any(
                {"user_id", "value", "status"} <= answer.keys() and is_ranking(answer["value"]) for answer in answers
            ):
                return True
        return False

    if any(raw(record.get("responses")) for record in records):
        question = only({name for record in records for name in raw(record.get("responses"))})
        for row, record in enumerate(records):
            fields = record.get("fields") if isinstance(record.get("fields"), dict) else {}
            rest = {name: value for name, value in record.items() if name not in ("responses", "fields")}
            for answer in answers_of(record.get("responses")):
                values = answer.get("values")
                said = values.get(question) if isinstance(values, dict) else None
                value = said.get("value") if isinstance(said, dict) else said
                yield from ranked(
                    answer.get("user_id"), answer.get("status"), value, fields, named({**fields, **rest}, row)
                )
        return
    question = only({name for name in names_of(records) if holds(name)})
    for row, record in enumerate(records):
        for answer in answers_of(record.get(question)):
            yield from ranked(
                answer.get("user_id"), answer.get("status"), answer.get("value"), record, named(record, row)
            )


def label_studio(records: list[Record]) -> Iterator[tuple[Any, ...]]:
    names = list(
        dict.fromkeys(name for record in records if isinstance(record.get("data"), dict) for name in record["data"])
    )
    endings = [
        (mark + one, mark + two) for one, two in ("12", "ab", "AB", ("left", "right")) for mark in ("", "_", "-")
    ]
    pairs = {(name, name.removesuffix(one) + two) for name in names for one, two in endings if name.endswith(one)}
    pairs = {pair for pair in pairs if pair[1] in names}
    if len(pairs) > 1:
        pairs = {pair for pair in pairs if re.search(r"model|item|system|_id|^id", pair[0])}
    left_name, right_name = only(pairs)  # type: ignore[arg-type]
    for row, record in enumerate(records):
        data = record.get("data") if isinstance(record.get("data"), dict) else {}
        prompt = next((str(data[name]) for name in ("prompt", "instruction", "question") if data.get(name)), None)
        question = prompt if prompt is not None else str(record.get("id") or f"row {row + 1}")
        for annotation in lists_of(record.get("annotations")):
            if annotation.get("was_cancelled"):
                continue
            chosen = [result for result in lists_of(annotation.get("result")) if result.get("type") == "pairwise"]
            if len(chosen) > 1:
                raise RefusedError("two results")
            value = chosen[0].get("value") if chosen else None
            selected = value.get("selected") if isinstance(value, dict) else value
            if selected is None:
                continue
            if selected not in ("left", "right"):
                raise RefusedError("no side")
            who = annotation.get("completed_by")
            if isinstance(who, dict):
                who = next((who[name] for name in ("email", "id", "username") if who.get(name)), None)
            yield ident(who), ident(data.get(left_name)), ident(data.get(right_name)), selected, 1.0, question


def lists_of(value: Any) -> list[Record]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise RefusedError("no list")
    return value


PAIRS = (("left", "right"), ("home", "away"), ("a", "b"), ("first", "second"), *(
    (f"{noun}{one}", f"{noun}{two}")
    for noun, one, two in (("model", "_a", "_b"), ("item", "_a", "_b"), ("option", "_a", "_b"), ("item", "1", "2"),
                           ("item", "_1", "_2"), ("model", "1", "2"), ("model", "_1", "_2"), ("player", "1", "2"),
                           ("player", "_1", "_2"), ("team", "1", "2"))
))  # fmt: skip
WINNERS = ("winner", "preferred", "preference", "verdict", "result", "choice", "chosen", "better", "label", "vote",
           "outcome", "answer", "judgement", "judgment")  # fmt: skip
SIDES = {"left": "left", "right": "right", **TIES}
MODELS = {
    "model_a": "left",
    "model_b": "right",
    "a": "left",
    "b": "right",
    "[[a]]": "left",
    "[[b]]": "right",
    **SIDES,
}
for _left, _said in (("a>b", "left"), ("b>a", "right"), ("a>>b", "left"), ("b>>a", "right"), ("a=b", "tie")):
    MODELS |= {_left: _said, f"[[{_left}]]": _said}
MODELS |= {"[[c]]": "tie", "b=a": "tie"}

READERS: dict[str, Callable[[list[Record]], Iterator[tuple[Any, ...]]]] = {
    "canonical": sided(("annotator",), SIDES),
    "evalica": sided(("annotator",), SIDES),
    "crowd-kit": crowd_kit,
    "chatbot-arena": arena,
    "chatbot-arena-55k": one_hot,
    "mt-bench": mt_bench,
    "mt-bench-pairs": mt_pairs,
    "argilla-1": argilla_1,
    "argilla-2": argilla_2,
    "label-studio": label_studio,
    "preferences": preferences,
    "tldr": tldr,
    "alpaca-eval": soft("generator_1", "generator_2", alpaca, "annotator", ("instruction", "question")),
    "wide": wide,
    "evaluatorq": soft(
        "item_a", "item_b", lambda record: number(record.get("p_a"), 0, 1), "judge", ("question", "question_id")
    ),
    "comparative-judgement": judgement,
    "ratings": ratings,
    "named-pairs": named_pairs,
}
