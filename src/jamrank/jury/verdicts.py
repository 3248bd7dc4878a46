"""Strict parsing of replies as verdicts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_WORDS = ("left", "right", "tie", "refuse")
_LINE = re.compile(
    r"[\s*_`\"'#>-]*verdict[\s*_`\"']*[:=][\s*_`\"']*(left|right|tie|refuse)[\s*_`\"'.]*", re.IGNORECASE
)
_BLOCK = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Verdict:
    """The verdict of a reply.

    kind: ``"answered"``, ``"refused"`` or ``"unparsable"``.
    outcome: ``"left"``, ``"right"`` or ``"tie"`` of an answer.
    strength: From 0 to 1.
    """

    kind: str
    outcome: str | None = None
    strength: float | None = None


def parse_verdict(reply: str) -> Verdict:
    """Return the verdict of a reply.

    A reply is one JSON object with ``verdict``, alone or in a code block; or has exactly one line ``verdict: left``;
    or is that one word. Anything else, including two verdicts, is unparsable.
    """
    text = reply.strip()
    block = _BLOCK.fullmatch(text)
    found = _of_json(block.group(1) if block else text)
    if found is not None:
        return found
    if text.lower().strip("\"'.*` ") in _WORDS:
        return _of_word(text.lower().strip("\"'.*` "))
    lines = [match.group(1).lower() for line in text.splitlines() if (match := _LINE.fullmatch(line))]
    return _of_word(lines[0]) if len(lines) == 1 else Verdict("unparsable")


def _of_json(text: str) -> Verdict | None:
    """Return the verdict of a JSON object; None if the text is not one."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    word, strength = content.get("verdict"), content.get("strength")
    if not isinstance(word, str) or word.lower() not in _WORDS:
        return Verdict("unparsable")
    return _of_word(word.lower(), _strength(strength))


def _strength(value: Any) -> float | None:
    """Return a number from 0 to 1, or None if invalid; the verdict is valid without it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _of_word(word: str, strength: float | None = None) -> Verdict:
    return Verdict("refused") if word == "refuse" else Verdict("answered", word, strength)
