from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.jury import Verdict, parse_verdict


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"verdict": "left", "strength": 0.25}', Verdict("answered", "left", 0.25)),
        ('{"verdict": "Right", "strength": null}', Verdict("answered", "right")),
        ('{"strength": 1, "verdict": "tie", "why": "equal"}', Verdict("answered", "tie", 1.0)),
        ('```json\n{"verdict": "left"}\n```', Verdict("answered", "left")),
        ('{"verdict": "refuse"}', Verdict("refused")),
        ('{"verdict": "left", "strength": 7}', Verdict("answered", "left")),
        ('{"verdict": "left", "strength": true}', Verdict("answered", "left")),
        ('{"verdict": "left", "strength": "strong"}', Verdict("answered", "left")),
        ("right", Verdict("answered", "right")),
        (" **Left.** ", Verdict("answered", "left")),
        ("Both are good.\n\n**Verdict:** left", Verdict("answered", "left")),
        ("verdict = tie\nthat is all", Verdict("answered", "tie")),
        ("refuse", Verdict("refused")),
        ("", Verdict("unparsable")),
        ("I think left is better", Verdict("unparsable")),
        ("left or right", Verdict("unparsable")),
        ("verdict: left\nverdict: right", Verdict("unparsable")),
        ("verdict: left\nverdict: left", Verdict("unparsable")),
        ('{"verdict": "both"}', Verdict("unparsable")),
        ('{"verdict": ["left"]}', Verdict("unparsable")),
        ('{"answer": "left"}', Verdict("unparsable")),
        ('["left"]', Verdict("unparsable")),
        ('{"verdict": "left"} {"verdict": "right"}', Verdict("unparsable")),
        ('{"verdict": "left"', Verdict("unparsable")),
        ("[" * 100_000, Verdict("unparsable")),
    ],
)
def test_a_reply_is_a_verdict_or_unparsable(reply, verdict):
    assert parse_verdict(reply) == verdict


@given(st.text())
def test_any_text_is_parsed_to_something(text):
    assert parse_verdict(text).kind in ("answered", "refused", "unparsable")
