"""A small file of every known format, made as its source's documentation says, and the votes that are in it."""

# ruff: noqa: E501
from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from typing import Any

import polars as pl

__all__ = ["SAMPLES", "Sample", "Vote"]

# Annotator, left, right, what was said, weight, question.
Vote = tuple[str, str, str, str, float, str]


@dataclass(frozen=True)
class Sample:
    """Records of a format, the votes in them, and how they may be written."""

    format: str
    records: list[dict[str, Any]]
    votes: list[Vote]
    missing: int = 0
    set_aside: int = 0
    sides: bool = True
    nested: bool = False
    outcomes: dict[str, int] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("json", "jsonl", "parquet") if self.nested else ("csv", "tsv", "json", "jsonl", "parquet")

    def write(self, kind: str) -> bytes:
        return write_records(self.records, kind)


def write_records(records: list[dict[str, Any]], kind: str) -> bytes:
    """Return records as the content of a file."""
    if kind == "json":
        return json.dumps(records, indent=1).encode()
    if kind == "jsonl":
        return "".join(json.dumps(record) + "\n" for record in records).encode()
    if kind == "parquet":
        content = io.BytesIO()
        # Parquet knows no records without fields.
        kept = [{name: value for name, value in record.items() if value != {}} for record in records]
        pl.DataFrame(kept, infer_schema_length=None).write_parquet(content)
        return content.getvalue()
    text = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(text, names, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


def _chat(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[k % 2], "content": text} for k, text in enumerate(texts)]


def _battle(number: int, a: str, b: str, winner: str | None, judge: str, **more: Any) -> dict[str, Any]:
    return {"question_id": f"q{number}", "model_a": a, "model_b": b, "winner": winner, "judge": judge, **more}


def _arena(number: int, a: str, b: str, winner: str | None, judge: str) -> dict[str, Any]:
    talk = {"conversation_a": _chat("Hi", "Hello"), "conversation_b": _chat("Hi", "Hey")}
    more = {"turn": 1, "anony": True, "language": "English", "tstamp": 1682351591.2}
    return _battle(number, a, b, winner, judge, **talk, **more)


_LIKE_ARENA = [
    ("gpt-4", "claude-v1", "model_a", "arena_user_1"),
    ("claude-v1", "koala-13b", "model_b", "arena_user_1"),
    ("koala-13b", "gpt-4", "tie", "arena_user_2"),
    ("gpt-4", "koala-13b", "tie (bothbad)", "arena_user_3"),
]
_ARENA_VOTES: list[Vote] = [
    ("arena_user_1", "gpt-4", "claude-v1", "left", 1, "q0"),
    ("arena_user_1", "claude-v1", "koala-13b", "right", 1, "q1"),
    ("arena_user_2", "koala-13b", "gpt-4", "tie", 1, "q2"),
    ("arena_user_3", "gpt-4", "koala-13b", "tie", 1, "q3"),
]

SAMPLES: dict[str, Sample] = {
    "canonical": Sample(
        "canonical",
        [
            {"annotator": "ann", "left": "tea", "right": "milk", "winner": "left"},
            {"annotator": "ann", "left": "milk", "right": "cola", "winner": "tie"},
            {"annotator": "bob", "left": "cola", "right": "tea", "winner": "both_bad"},
            {"annotator": "bob", "left": "tea", "right": "milk", "winner": "abstain"},
            {"annotator": "cleo", "left": "tea", "right": "cola", "winner": "right"},
        ],
        [
            ("ann", "tea", "milk", "left", 1, ""),
            ("ann", "milk", "cola", "tie", 1, ""),
            ("bob", "cola", "tea", "tie", 1, ""),
            ("cleo", "tea", "cola", "right", 1, ""),
        ],
        missing=1,
        outcomes={"both bad": 1, "abstained": 1},
    ),
    "canonical, prompts": Sample(
        "canonical",
        [
            {"annotator": "ann", "left": "tea", "right": "milk", "winner": "Left", "prompt": "p1", "topic": "t"},
            {"annotator": "ann", "left": "milk", "right": "cola", "winner": "Tie", "prompt": "p1", "topic": "t"},
            {"annotator": "bob", "left": "cola", "right": "tea", "winner": "tea", "prompt": "p2", "topic": "t"},
        ],
        [
            ("ann", "tea", "milk", "left", 1, "p1"),
            ("ann", "milk", "cola", "tie", 1, "p1"),
            ("bob", "cola", "tea", "right", 1, "p2"),
        ],
    ),
    "crowd-kit": Sample(
        "crowd-kit",
        [
            {"worker": "w1", "left": "a", "right": "b", "label": "a"},
            {"worker": "w1", "left": "b", "right": "c", "label": "c"},
            {"worker": "w2", "left": "c", "right": "a", "label": "a"},
        ],
        [
            ("w1", "a", "b", "left", 1, ""),
            ("w1", "b", "c", "right", 1, ""),
            ("w2", "c", "a", "right", 1, ""),
        ],
    ),
    "crowd-kit, older": Sample(
        "crowd-kit",
        [
            {"performer": 1, "left": 10, "right": 20, "label": "left"},
            {"performer": 2, "left": 20, "right": 30, "label": "right"},
        ],
        [("1", "10", "20", "left", 1, ""), ("2", "20", "30", "right", 1, "")],
    ),
    "evalica": Sample(
        "evalica",
        [
            {"left": "pizza", "right": "burger", "winner": "left"},
            {"left": "burger", "right": "sushi", "winner": "right"},
            {"left": "pizza", "right": "sushi", "winner": "tie"},
        ],
        [
            ("unnamed", "pizza", "burger", "left", 1, ""),
            ("unnamed", "burger", "sushi", "right", 1, ""),
            ("unnamed", "pizza", "sushi", "tie", 1, ""),
        ],
    ),
    "evalica, prompts": Sample(
        "evalica",
        [
            {"worker": 5, "left": 1, "right": 2, "winner": "left", "Prompt": 8},
            {"worker": 5, "left": 2, "right": 3, "winner": "right", "Prompt": 8},
            {"worker": 6, "left": 1, "right": 3, "winner": "tie", "Prompt": 9},
        ],
        [
            ("5", "1", "2", "left", 1, "8"),
            ("5", "2", "3", "right", 1, "8"),
            ("6", "1", "3", "tie", 1, "9"),
        ],
    ),
    "arena, 33k": Sample(
        "chatbot-arena",
        [_arena(number, *battle) for number, battle in enumerate(_LIKE_ARENA)],
        _ARENA_VOTES,
        nested=True,
        outcomes={"both bad": 1},
    ),
    "arena, battles": Sample(
        "chatbot-arena",
        [
            {**_battle(number, *battle), "turn": 1, "anony": True, "language": "English", "tstamp": 1707839132.9}
            for number, battle in enumerate(_LIKE_ARENA)
        ],
        _ARENA_VOTES,
        outcomes={"both bad": 1},
    ),
    "arena, 55k": Sample(
        "chatbot-arena-55k",
        [
            {"id": 30192, "model_a": "gpt-4", "model_b": "vicuna", "prompt": '["Hi, there"]', "response_a": '["Yes"]',
             "response_b": '["No"]', "winner_model_a": 1, "winner_model_b": 0, "winner_tie": 0},
            {"id": 53567, "model_a": "koala", "model_b": "gpt-4", "prompt": '["\\"Why?\\""]', "response_a": '["A"]',
             "response_b": '["B"]', "winner_model_a": 0, "winner_model_b": 1, "winner_tie": 0},
            {"id": 65089, "model_a": "vicuna", "model_b": "koala", "prompt": '["How"]', "response_a": '["A"]',
             "response_b": '["B"]', "winner_model_a": 0, "winner_model_b": 0, "winner_tie": 1},
        ],
        [
            ("unnamed", "gpt-4", "vicuna", "left", 1, "30192"),
            ("unnamed", "koala", "gpt-4", "right", 1, "53567"),
            ("unnamed", "vicuna", "koala", "tie", 1, "65089"),
        ],
    ),
    "arena, prompts": Sample(
        "chatbot-arena",
        [
            {"judge": "gpt", "prompt": "p1", "model_a": "a", "model_b": "b", "winner": "model_a"},
            {"judge": "llama", "prompt": "p1", "model_a": "a", "model_b": "b", "winner": "model_b"},
            {"judge": "gpt", "prompt": "p2", "model_a": "c", "model_b": "b", "winner": "tie"},
        ],
        [("gpt", "a", "b", "left", 1, "p1"), ("llama", "a", "b", "right", 1, "p1"), ("gpt", "c", "b", "tie", 1, "p2")],
    ),
    "arena, numbered votes": Sample(
        "chatbot-arena",
        [
            {"id": 1, "judge": "gpt", "instruction": "Sing", "model_a": "a", "model_b": "b", "winner": "model_a"},
            {"id": 2, "judge": "gpt", "instruction": "Sing", "model_a": "b", "model_b": "a", "winner": "model_a"},
            {"id": 3, "judge": "gpt", "instruction": "Dance", "model_a": "c", "model_b": "b", "winner": "tie"},
        ],
        [("gpt", "a", "b", "left", 1, "Sing"), ("gpt", "b", "a", "left", 1, "Sing"), ("gpt", "c", "b", "tie", 1, "Dance")],
    ),
    "arena, 140k": Sample(
        "chatbot-arena",
        [
            {"id": f"f{number}", "model_a": a, "model_b": b, "winner": winner, "evaluation_session_id": session,
             "evaluation_order": 1, "conversation_a": _chat("Hi", "Yo"), "conversation_b": _chat("Hi", "Ho"),
             "language": "en", "is_code": False, "timestamp": "2025-07-01 10:00:00"}
            for number, (a, b, winner, session) in enumerate(
                [("o3", "grok", "model_a", "s1"), ("grok", "qwen", "both_bad", "s1"), ("qwen", "o3", "model_b", "s2")]
            )
        ],
        [
            ("s1", "o3", "grok", "left", 1, "f0"),
            ("s1", "grok", "qwen", "tie", 1, "f1"),
            ("s2", "qwen", "o3", "right", 1, "f2"),
        ],
        nested=True,
        outcomes={"both bad": 1},
    ),
    "mt-bench": Sample(
        "mt-bench",
        [
            {"question_id": 81, "model_a": "alpaca-13b", "model_b": "gpt-3.5", "winner": "model_b", "judge": "author_2",
             "conversation_a": _chat("Write", "No"), "conversation_b": _chat("Write", "Yes"), "turn": 1},
            {"question_id": 81, "model_a": "alpaca-13b", "model_b": "gpt-3.5", "winner": "tie", "judge": "author_2",
             "conversation_a": _chat("Write", "No"), "conversation_b": _chat("Write", "Yes"), "turn": 2},
            {"question_id": 82, "model_a": "gpt-3.5", "model_b": "claude", "winner": "tie (inconsistent)",
             "judge": "gpt4_pair", "conversation_a": _chat("Say", "A"), "conversation_b": _chat("Say", "B"), "turn": 1},
        ],
        [
            ("author_2", "alpaca-13b", "gpt-3.5", "right", 1, "81 turn 1"),
            ("author_2", "alpaca-13b", "gpt-3.5", "tie", 1, "81 turn 2"),
            ("gpt4_pair", "gpt-3.5", "claude", "tie", 1, "82 turn 1"),
        ],
        nested=True,
        outcomes={"tie (inconsistent)": 1},
    ),
    "mt-bench, pairs": Sample(
        "mt-bench-pairs",
        [
            {"question_id": 81, "model_1": "alpaca-13b", "model_2": "gpt-4", "g1_winner": "model_2",
             "g2_winner": "model_2", "judge": ["gpt-4", "pair-v2"], "turn": 1, "tstamp": 1687220000.1},
            {"question_id": 82, "model_1": "alpaca-13b", "model_2": "claude", "g1_winner": "model_1",
             "g2_winner": "tie", "judge": ["gpt-4", "pair-v2-multi-turn"], "turn": 2, "tstamp": 1687220001.5},
            {"question_id": 83, "model_1": "gpt-4", "model_2": "claude", "g1_winner": "error",
             "g2_winner": "model_1", "judge": ["gpt-4", "pair-v2"], "turn": 1, "tstamp": 1687220002.5},
        ],
        [
            ("gpt-4", "alpaca-13b", "gpt-4", "right", 1, "81 turn 1"),
            ("gpt-4", "gpt-4", "alpaca-13b", "left", 1, "81 turn 1"),
            ("gpt-4", "alpaca-13b", "claude", "left", 1, "82 turn 2"),
            ("gpt-4", "claude", "alpaca-13b", "tie", 1, "82 turn 2"),
            ("gpt-4", "claude", "gpt-4", "right", 1, "83 turn 1"),
        ],
        set_aside=1,
        nested=True,
    ),
    "argilla 2, flat": Sample(
        "argilla-2",
        [
            {"id": "r1", "status": "completed", "prompt": "Why?", "reply-1": "Because", "reply-2": "No idea",
             "ranking.responses": [[{"rank": 1, "value": "reply-1"}, {"rank": 2, "value": "reply-2"}],
                                   [{"rank": 1, "value": "reply-1"}, {"rank": 1, "value": "reply-2"}],
                                   [{"rank": 2, "value": "reply-1"}, {"rank": 1, "value": "reply-2"}]],
             "ranking.responses.users": ["u1", "u2", "u3"],
             "ranking.responses.status": ["submitted", "submitted", "discarded"]},
            {"id": "r2", "status": "pending", "prompt": "How?", "reply-1": "So", "reply-2": "Thus",
             "ranking.responses": None, "ranking.responses.users": None, "ranking.responses.status": None},
        ],
        [("u1", "Because", "No idea", "left", 1, "r1"), ("u2", "Because", "No idea", "tie", 1, "r1")],
        set_aside=2,
        sides=False,
        nested=True,
    ),
    "argilla 2, nested": Sample(
        "argilla-2",
        [
            {"id": "r1", "fields": {"prompt": "Why?", "a": "x", "b": "y"}, "metadata": {}, "suggestions": {},
             "responses": {"order": [{"value": [{"rank": 2, "value": "a"}, {"rank": 1, "value": "b"}], "user_id": "u1"}]},
             "vectors": {}, "status": "completed", "_server_id": "5"},
            {"id": "r2", "fields": {"prompt": "How?", "a": "z", "b": "w"}, "metadata": {}, "suggestions": {},
             "responses": {"order": [{"value": [{"rank": 1, "value": "a"}, {"rank": 2, "value": "b"}], "user_id": "u2"}]},
             "vectors": {}, "status": "completed", "_server_id": "6"},
        ],
        [("u1", "x", "y", "right", 1, "r1"), ("u2", "w", "z", "right", 1, "r2")],
        sides=False,
        nested=True,
    ),
    "argilla 1": Sample(
        "argilla-1",
        [
            {"prompt": "Why?", "response-1": "One", "response-2": "Two", "response-3": "Three",
             "ranking": [{"user_id": "u1", "status": "submitted", "value": [
                 {"rank": 1, "value": "response-2"}, {"rank": 2, "value": "response-1"}, {"rank": 2, "value": "response-3"}]}],
             "ranking-suggestion": None, "external_id": "e1", "metadata": "{}"},
            {"prompt": "How?", "response-1": "Eins", "response-2": "Zwei", "response-3": "Drei",
             "ranking": [{"user_id": "u2", "status": "discarded", "value": [
                 {"rank": 1, "value": "response-2"}, {"rank": 2, "value": "response-1"}]}],
             "ranking-suggestion": None, "external_id": "e2", "metadata": "{}"},
        ],
        [
            ("u1", "One", "Two", "right", 1, "e1"),
            ("u1", "Three", "Two", "right", 1, "e1"),
            ("u1", "One", "Three", "tie", 1, "e1"),
        ],
        set_aside=1,
        sides=False,
        nested=True,
    ),
    "argilla 1, records": Sample(
        "argilla-1",
        [
            {"fields": {"text": "Why?", "r1": "One", "r2": "Two"}, "external_id": "e1", "responses": [
                {"user_id": "u1", "status": "submitted",
                 "values": {"rank": {"value": [{"rank": 1, "value": "r2"}, {"rank": 2, "value": "r1"}]}}}]},
        ],
        [("u1", "One", "Two", "right", 1, "e1")],
        sides=False,
        nested=True,
    ),
    "label studio": Sample(
        "label-studio",
        [
            {"id": 1, "data": {"prompt": "A cat", "image1": "cat1.png", "image2": "cat2.png"}, "project": 3, "annotations": [
                {"id": 1001, "completed_by": 10, "was_cancelled": False, "ground_truth": False, "result": [
                    {"id": "x1", "from_name": "pw", "to_name": "img1,img2", "type": "pairwise", "value": {"selected": "left"}}]},
                {"id": 1002, "completed_by": 11, "was_cancelled": False, "ground_truth": False, "result": [
                    {"id": "x2", "from_name": "pw", "to_name": "img1,img2", "type": "pairwise", "value": {"selected": "right"}}]},
                {"id": 1003, "completed_by": 12, "was_cancelled": True, "ground_truth": False, "result": []}]},
            {"id": 2, "data": {"prompt": "A dog", "image1": "dog1.png", "image2": "dog2.png"}, "project": 3, "annotations": [
                {"id": 1004, "completed_by": 10, "was_cancelled": False, "ground_truth": False, "result": [
                    {"id": "x3", "from_name": "pw", "to_name": "img1,img2", "type": "pairwise", "value": {"selected": "right"}}]}]},
        ],
        [
            ("10", "cat1.png", "cat2.png", "left", 1, "A cat"),
            ("11", "cat1.png", "cat2.png", "right", 1, "A cat"),
            ("10", "dog1.png", "dog2.png", "right", 1, "A dog"),
        ],
        set_aside=1,
        nested=True,
    ),
    "preferences": Sample(
        "preferences",
        [
            {"prompt": "The sky is", "chosen": "blue.", "rejected": "green."},
            {"prompt": "The sun is", "chosen": "in the sky.", "rejected": "in the sea."},
        ],
        [
            ("unnamed", "blue.", "green.", "left", 1, "The sky is"),
            ("unnamed", "in the sea.", "in the sky.", "right", 1, "The sun is"),
        ],
        sides=False,
    ),
    "preferences, conversations": Sample(
        "preferences",
        [
            {"chosen": _chat("What colour is the sky?", "Blue."), "rejected": _chat("What colour is the sky?", "Green.")},
        ],
        [("unnamed", "Blue.", "Green.", "left", 1, "What colour is the sky?")],
        sides=False,
        nested=True,
    ),
    "tl;dr": Sample(
        "tldr",
        [
            {"info": {"id": "t3_1", "post": "Long", "title": "T", "subreddit": "r"}, "split": "train", "choice": 1,
             "summaries": [{"text": "s1", "policy": "sup4", "note": "ok"}, {"text": "s2", "policy": "ref", "note": ""}],
             "worker": "w1", "batch": "batch3.json", "extra": {"confidence": 7}},
            {"info": {"id": "t3_2", "post": "Long", "title": "T", "subreddit": "r"}, "split": "train", "choice": 0,
             "summaries": [{"text": "s3", "policy": "ppo", "note": ""}, {"text": "s4", "policy": "sup4", "note": ""}],
             "worker": "w2", "batch": "batch3.json", "extra": {"confidence": 3}},
            {"info": {"id": "t3_3", "post": "Long", "title": "T", "subreddit": "r"}, "split": "valid1", "choice": 0,
             "summaries": [{"text": "s5", "policy": "sup4", "note": ""}, {"text": "s6", "policy": "sup4", "note": ""}],
             "worker": "w2", "batch": "batch4.json", "extra": {"confidence": 3}},
        ],
        [("w1", "sup4", "ref", "right", 1, "t3_1"), ("w2", "ppo", "sup4", "left", 1, "t3_2")],
        set_aside=1,
        nested=True,
    ),
    "alpaca eval": Sample(
        "alpaca-eval",
        [
            {"instruction": "Sing", "output_1": "La", "generator_1": "davinci", "output_2": "Li", "generator_2": "gpt-4",
             "annotator": "weighted_gpt4", "preference": 2.0},
            {"instruction": "Run", "output_1": "Ok", "generator_1": "davinci", "output_2": "No", "generator_2": "llama",
             "annotator": "weighted_gpt4", "preference": 1.25},
            {"instruction": "Jump", "output_1": "Ok", "generator_1": "llama", "output_2": "No", "generator_2": "gpt-4",
             "annotator": "claude", "preference": 1.5},
        ],
        [
            ("weighted_gpt4", "davinci", "gpt-4", "right", 1, "Sing"),
            ("weighted_gpt4", "davinci", "llama", "left", 0.75, "Run"),
            ("weighted_gpt4", "davinci", "llama", "right", 0.25, "Run"),
            ("claude", "llama", "gpt-4", "tie", 1, "Jump"),
        ],
    ),
    "wide": Sample(
        "wide",
        [
            {"left": "a", "right": "b", "ann": "left", "bob": "right", "cleo": None},
            {"left": "b", "right": "c", "ann": "left", "bob": "tie", "cleo": "left"},
        ],
        [
            ("ann", "a", "b", "left", 1, ""),
            ("bob", "a", "b", "right", 1, ""),
            ("ann", "b", "c", "left", 1, ""),
            ("bob", "b", "c", "tie", 1, ""),
            ("cleo", "b", "c", "left", 1, ""),
        ],
        missing=1,
    ),
    "wide, prompts": Sample(
        "wide",
        [
            {"left": "a", "right": "b", "prompt": "p1", "ann": "left", "bob": "right"},
            {"left": "a", "right": "b", "prompt": "p2", "ann": "left", "bob": "tie"},
        ],
        [
            ("ann", "a", "b", "left", 1, "p1"),
            ("bob", "a", "b", "right", 1, "p1"),
            ("ann", "a", "b", "left", 1, "p2"),
            ("bob", "a", "b", "tie", 1, "p2"),
        ],
    ),
    "wide, numbers": Sample(
        "wide",
        [
            {"left": "a", "right": "b", "ann": 1, "bob": 0.0, "cleo": None},
            {"left": "b", "right": "c", "ann": 1, "bob": 0.5, "cleo": 1.0},
        ],
        [
            ("ann", "a", "b", "left", 1, ""),
            ("bob", "a", "b", "right", 1, ""),
            ("ann", "b", "c", "left", 1, ""),
            ("bob", "b", "c", "tie", 1, ""),
            ("cleo", "b", "c", "left", 1, ""),
        ],
        missing=1,
    ),
    "named pairs": Sample(
        "named-pairs",
        [
            {"home": "Rovers", "away": "City", "result": "home", "referee": "x"},
            {"home": "City", "away": "Rovers", "result": "draw", "referee": "y"},
            {"home": "Town", "away": "City", "result": "away", "referee": "x"},
        ],
        [
            ("unnamed", "Rovers", "City", "left", 1, ""),
            ("unnamed", "City", "Rovers", "tie", 1, ""),
            ("unnamed", "Town", "City", "right", 1, ""),
        ],
    ),
    "evaluatorq": Sample(
        "evaluatorq",
        [
            {"judge": "gpt-4o", "item_a": "v1", "item_b": "v2", "p_a": 0.75, "weight": 2.0},
            {"judge": "claude", "item_a": "v2", "item_b": "v3", "p_a": 1.0, "weight": 1.0},
            {"judge": "claude", "item_a": "v1", "item_b": "v3", "p_a": 0.5, "weight": 1.0},
        ],
        [
            ("gpt-4o", "v1", "v2", "left", 1.5, ""),
            ("gpt-4o", "v1", "v2", "right", 0.5, ""),
            ("claude", "v2", "v3", "left", 1, ""),
            ("claude", "v1", "v3", "tie", 1, ""),
        ],
    ),
    "comparative judgement": Sample(
        "comparative-judgement",
        [
            {"judge": "j1", "candidate_chosen": "essay-7", "candidate_not_chosen": "essay-2"},
            {"judge": "j2", "candidate_chosen": "essay-2", "candidate_not_chosen": "essay-9"},
        ],
        [("j1", "essay-2", "essay-7", "right", 1, ""), ("j2", "essay-2", "essay-9", "left", 1, "")],
        sides=False,
    ),
    "ratings": Sample(
        "ratings",
        [
            {"annotator": "ann", "item": "x", "rating": 5},
            {"annotator": "ann", "item": "y", "rating": 3},
            {"annotator": "ann", "item": "z", "rating": 3},
            {"annotator": "bob", "item": "x", "rating": 1},
            {"annotator": "bob", "item": "y", "rating": 2},
            {"annotator": "bob", "item": "z", "rating": None},
        ],
        [
            ("ann", "x", "y", "left", 1, ""),
            ("ann", "x", "z", "left", 1, ""),
            ("ann", "y", "z", "tie", 1, ""),
            ("bob", "x", "y", "right", 1, ""),
        ],
        set_aside=1,
        sides=False,
    ),
    "ratings, prompts": Sample(
        "ratings",
        [
            {"annotator": "ann", "item": "x", "rating": 5, "prompt": "p1"},
            {"annotator": "ann", "item": "y", "rating": 3, "prompt": "p1"},
            {"annotator": "ann", "item": "x", "rating": 1, "prompt": "p2"},
            {"annotator": "ann", "item": "y", "rating": 4, "prompt": "p2"},
        ],
        [("ann", "x", "y", "left", 1, "p1"), ("ann", "x", "y", "right", 1, "p2")],
        sides=False,
    ),
}  # fmt: skip
