import re

import pytest

from jamrank.report import svg


def chart(*rows, **axis):
    settings = {"low": 0.0, "high": 1.0, "label": "score", "ticks": (0.0, 0.5, 1.0)} | axis
    return svg.interval_chart(rows, svg.Axis(**settings), title="T", desc="D", heads=("item", "range"))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-2.1, 2.3, [-2, -1, 0, 1, 2]),
        (1, 80, [20, 40, 60, 80]),
        (0.001, 0.004, [0.001, 0.0015, 0.002, 0.0025, 0.003, 0.0035, 0.004]),
    ],
)
def test_ticks_are_round_and_inside(low, high, expected):
    assert svg.ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize("span", [1e-8, 0.37, 5, 1234.5, 7e12])
@pytest.mark.parametrize("middle", [0, -3.3, 1e5])
def test_ticks_are_few(span, middle):
    found = svg.ticks(middle - span / 2, middle + span / 2)
    assert 2 <= len(found) <= 7


def test_scale_holds_values_inside_the_plot():
    scale = svg.Scale(0.0, 10.0, 20.0, 80.0)
    assert [scale(v) for v in (-5, 0, 5, 10, 99)] == [20, 20, 50, 80, 80]


def test_range_of_values_covers_intervals():
    low, high = svg.value_range([svg.Mark("a", 0.0, -0.5, 0.5), svg.Mark("b", 2.0, 1.0, 3.0)])
    assert low == pytest.approx(-0.54)
    assert high == pytest.approx(3.04)


def test_one_wide_interval_does_not_hide_the_dots():
    low, high = svg.value_range([svg.Mark("a", 0.0, -900.0, 900.0), svg.Mark("b", 2.0)])
    assert (low, high) == pytest.approx((-2.04, 4.04))


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ([], (0, 1)),
        ([svg.Mark("a", None)], (0, 1)),
        ([svg.Mark("a", 3.0)], (2, 4)),
        ([svg.Mark("a", 3.0, 2.5, 3.5), svg.Mark("b", 3.0)], (2.5, 3.5)),
    ],
)
def test_range_without_spread(marks, expected):
    assert svg.value_range(marks) == pytest.approx(expected)


def test_dot_and_interval_stand_at_their_values():
    drawn = chart(svg.Mark("a", 0.5, 0.25, 1.0))
    left, right = 35.0, 98.0
    assert f'cx="{left + 0.5 * (right - left):.2f}%"' in drawn
    assert f'x1="{left + 0.25 * (right - left):.2f}%" x2="{right:.2f}%"' in drawn


def test_a_mark_without_value_has_a_name_and_no_dot():
    drawn = chart(svg.Mark("nameless score", None, 0.1, 0.2), svg.Mark("b", 0.5))
    assert "nameless score" in drawn
    assert drawn.count("<circle") == 1
    assert 'class="interval"' not in drawn


def test_an_interval_that_leaves_the_plot_is_marked_where_it_does():
    inside, beyond = chart(svg.Mark("a", 0.5, 0.0, 1.0)), chart(svg.Mark("a", 0.5, 0.0, 1.5))
    assert "›" not in inside
    assert "›" in beyond and "‹" not in beyond


def test_long_names_are_cut_with_the_full_text_in_the_title():
    name = "x" * 200
    drawn = chart(svg.Mark(name, 0.5))
    assert f"<title>{name}</title>" in drawn
    shown = re.findall(r'class="name \w+">([^<]*)<', drawn)
    assert [len(text) for text in shown] == [svg.LONG_LABEL, svg.SHORT_LABEL]


def test_notes_and_the_reference_line():
    drawn = chart(svg.Mark("a", 0.1), notes=((0.5, "coin toss"),), reference=0.5)
    assert re.search(r'<line x1="66.50%" x2="66.50%"[^>]*class="reference"', drawn)
    assert re.search(r'<text x="66.50%"[^>]*>coin toss<', drawn)


def test_line_rises_on_the_page_when_values_rise():
    drawn = svg.line_chart([(1, -9.0), (2, -5.0), (3, -4.0)], title="T", desc="D", x_label="i", y_label="ll")
    points = re.search(r'points="([^"]*)"', drawn).group(1).split()
    across, down = zip(*(map(float, point.split(",")) for point in points), strict=True)
    assert across == (0.0, 500.0, 1000.0)
    assert down[0] > down[1] > down[2]


@pytest.mark.parametrize("share", [0.0, 0.253, 1.0])
def test_probability_bar_is_as_wide_as_its_share(share):
    assert f'<rect width="{100 * share:.1f}%" height="10" class="fill">' in svg.probability_bar(share)


@pytest.mark.parametrize("n", [20, 41, 61])
def test_charts_taller_than_a_printed_page_shrink_to_it(n):
    drawn = chart(*[svg.Mark("a", 0.5)] * n)
    height = int(re.search(r'class="chart" width="100%" height="(\d+)"', drawn).group(1))
    fit = re.search(r"--fit:([\d.]+)", drawn)
    assert (fit is None) == (n == 20)
    assert height * float(fit.group(1) if fit else 1) < 800


def test_bars_begin_at_zero_and_go_to_their_side():
    marks = [svg.Mark("up", 1.0), svg.Mark("down", -0.5), svg.Mark("none", None)]
    drawn = svg.bar_chart(marks, svg.Axis(-1.0, 1.0, "effect", (-1.0, 0.0, 1.0)), title="T", desc="D", head="feature")
    zero, end = 66.5, 98.0
    assert f'<rect x="{zero:.2f}%" y="31" width="{end - zero:.2f}%" height="12" class="effect raises">' in drawn
    assert re.search(r'<rect x="50.75%" y="53" width="15.75%" height="12" class="effect lowers">', drawn)
    assert drawn.count("effect ") == 2
