"""Text for people: numbers in sentences, and text from outside made safe to show."""

from __future__ import annotations

import re

# A surrogate as JSON escapes it: two of them are one character, one alone is none. Other escapes are passed over.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPED = re.compile(rf"{_PAIR}|\\(u[dD][89a-fA-F][0-9a-fA-F]{{2}})|\\.", re.S)

# The longest id that a message shows in full, and the longest message.
LONGEST_ID, _LONGEST_LINE = 60, 2000
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# They join letters and emoji in names.
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"


def number(value: float) -> str:
    """Return a count or a weight, with thousands separators: without decimals where it is whole but for rounding."""
    return f"{value:,.0f}" if round(value, 9) == round(value) else f"{value:,.2f}"


def many(count: float, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is one."""
    return f"{number(count)} {noun}" + ("" if count == 1 else "s")


def pairs_of_items(n_pairs: int, n_items: int, n_questions: int) -> str:
    """Return how many pairs there are of how many items; a pair counts once in every question."""
    asked = f" in {many(n_questions, 'question')}" if n_questions > 1 else ""
    return f"{many(n_pairs, 'pair')} of {many(n_items, 'item')}{asked}"


def in_percent(value: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100 * value:.{digits}f} %"


def percent(share: float) -> str:
    """Return a probability in percent, as text; never 0 % or 100 %."""
    whole = round(100 * share)
    if whole < 1:
        return "<1 %"
    return ">99 %" if whole > 99 else f"{whole} %"


def two_digits(value: float) -> float:
    """Return a value rounded to two significant digits: what an estimate can claim."""
    return float(f"{value:.2g}")


def about(count: float, noun: str) -> str:
    """Return an estimated count to two significant digits, with its noun."""
    return f"about {many(round(two_digits(count)), noun)}"


def safe_text(value: object, longest: int = LONGEST_ID) -> str:
    r"""Return text from outside, such as an id, as it can be shown anywhere.

    White space becomes spaces. Control characters, characters that change the direction of text, lone surrogates and
    unassigned characters become U+FFFD, so that no escape sequence is left. A long text is cut in the middle.

    Parameters
    ----------
    value : object
        Anything; shown by its ``str``.
    longest : int
        The largest number of characters to return.

    Examples
    --------
    >>> safe_text("red\x1b[31m")
    'red�[31m'
    >>> safe_text("x" * 1_000_000, longest=12)
    'xxxxxxxx…xxx'
    """
    text = str(value)
    if len(text) > longest:
        tail = longest // 4
        text = f"{text[: longest - tail - 1]}…{text[-tail:]}"
    return text if text.isprintable() else "".join(map(_safe_character, text))


def _safe_character(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if character.isspace() else _REPLACEMENT


def unicode_text(text: str) -> str:
    r"""Return text that can be written as UTF-8: a lone surrogate, half of a character, is escaped as ``\ud83d``.

    Texts that differ stay different, unlike with a replacement character.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def without_lone_surrogates(json_text: str) -> str:
    """Return JSON in which the escape of a lone surrogate is its own text, so that ids that differ stay different."""
    return _ESCAPED.sub(_without_half, json_text) if _SURROGATE.search(json_text) else json_text


def _without_half(escape: re.Match[str]) -> str:
    return rf"\\{escape[1]}" if escape[1] else escape[0]


def safe_line(value: object) -> str:
    """Return a message on one line, safe to print on a terminal; an overlong one is cut in the middle."""
    return " ".join(safe_text(value, _LONGEST_LINE).split())


def plot_text(value: object, longest: int = LONGEST_ID) -> str:
    """Return text as matplotlib draws it literally: safe, and with no dollar sign that begins a formula."""
    return safe_text(value, longest).replace("$", r"\$")
