import re

import pytest

import jamrank as jr
from jamrank.errors import NotFittedError, ParameterError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def drawn():
    return jr.simulate(20, 6, 2000, flips=[0.05, 0.1, 0.1, 0.2, 0.5, 0.9], n_features=3, random_state=3)


@pytest.fixture(scope="module")
def fitted(drawn):
    return jr.JAM().fit(drawn.votes)


@pytest.fixture(autouse=True)
def close():
    yield
    matplotlib.pyplot.close("all")


def test_the_ranking_is_drawn_best_first_on_given_axes(fitted):
    import matplotlib.pyplot as plt

    ax = plt.subplots()[1]
    assert fitted.plot("ranking", ax) is ax
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [f"{item}  {rank}" for item, rank in fitted.ranking_.select("item", "rank").iter_rows()]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert ax.collections[1].get_offsets()[:, 0].tolist() == fitted.ranking_["score"].to_list()


def test_long_rankings_are_cut_and_say_so(fitted):
    ax = fitted.plot("ranking", most=5)
    assert len(ax.get_yticklabels()) == 5 and "the first 5 of 20 items" in ax.get_title(loc="left")


def test_annotators_have_the_colours_of_their_verdicts(fitted):
    ax = fitted.plot("annotators")
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(text.startswith("adversarial (1)") for text in told)
    ends = fitted.plot("annotators", most=2)
    flips = sorted(fitted.flip_)
    assert ends.collections[1].get_offsets()[:, 0].tolist() == pytest.approx([flips[0], flips[-1]])


def test_the_map_of_vrjam_is_a_matrix_and_of_others_a_scatter(drawn, fitted):
    model = jr.VRJAM(n_clusters=2).fit(drawn.votes, drawn.features)
    ax = model.plot("reliability")
    assert ax.images[0].get_array().shape == (6, 2)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["type 1", "type 2"]
    plain = fitted.plot("reliability")
    assert plain.collections[0].get_offsets()[:, 1].tolist() == pytest.approx(fitted.flip_.tolist())
    plain.figure.canvas.draw()
    assert all(label.get_text().replace(",", "").isdigit() for label in plain.get_xticklabels())
    assert not any(label.get_text() for label in plain.get_xticklabels(minor=True))
    assert {text.get_text() for text in plain.texts} == set(map(str, fitted.annotators_["annotator"]))


@pytest.mark.parametrize("name", ["ranking", "annotators", "reliability"])
def test_plots_need_a_fit(name):
    with pytest.raises(NotFittedError):
        jr.JAM().plot(name)


def test_plots_need_something_to_draw(fitted):
    with pytest.raises(ParameterError, match="most is 0"):
        fitted.plot("ranking", most=0)


def test_models_without_errors_can_be_drawn(drawn):
    assert jr.Borda().fit(drawn.votes).plot("ranking") is not None


def test_a_notebook_shows_the_ends_of_both_tables(fitted):
    html = fitted._repr_html_()
    first = fitted.ranking_["item"][0]
    assert html.index(first) < html.index("… 7 more …")
    assert html.count("<table>") == 2 and "adversarial" in html
    assert len(re.findall("<tr>", html)) == 2 + 10 + 1 + 3 + 6


def test_a_notebook_escapes_ids():
    votes = jr.Comparisons.from_arrays(["<b>", "c"], ["c", "<b>"], ["<i>", "<i>"], [1, 0])
    html = jr.JAM().fit(votes)._repr_html_()
    assert "<b>" not in html and "<i>" not in html and "&lt;b&gt;" in html


def test_before_a_fit_a_notebook_shows_the_arguments():
    assert jr.JAM(max_iter=7)._repr_html_() == "<pre>JAM(max_iter=7)</pre>"


def test_hostile_names_are_drawn_as_text():
    names = ["$x", "a $y$ b", "\\$", "[/x]", "\x1b[31m", "x" * 100_000]
    votes = jr.Comparisons.from_arrays(names[:-1], names[1:], names[1:], [1] * 5)
    model = jr.JAM().fit(votes)
    for what in ("ranking", "annotators", "reliability"):
        ax = model.plot(what)
        ax.figure.canvas.draw()
        shown = [label.get_text() for label in ax.get_yticklabels()]
        assert all(len(text) < 50 and text.isprintable() for text in shown)


def test_a_plot_that_does_not_exist_is_refused(fitted):
    with pytest.raises(ParameterError, match="what is 'pie'"):
        fitted.plot("pie")
