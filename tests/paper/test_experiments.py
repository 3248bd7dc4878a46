"""Every experiment of the paper, small: what it records, shows and draws, and the trends that it is about.

All run on generated data; those on wine and digits, in the long suite, also on the paper's own where they are.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from dataclasses import replace
from functools import cache, partial
from xml.etree import ElementTree

import numpy as np
import pytest

from jamrank.data.comparisons import Comparisons
from jamrank.errors import JamrankWarning
from jamrank.kernels import kernels
from jamrank.models import IAM
from jamrank.paper import best_rule_accuracy, digits, majority_accuracy, published
from jamrank.paper.digits import CLASSIFIERS, RIVALS, DigitsTrial
from jamrank.paper.experiments import EXPERIMENTS
from jamrank.paper.figures import figure_files
from jamrank.paper.losses import CURVES
from jamrank.paper.methods import METHODS, fit_methods
from jamrank.paper.ratings import EXPECTED, MEAN, simulate_ratings
from jamrank.paper.trials import Measurement, Record, estimate, pick, value_of
from jamrank.paper.wine import COLOURS, WineTrial, different_pairs, noisy_votes, wine_flips
from tests.paper.stand_in import PenDigits, RedWine, StandIn, lacks

SEEDS = 2
JOINT = ("JAM", "VRJAM")
WORLDS = {"stand-in": StandIn(), "red wine": RedWine(), "pendigits": PenDigits()}


def needs(name: str):
    return pytest.mark.skipif(lacks(name), reason=f"needs {name}: set JAMRANK_DATA to the data folder")


RED_WINE = pytest.param("red wine", marks=[needs("winequality-red.csv"), pytest.mark.long])
on_wine = pytest.mark.parametrize("world", ["stand-in", RED_WINE])
on_both_wines = pytest.mark.parametrize("colour", COLOURS)
everywhere = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in ("digits", "ratings") else []) for name in EXPERIMENTS],
)


@cache
def found(trial, world: str = "stand-in") -> list[Measurement]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        return trial.run(WORLDS[world])


@cache
def records(name: str, world: str = "stand-in", more: tuple = ()) -> list[Record]:
    """Return the records of the quick version with two seeds, and of further trials."""
    trials = [*EXPERIMENTS[name].trials(SEEDS, quick=True), *more]
    return EXPERIMENTS[name].records({trial: found(trial, world) for trial in trials})


def mean(found: list[Record], **wanted) -> float:
    values = [record.value for record in pick(found, **wanted)]
    assert values, wanted
    return sum(values) / len(values)


def error(percent: float, pairs: float) -> float:
    """Return four standard errors of a share of independent pairs, in points."""
    share = percent / 100
    return 400 * math.sqrt(share * (1 - share) / pairs)


def number(record: Record) -> float:
    return float(record.setting.split("=")[1])


# -- what every experiment owes -----------------------------------------------------------------------------


@everywhere
def test_records_are_complete_and_tidy(name):
    rows = records(name)
    assert rows
    for row in rows:
        assert row.experiment == name
        assert all(isinstance(text, str) for text in (row.dataset, row.model, row.metric, row.setting))
        assert row.dataset
        assert row.model
        assert row.metric
        assert row.seed is None or row.seed in range(SEEDS)
        assert math.isfinite(row.value)
        assert row.paper is None or math.isfinite(row.paper)
    text = json.dumps([row.as_dict() for row in rows], allow_nan=False)
    assert [Record(**row) for row in json.loads(text)] == rows
    names = [(row.dataset, row.model, row.metric, row.setting, row.seed) for row in rows]
    assert len(set(names)) == len(names)


@everywhere
def test_whatever_is_random_is_recorded_for_every_seed(name):
    seeds = {}
    for row in records(name):
        if row.seed is not None:
            seeds.setdefault((row.dataset, row.model, row.metric, row.setting), set()).add(row.seed)
    assert seeds
    assert all(each == set(range(SEEDS)) for each in seeds.values())


@everywhere
def test_more_seeds_add_trials_and_change_none(name):
    few, many = (EXPERIMENTS[name].trials(seeds, quick=False) for seeds in (1, 3))
    assert set(few) < set(many)
    assert len(set(many)) == len(many)


def printed_in_the_paper(row: Record) -> float | None:
    """Return what the paper prints for a record; it prints none of its curves."""
    match row.experiment, row.dataset, row.metric:
        case "flips", "red", "flip" if row.model in JOINT:
            return published.FLIPS[row.model][int(number(row)) - 1]
        case "flips", "red", "flip error" if number(row) == 20_000:
            return float(np.abs(np.array(published.FLIPS[row.model]) - np.arange(1, 7) / 20).mean())
        case "accuracy", colour, "accuracy":
            return published.ACCURACY[colour].get(row.model)
        case "digits", _, "annotator" if row.setting == "ties=random":
            return published.CLASSIFIERS[CLASSIFIERS.index(row.model)]
        case "digits", _, "accuracy" if row.setting == "ties=random":
            return published.DIGITS[row.model]
        case "ratings", "speakers", "share":
            return published.SHARES[row.setting.removeprefix("attribute=")].get(row.model)
    return None


@everywhere
def test_the_papers_numbers_stand_where_the_paper_prints_them(name):
    rows = records(name)
    assert [row.paper for row in rows] == [pytest.approx(printed_in_the_paper(row)) for row in rows]
    assert any(row.paper is not None for row in rows) == (name in ("flips", "accuracy", "digits", "ratings"))


@everywhere
def test_tables_are_whole(name):
    rows = records(name)
    text = EXPERIMENTS[name].table(rows)
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert tables
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert not re.search(r"\bnan\b", text)
    for what, ours, paper in EXPERIMENTS[name].summary(rows):
        assert what
        assert "nan" not in ours
        assert re.search(r"\d", ours)
        assert isinstance(paper, str)


def test_a_table_shows_the_mean_and_its_interval():
    rows, experiment = records("accuracy"), EXPERIMENTS["accuracy"]
    a, b = (row.value for row in pick(rows, dataset="red", model="JAM", metric="accuracy"))
    # Student's t with one degree of freedom: 12.706 standard errors, each half of the distance.
    assert f"| {(a + b) / 2:.2f} ± {12.7062 * abs(a - b) / 2:.2f} |" in experiment.table(rows)
    assert f"/ {(a + b) / 2:.2f} /" in experiment.summary(rows)[0][1]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "loss" else pytest.mark.long) for n in EXPERIMENTS]
)
def test_figures_are_the_same_every_time(name):
    draw = partial(EXPERIMENTS[name].draw, records(name))
    assert figure_files(draw) == figure_files(draw)


@everywhere
def test_figures_come_as_png_and_svg(name):
    draw = partial(EXPERIMENTS[name].draw, records(name))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*Glyph")
        files = figure_files(draw)
    assert set(files) == {f"{name}.png", f"{name}.svg"}
    assert files[f"{name}.png"].startswith(b"\x89PNG")
    words = {text.strip() for text in ElementTree.fromstring(files[f"{name}.svg"]).itertext()}
    (figure,) = draw().values()
    labels = {label for axis in figure.axes for label in (axis.get_xlabel(), axis.get_ylabel()) if label}
    assert labels
    assert labels <= words


def test_an_estimate_is_a_mean_with_students_interval():
    rows = [Record("e", "d", "m", "accuracy", "", seed, value) for seed, value in enumerate((1.0, 2.0, 6.0))]
    three = estimate(rows)
    assert (three.mean, three.n) == (3, 3)
    assert three.half == pytest.approx(4.302653 * math.sqrt(7 / 3))
    assert three.text(1) == "3.0 ± 6.6"
    assert estimate(rows[:1]).text() == "1.00"
    assert math.isnan(estimate([]).mean)


def test_one_value_is_asked_for_by_its_whole_name():
    rows = [Measurement("JAM", "flip", "annotator=1", 0.1), Measurement("JAM", "flip", "annotator=2", 0.2)]
    assert value_of(rows, "JAM", "flip", "annotator=2") == 0.2
    for missing in ("", "annotator=3"):
        with pytest.raises(ValueError, match="unpack"):
            value_of(rows, "JAM", "flip", missing)


# -- flips --------------------------------------------------------------------------------------------------


@on_wine
@pytest.mark.parametrize("model", JOINT)
def test_flips_are_found_better_than_in_the_paper_and_from_ever_fewer_pairs(world, model):
    rows = pick(records("flips", world), dataset="red", model=model, metric="flip error")
    errors = {size: mean(rows, setting=f"pairs={size}") for size in (300, 1000, 3000, 20_000)}
    assert list(errors.values()) == sorted(errors.values(), reverse=True)
    assert errors[20_000] < 0.0155 / 3
    flips = wine_flips()
    for size, found in errors.items():
        if_truth_were_known = np.sqrt(2 / np.pi * flips * (1 - flips) / size).mean()
        assert found < 2.5 * if_truth_were_known


def test_the_flip_error_is_the_mean_distance_from_the_truth():
    rows = pick(records("flips"), dataset="white", model="JAM", seed=1)
    flips = np.array([row.value for row in sorted(pick(rows, metric="flip"), key=number)])
    assert mean(rows, metric="flip error") == pytest.approx(np.abs(flips - np.arange(1, 7) / 20).mean())
    assert [row.value for row in pick(records("flips"), dataset="red", model="theory")] == list(wine_flips())


# -- accuracy -----------------------------------------------------------------------------------------------


@on_wine
@on_both_wines
def test_accuracies_are_where_theory_puts_them(world, colour):
    rows = pick(records("accuracy", world), dataset=colour)
    found = {model: mean(rows, model=model, metric="accuracy") for model in METHODS}
    majority, best = 100 * majority_accuracy(wine_flips()), 100 * best_rule_accuracy(wine_flips())
    pairs = SEEDS * mean(rows, metric="pairs")
    assert mean(rows, model="theory: majority vote") == pytest.approx(majority)
    assert mean(rows, model="theory: best rule") == pytest.approx(best)
    assert found["MV"] == pytest.approx(majority, abs=error(majority, pairs))
    for model in JOINT:
        assert found[model] > best - error(best, pairs)
        assert found[model] > found["MV"] + 1
        assert mean(rows, model=model, metric="order") > mean(rows, model="MV", metric="order")
    assert found["IAM"] == pytest.approx(mean(rows, model="IAM", metric="order"), abs=error(found["IAM"], pairs))
    assert 50 < found["IAM"] < found["JAM"] - 5


def test_iam_decides_pairs_by_the_sum_of_its_annotators_scores():
    features, quality = StandIn().wine("red")
    rng = np.random.default_rng(0)
    left, right = different_pairs(quality, None, rng)
    scores = IAM().fit(noisy_votes(left, right, quality, wine_flips(), rng), features).annotator_scores_.sum(axis=0)
    agree = np.sign(scores[left] - scores[right]) == np.sign(quality[left] - quality[right])
    every = found(WineTrial("red", 0))
    assert value_of(every, "data", "pairs") == len(left)
    assert value_of(every, "IAM", "accuracy") == pytest.approx(100 * agree.mean(), abs=1e-9)
    assert value_of(every, "IAM", "order") == pytest.approx(100 * agree.mean(), abs=1e-9)


@on_wine
def test_rankers_that_have_not_converged_are_weak(world):
    rows = pick(records("accuracy", world), dataset="red", metric="ranker")
    worst = {model: min(row.value for row in pick(rows, model=model)) for model in {row.model for row in rows}}
    assert set(worst) == {"IAM", "SVM, raw", "SVM, standardised"}
    assert all(len(pick(rows, model=model, seed=0)) == 6 for model in worst)
    assert max(worst["SVM, raw"], worst["SVM, standardised"]) < worst["IAM"] - 5


# -- noise --------------------------------------------------------------------------------------------------

# The last step at which the mean of b is below 0.48.
LAST_SAFE = tuple(WineTrial("red", seed, noise=2.5937, n_pairs=20_000) for seed in range(SEEDS))


@on_wine
@on_both_wines
def test_majority_vote_follows_theory_at_every_noise(world, colour):
    rows = pick(records("noise", world, LAST_SAFE), dataset=colour, metric="accuracy")
    alphas = {number(row) for row in rows}
    assert len(alphas) >= 4
    for alpha in alphas:
        here = [row for row in rows if number(row) == alpha]
        theory = 100 * majority_accuracy(wine_flips(6, alpha))
        assert mean(here, model="theory: majority vote") == pytest.approx(theory)
        assert mean(here, model="MV") == pytest.approx(theory, abs=error(theory, SEEDS * 20_000))


@on_wine
@on_both_wines
def test_jam_is_above_majority_vote_until_most_votes_are_wrong(world, colour):
    rows = pick(records("noise", world, LAST_SAFE), dataset=colour)
    sides = {True: 0, False: 0}
    for alpha in {number(row) for row in rows}:
        here = [row for row in rows if number(row) == alpha]
        best = 100 * best_rule_accuracy(wine_flips(6, alpha))
        level = wine_flips(6, alpha).mean()
        assert level < 0.48 or level > 0.52
        sides[level < 0.5] += 1
        for model in JOINT:
            jam, given = (mean(here, model=model, metric=m) for m in ("accuracy", "accuracy, sign given"))
            assert given > best - error(best, SEEDS * 20_000)
            if level < 0.5:
                assert jam >= mean(here, model="MV", metric="accuracy") - 0.1
                assert jam == given
            else:
                assert jam < mean(here, model="MV", metric="accuracy") < 50
                assert jam == pytest.approx(100 - given)
    assert min(sides.values()) >= 1


def test_noise_is_capped():
    assert wine_flips(6, 3.4523)[-1] == 0.95
    np.testing.assert_allclose(wine_flips(9), np.arange(1, 10) / 20)


# -- annotators ---------------------------------------------------------------------------------------------


@on_wine
@on_both_wines
def test_more_annotators_help_jam_more_than_majority_vote(world, colour):
    rows = pick(records("annotators", world), dataset=colour, metric="accuracy")
    ahead = {
        k: mean(rows, model="JAM", setting=f"K={k}") - mean(rows, model="MV", setting=f"K={k}") for k in (3, 6, 9)
    }
    flips = wine_flips(9)
    # With three annotators theory gives weights no advantage.
    in_theory = 100 * (best_rule_accuracy(flips) - majority_accuracy(flips))
    assert ahead[9] - ahead[3] > in_theory / 2
    assert ahead[3] > 0
    assert mean(rows, model="JAM", setting="K=9") > mean(rows, model="JAM", setting="K=3")
    assert mean(rows, model="MV", setting="K=9") < mean(rows, model="MV", setting="K=3")


# -- digits -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_digits_are_ranked_with_both_treatments_of_ties():
    rows = records("digits")
    assert {row.setting for row in rows} == {"", "ties=random", "ties=left out"}
    ties = mean(rows, metric="ties")
    assert 0 < ties < 50
    for setting in ("ties=random", "ties=left out"):
        here = pick(rows, setting=setting)
        single = [mean(here, model=model, metric="annotator") for model in CLASSIFIERS]
        assert all(50 < value < 95 for value in single)
        for model in METHODS:
            assert 55 < mean(here, model=model, metric="accuracy") < 95
            assert 55 < mean(here, model=model, metric="order") < 95
        assert mean(here, model="MV", metric="accuracy") > sum(single) / 5
        for one, other in RIVALS:
            p = [row.value for row in pick(here, model=f"{one} - {other}", metric="McNemar p")]
            assert len(p) == SEEDS
            assert all(0 <= value <= 1 for value in p)
    # A coin is right half the time, so that tied votes pull an annotator towards one half.
    for model in CLASSIFIERS:
        decided, confusion_groups = (
            mean(rows, model=model, metric="annotator", setting=f"ties={s}") for s in ("left out", "random")
        )
        assert 50 < confusion_groups < decided


@pytest.mark.long
def test_differences_are_between_the_accuracies():
    rows = pick(records("digits"), setting="ties=random")
    for seed in range(SEEDS):
        for one, other in RIVALS:
            gap = mean(rows, model=one, metric="accuracy", seed=seed) - mean(
                rows, model=other, metric="accuracy", seed=seed
            )
            # Coins decide no tied pair here: five votes are never tied.
            assert mean(rows, model=f"{one} - {other}", metric="difference", seed=seed) == pytest.approx(
                gap, abs=1e-9
            )


def by_hand(better: int, worse: int) -> float:
    """Return the p-value of a fair coin that fell so: both tails at least as far out."""
    n = better + worse
    tail = sum(math.comb(n, k) for k in range(min(better, worse) + 1)) / 2**n
    return min(1.0, 2 * tail)


def test_mcnemars_test_counts_the_pairs_that_one_method_alone_gets_right():
    features, drawn = (column[:40] for column in StandIn().digits())
    rng = np.random.default_rng(3)
    read = np.where(rng.random((40, 5)) < 0.5, rng.integers(0, 10, (40, 5)), drawn[:, None])
    left, right, outcomes = digits._pairs_and_outcomes(drawn, read)
    votes = Comparisons.from_matrix(left, right, np.where(outcomes == 0.5, np.nan, outcomes))
    rows = digits._compare(votes, features, drawn.astype(float), "small", 9)
    fits = fit_methods(votes, features)
    truth = drawn[left] > drawn[right]
    hits = {name: (fit.posterior_ > 0.5) == truth for name, fit in fits.items()}
    hits["MV"] = fits["MV"].decide(9) == truth
    for one, other in RIVALS:
        alone = [(a, b) for a, b in zip(hits[one].tolist(), hits[other].tolist(), strict=True) if a != b]
        better, worse = alone.count((True, False)), alone.count((False, True))
        assert better != worse
        name = f"{one} - {other}"
        assert value_of(rows, name, "difference", "small") == pytest.approx(100 * (better - worse) / len(truth))
        assert value_of(rows, name, "McNemar p", "small") == pytest.approx(by_hand(better, worse), rel=1e-9)


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (1, 0), (0, 6), (3, 3), (8, 2), (2, 8), (40, 17)])
def test_mcnemars_p_value(better, worse):
    assert digits._mcnemar(better, worse) == pytest.approx(by_hand(better, worse))


def measured(trial: DigitsTrial, data: StandIn, read, monkeypatch) -> list[Measurement]:
    """Run a trial with what the classifiers read given."""
    monkeypatch.setattr(digits, "machine_predictions", lambda features, labels, seed: read(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        return trial.run(data)


def independent_errors(labels: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(4)
    guess = rng.integers(0, 10, (len(labels), 5))
    return np.where(rng.random(guess.shape) < (0.2, 0.3, 0.4, 0.5, 0.6), guess, labels[:, None])


def test_jam_beats_majority_vote_where_classifiers_err_independently(monkeypatch):
    rows = measured(DigitsTrial(0, 150), StandIn(), independent_errors, monkeypatch)
    for setting in ("ties=random", "ties=left out"):
        assert value_of(rows, "JAM - MV", "difference", setting) > 0
        assert value_of(rows, "JAM", "accuracy", setting) > value_of(rows, CLASSIFIERS[0], "annotator", setting)


class Falling(StandIn):
    """Digits in falling order, so that the left one of a pair is always the greater."""

    def digits(self) -> tuple[np.ndarray, np.ndarray]:
        features, drawn = super().digits()
        order = np.argsort(-drawn, kind="stable")
        return features[order], drawn[order]


def test_coins_that_break_ties_have_no_favourite_side(monkeypatch):
    def read(labels: np.ndarray) -> np.ndarray:
        votes = independent_errors(labels)
        votes[:, 4] = np.arange(len(labels)) == 0  # all but one image look alike to the last
        return votes

    rows = measured(DigitsTrial(0, 100), Falling(), read, monkeypatch)
    pairs = value_of(rows, "data", "pairs")
    assert value_of(rows, CLASSIFIERS[4], "annotator", "ties=left out") == 100
    assert value_of(rows, CLASSIFIERS[4], "annotator", "ties=random") == pytest.approx(51, abs=error(50, pairs))


@pytest.mark.long
@needs("pendigits.tra")
def test_jam_is_not_below_majority_vote_on_the_papers_digits():
    rows = records("digits", "pendigits")
    for setting in ("ties=random", "ties=left out"):
        jam, mv = (mean(rows, model=model, metric="accuracy", setting=setting) for model in ("JAM", "MV"))
        assert jam >= mv - 1


# -- ratings ------------------------------------------------------------------------------------------------


def by_simulation(model: str, metric: str, effect: int) -> np.ndarray:
    rows = pick(records("ratings"), dataset="simulated", model=model, metric=metric)
    return np.array([row.value for row in rows if row.setting.startswith(f"effect={effect}, ")])


@pytest.mark.long
@pytest.mark.parametrize("effect", [65, 80])
def test_jam_finds_the_effect_that_raters_blur(effect):
    truth = by_simulation("truth", "share", effect)
    assert len(truth) == 20
    bias = {model: (by_simulation(model, "share", effect) - truth).mean() for model in (*METHODS, EXPECTED, MEAN)}
    assert abs(bias["JAM"]) < abs(bias["MV"])
    assert abs(bias["JAM"]) < abs(bias["IAM"])
    low, high = (by_simulation("JAM", end, effect) for end in ("low", "high"))
    assert ((low <= effect) & (effect <= high)).sum() >= 16
    for model in bias:
        assert (by_simulation(model, "low", effect) <= by_simulation(model, "share", effect)).all()
        assert (by_simulation(model, "share", effect) <= by_simulation(model, "high", effect)).all()


@pytest.mark.parametrize("effect", [0.5, 0.65, 0.8])
def test_simulated_ratings_have_the_effect_and_the_raters_that_they_claim(effect):
    shares, follows = [], []
    for seed in range(100):
        quality, features, ratings, member = simulate_ratings(effect, np.random.default_rng(seed))
        shares.append((quality[member][:, None] > quality[~member]).mean())
        follows.append([np.corrcoef(quality, rater)[0, 1] for rater in ratings.T])
    assert features.shape == (105, 8)
    assert member.sum() == 40
    assert set(np.unique(ratings)) <= set(range(5))
    assert np.mean(shares) == pytest.approx(effect, abs=4 * np.std(shares) / 10)
    assert (np.diff(np.mean(follows, axis=0)) < 0).all()
    assert min(np.mean(follows, axis=0)[:2]) > 0.7


def test_features_explain_half_of_the_quality():
    explained = []
    for seed in range(50):
        quality, features, _, _ = simulate_ratings(0.8, np.random.default_rng(seed))
        centred, matrix = quality - quality.mean(), features - features.mean(axis=0)
        rest = centred - matrix @ np.linalg.lstsq(matrix, centred, rcond=None)[0]
        # Less what eight columns explain by chance.
        explained.append(1 - rest.var() / centred.var() * (104 / 96))
    assert np.mean(explained) == pytest.approx(0.5, abs=4 * np.std(explained) / math.sqrt(50))


@pytest.mark.long
def test_speakers_are_rated_by_emotion_and_by_the_opposite_of_artificial():
    rows = pick(records("ratings"), dataset="speakers")
    assert {row.setting for row in rows} == {"attribute=expressiveness", "attribute=naturalness"}
    emotion, genuine = (
        [(r.model, r.metric, r.value) for r in pick(rows, setting=f"attribute={a}")]
        for a in ("expressiveness", "naturalness")
    )
    # In the stand-in one slider is the other turned round.
    assert emotion == genuine
    women = StandIn().speakers().female.sum()
    assert mean(rows, metric="pairs") <= women * (40 - women)
    for model in (*METHODS, EXPECTED, MEAN):
        assert mean(rows, model=model, metric="share") > 50
        assert mean(rows, model=model, metric="low") < mean(rows, model=model, metric="high")


# -- loss ---------------------------------------------------------------------------------------------------


def smooth_hinge(margin) -> np.ndarray:
    return -CURVES["negative smooth hinge"](np.asarray(margin, dtype=float))


def test_the_smooth_hinge_is_rennies():
    assert smooth_hinge([0, 0.5, 1, 1.5, 30]).tolist() == [0.5, 0.125, 0, 0, 0]
    below = np.linspace(-9, 0, 19)
    np.testing.assert_allclose(np.diff(smooth_hinge(below)), -0.5)
    margin = np.linspace(-3, 3, 601)
    hinge = -CURVES["negative hinge"](margin)
    np.testing.assert_allclose(hinge, np.maximum(0, 1 - margin))
    assert (smooth_hinge(margin) <= hinge).all()
    assert (smooth_hinge(margin) >= hinge - 0.5 - 1e-12).all()
    # Neither a step nor a corner where the pieces meet.
    slope = np.diff(smooth_hinge(margin)) / np.diff(margin)
    assert np.abs(np.diff(slope)).max() < 0.011
    np.testing.assert_allclose(CURVES["log of the logistic"](margin), -np.log(1 + np.exp(-margin)))


@pytest.mark.parametrize(("loss", "curve"), [(0, "log of the logistic"), (1, "negative smooth hinge")])
@pytest.mark.parametrize("margin", [-2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 3.0])
def test_curves_are_what_the_m_step_raises(loss, curve, margin):
    layout, none = (np.array([0, 1, 1]), np.array([1], dtype=np.int32)), np.empty(0, dtype=np.int32)
    scores = np.array([margin, 0.0])
    for posterior, orientation in ((1.0, 1), (0.0, -1)):
        sums = np.empty(1, dtype=np.float32), np.empty(2), np.empty(2)
        value = kernels.maximisation(*layout, none, np.empty(0), np.array([posterior]), scores, loss, *sums, 1)
        assert value == pytest.approx(float(CURVES[curve](np.array([orientation * margin]))[0]), abs=1e-12)


@on_wine
def test_either_loss_will_do(world):
    rows = pick(records("loss", world), dataset="red", metric="accuracy")
    assert {row.model for row in rows} == {"JAM, logistic", "JAM, hinge"}
    logistic, hinge = (mean(rows, model=f"JAM, {loss}") for loss in ("logistic", "hinge"))
    assert hinge == pytest.approx(logistic, abs=1)
    assert min(logistic, hinge) > 100 * majority_accuracy(wine_flips()) + 1


def test_the_same_votes_serve_both_losses_and_the_other_experiments():
    rows = pick(records("loss"), dataset="red", model="JAM, logistic")
    for row in rows:
        same = found(WineTrial("red", row.seed, n_pairs=20_000))
        assert row.value == pytest.approx(value_of(same, "JAM", "accuracy"), abs=1e-9)


# -- votes --------------------------------------------------------------------------------------------------


def test_pairs_are_of_different_quality_and_each_comes_once():
    quality = np.array([3.0, 5, 5, 6, 3, 7])
    every = {(a, b) for a in range(6) for b in range(a + 1, 6) if quality[a] != quality[b]}
    left, right = different_pairs(quality, None, np.random.default_rng(0))
    assert set(zip(left.tolist(), right.tolist(), strict=True)) == every
    left, right = different_pairs(quality, 5, np.random.default_rng(0))
    some = set(zip(left.tolist(), right.tolist(), strict=True))
    assert len(left) == len(some) == 5
    assert some < every
    assert len(different_pairs(quality, 500, np.random.default_rng(0))[0]) == len(every)


def test_annotators_flip_as_often_as_they_should_and_independently():
    _, quality = StandIn().wine("white")
    rng = np.random.default_rng(2)
    left, right = different_pairs(quality, 20_000, rng)
    votes = noisy_votes(left, right, quality, wine_flips(), rng)
    truth = quality[votes.items[votes.pair_first]] > quality[votes.items[votes.pair_second]]
    wrong = (votes.vote_result.reshape(-1, 6) == 1) != truth[:, None]
    np.testing.assert_allclose(wrong.mean(axis=0), wine_flips(), atol=4 * 0.5 / math.sqrt(20_000))
    together = np.corrcoef(wrong.T) - np.eye(6)
    assert np.abs(together).max() < 4 / math.sqrt(20_000)


def test_trials_depend_on_nothing_but_their_fields():
    trial = WineTrial("red", 0, n_pairs=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        assert trial.run(StandIn()) == found(trial)
        assert replace(trial, seed=1).run(StandIn()) != found(trial)
