"""What all kinds of hostile cases share: how a case ends, and names and numbers that break things."""

# ruff: noqa: E501
from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jamrank.errors import JamrankError

__all__ = ["ENDS", "HOSTILE", "REFUSED", "RIGHT", "STRICT", "WRONG", "Case", "Ending", "attempt", "hostile_text"]

RIGHT, REFUSED, STRICT, WRONG = "right", "refused", "refused, though a way to read it was found", "wrong"
ENDS = (RIGHT, REFUSED, STRICT, WRONG)
# How a case ended, and why.
Ending = tuple[str, str]
Case = Callable[[random.Random, Path], Ending]

HOSTILE = [
    "[/x]", "[en]", "[red]r[/red]", "[link=x]", "\x1b[31mred\x1b]0;t\x07", "\x9b2J", "\x1bc", "a\u202eb", "\u2066x", "$x$", "$\\frac{", "\\", "_^{",
    "=1+1", "@SUM(A1)", "+1", "-1", "\t=1", "a\nb", "a\r\nb", "\u2028", "\x00", "\x7f", "\ud83d", "\udc00\ud800", "caf\ud83d", "\udcff", "😀" * 9,
    "👩\u200d🔬", "e\u0301", "\u00e9", "A", "a", " a", "a ", "\u00a0", "\ufeff", "\ufffe", "\U0010ffff", "<script>alert(1)</script>", "\"><svg/onload=x>",
    "</style>", "{{7*7}}", "%s%n", "{0}", "../../etc/passwd", "nan", "None", "null", "inf", "0", "007", "1e5", "1.0", "True", "\u0130", "ß",
    "x" * 5000, "|", "`", "~", "*b*", "#", "--help", "-", "", " ", "a,b", 'say "hi"', "'", "；", "\u0600", "\u200b", "left", "right", "tie",
]  # fmt: skip


def hostile_text(rng: random.Random) -> str:
    """Return a name that breaks things, alone or joined with others."""
    how = rng.random()
    if how < 0.6:
        return rng.choice(HOSTILE)
    if how < 0.8:
        return "".join(rng.choice(HOSTILE) for _ in range(rng.randrange(1, 5)))
    return "".join(chr(rng.choice([rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000)])) for _ in range(rng.randrange(12)))  # fmt: skip


def attempt(call: Callable[[], Any]) -> tuple[Any, Ending | None]:
    """Return what a call returned or, where it raised, how the case ended: refused in one line, or wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(), None
    except JamrankError as error:
        line = str(error)
        if "\n" in line or not line.strip():
            return None, (WRONG, f"not one line: {line[:200]!r}")
        return None, (REFUSED, line[:200])
    except BaseException as error:
        if type(error) is KeyboardInterrupt:
            raise
        return None, (WRONG, f"{type(error).__name__}: {error}"[:500] + where(error))


def where(error: BaseException) -> str:
    """Return the innermost place of jamrank in a traceback."""
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "jamrank" in name:
            place = f" at {Path(name).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
