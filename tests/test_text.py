from __future__ import annotations

import json

import pytest

from jamrank.text import about, number, percent, plot_text, safe_line, safe_text, without_lone_surrogates

HOSTILE = {
    "escape sequence": "\x1b[2J\x1b]0;title\x07",
    "carriage return": "good\rbad",
    "lines": "one\ntwo\x0bthree\u2028four",
    "lone surrogate": "cut \ud83d off",
    "direction": "abc\u202etxt.exe",
    "null": "a\0b",
    "c1": "a\x9b31mb",
    "byte order mark": "\ufeffid",
    "private use": "\ue000",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_outside_text_is_printable_on_one_line_and_can_be_encoded(text):
    for safe in (safe_text(text), safe_line(text), plot_text(text)):
        assert safe.isprintable()
        safe.encode()
        assert safe_text(safe) == safe


@pytest.mark.parametrize("text", ["plain", "Zoë", "日本語", "👩‍👩‍👧", "[en]", "[/x]", "a=b", "-1", ""])
def test_harmless_text_stays_as_it_is(text):
    assert safe_text(text) == text


@pytest.mark.parametrize("longest", [8, 60, 1000])
def test_long_text_is_cut_in_the_middle(longest):
    safe = safe_text("head" + "x" * 1_000_000 + "tail", longest)
    assert len(safe) == longest
    assert safe.startswith("head") and safe.endswith("il") and "…" in safe


def test_a_dollar_sign_starts_no_formula_in_a_plot():
    from matplotlib.cbook import is_math_text

    for name in ("$5 or $6", r"\$x$", "$$", r"$\frac{1}{2}$"):
        assert not is_math_text(plot_text(name))


def test_a_lone_surrogate_in_json_is_text_and_a_pair_is_a_character():
    text = without_lone_surrogates(r'["\ud83d", "\ud83d\ude00", "\\ud83d", "\ude00x"]')
    assert json.loads(text) == [r"\ud83d", "😀", r"\ud83d", r"\ude00x"]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, "<1 %"),
        (0.001, "<1 %"),
        (0.005, "<1 %"),
        (0.0051, "1 %"),
        (0.506, "51 %"),
        (0.9949, "99 %"),
        (0.995, ">99 %"),
        (0.999, ">99 %"),
        (1.0, ">99 %"),
    ],
)
def test_no_probability_is_0_or_100_percent(share, expected):
    assert percent(share) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0.2, "about 0 votes"),
        (1.0, "about 1 vote"),
        (9.4, "about 9 votes"),
        (443.2, "about 440 votes"),
        (99.6, "about 100 votes"),
        (15_773.0, "about 16,000 votes"),
    ],
)
def test_estimated_counts_have_two_digits(count, expected):
    assert about(count, "vote") == expected


@pytest.mark.parametrize(
    ("value", "written"),
    [(208.00000000000003, "208"), (207.99999999999997, "208"), (25.29, "25.29"), (1234.0, "1,234"), (0.25, "0.25")],
)
def test_a_sum_of_weights_that_is_whole_has_no_decimals(value, written):
    assert number(value) == written
