import math

import pytest

from jamrank.report import markup


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [(1234.5, 1, "1,234.5"), (-0.001, 2, "0.00"), (-2, 0, "−2"), (-0.0, 0, "0"), (None, 2, "–")],
)
def test_decimal(value, digits, expected):
    assert markup.decimal(value, digits) == expected


def test_count_keeps_the_fraction_of_weights():
    assert (markup.count(1200.0), markup.count(1.5), markup.count(None)) == ("1,200", "1.5", "–")
    assert markup.count(sum([0.1] * 160)) == "16"


@pytest.mark.parametrize(("span", "expected"), [(0, 3), (8, 2), (0.8, 3), (800, 0), (1e9, 0), (1e-30, 9)])
def test_digits_for_a_span(span, expected):
    assert markup.digits_for(span) == expected


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 1e300, "1"])
def test_what_cannot_be_drawn_is_none(value):
    assert markup.finite(value) is None


def test_shorten_keeps_both_ends_and_the_width():
    assert markup.shorten("abcdefghij", 10) == "abcdefghij"
    assert markup.shorten("abcdefghijk", 10) == "abcdef…ijk"


def test_shorten_counts_wide_letters_twice():
    assert markup.shorten("日本語日本語", 12) == "日本語日本語"
    assert markup.shorten("日本語日本語日", 12) == "日本語日…日"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, "7"), (None, "–"), (math.nan, "–"), ("", "(empty)"), ("a\nb\0", "a\ufffdb\ufffd"), ("añb", "añb")],
)
def test_plain_ids(value, expected):
    assert markup.plain(value) == expected


def test_tag_escapes_attributes_and_leaves_out_none():
    assert (
        markup.tag("a", "<b>", title='"<', class_="c", aria_label=None) == '<a title="&quot;&lt;" class="c"><b></a>'
    )
