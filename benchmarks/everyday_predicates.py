"""Predicates of what is printed of a fit: whether a sentence holds, given the simulated truth and the votes.

A predicate returns True or False, or the share of a sentence that is wrong together with the share that may be:
"95 %" may be wrong in 5 of 100.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

import jamrank as jr
from benchmarks.everyday_jobs import Drawn
from jamrank.data.storage import FIRST, TIE
from jamrank.report import Analysis

Found = bool | tuple[float, float]
# An annotator with a lower flip is careful; one with a higher flip may be called random.
CAREFUL, NEARLY_RANDOM = 0.25, 0.35
# Standard deviation, over pairs of items, of the probability of the right order where nine of ten are right.
_SPREAD = 0.13
ID = r"[\w.\- ]+?"


@dataclass(frozen=True)
class Context:
    """A drawn set, what was read of it, and the fit that speaks of it."""

    drawn: Drawn
    votes: jr.Comparisons
    model: Any
    oracle: Any
    analysis: Analysis

    # -- the truth ------------------------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> tuple[frozenset[str], ...]:
        return self.drawn.groups or (frozenset(self.drawn.scores),)

    @cached_property
    def rank(self) -> dict[str, int]:
        """The true rank of each item, within its group."""
        score = self.drawn.scores
        return {item: 1 + sum(score[o] > score[item] for o in group) for group in self.groups for item in group}

    def above(self, one: str, other: str) -> bool:
        return self.drawn.scores[one] > self.drawn.scores[other]

    def flip(self, name: str) -> float | None:
        return self.drawn.flips.get(name, 0.0 if name in self.drawn.honest else None)

    # -- the votes ------------------------------------------------------------------------------------------------

    @cached_property
    def wins(self) -> Any:
        """Decided votes for the item of the row over that of the column; of a soft vote, its shares."""
        votes, n = self.votes, self.votes.n_items
        found, decided = np.zeros((n, n)), votes.vote_result < 2
        pair = votes.vote_pair[decided]
        first, second, won = votes.pair_first[pair], votes.pair_second[pair], votes.vote_result[decided] == 1
        np.add.at(found, (np.where(won, first, second), np.where(won, second, first)), votes.vote_weight[decided])
        return found

    @property
    def n_decided(self) -> float:
        return float(self.wins.sum())

    @cached_property
    def items(self) -> list[str]:
        return list(map(str, self.votes.items.tolist()))

    @cached_property
    def tied_items(self) -> set[str]:
        """Items with a tie, whose scores are finite without a prior."""
        at = self.votes.vote_pair[self.votes.vote_result == 2]
        return {self.items[k] for k in (*self.votes.pair_first[at], *self.votes.pair_second[at])}

    @cached_property
    def annotator_votes(self) -> dict[str, float]:
        return dict(zip(map(str, self.votes.annotators.tolist()), self.votes.annotator_weight.tolist(), strict=True))

    @cached_property
    def certain(self) -> tuple[int, int, int]:
        """Pairs within groups, those called certain, and those of them in the wrong order."""
        place = {item: k for k, item in enumerate(map(str, self.analysis.items.tolist()))}
        pairs = [(a, b) for group in self.groups for a in sorted(group) for b in sorted(group) if a < b]
        first, second = (np.array([place[pair[k]] for pair in pairs]) for k in (0, 1))
        above = self.analysis.order.above(first, second)
        sure = (above >= 0.975) | (above <= 0.025)
        right = np.array([self.above(a, b) for a, b in pairs])
        return len(pairs), int(sure.sum()), int((sure & ((above > 0.5) != right)).sum())

    @property
    def order(self) -> float:
        """The share of pairs in the right order."""
        found = dict(zip(map(str, self.analysis.items.tolist()), self.analysis.scores.tolist(), strict=True))
        return order_share(found, self.drawn)


def order_share(found: dict[str, float], drawn: Drawn) -> float:
    """Return the share of pairs in the right order, within groups where votes join no others; ties count half."""
    right = total = 0.0
    for group in drawn.groups or (frozenset(drawn.scores),):
        items = sorted(item for item in group if item in found)
        true, score = np.array([drawn.scores[i] for i in items]), np.array([found[i] for i in items])
        first, second = np.triu_indices(len(items), 1)
        agree = np.sign(true[first] - true[second]) * np.sign(np.round(score[first] - score[second], 9))
        right, total = right + float(((agree + 1) / 2).sum()), total + len(first)
    return right / total


# -- reading a sentence ----------------------------------------------------------------------------------------------


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _chance(text: str) -> float:
    """Return a probability as it is printed, ``>99 %`` as the least that it stands for."""
    return 0.995 if text.startswith(">") else 0.0 if text.startswith("<") else float(text.removesuffix("%")) / 100


def _names(text: str) -> list[str]:
    """Return the names of a list in words; those of "and 3 more" are not in it."""
    text = re.sub(r"(?: and [\d,]+ more|, …)$", "", text)
    return [name for name in re.split(r", | and ", text) if name]


def _with_chances(text: str) -> list[tuple[str, float]]:
    return [(name.strip(), _chance(p)) for name, p in re.findall(rf"({ID}) \(([<>]?\d+ %)\)(?:, | and |$|\.)", text)]


# -- predicates: the ranking -----------------------------------------------------------------------------------------


def first(m: re.Match[str], c: Context) -> Found:
    if not last_only(m, c):
        return False
    wrong = float(c.rank[m["first"]] != 1)
    others = [name for name, _ in _with_chances(m["others"] or "")]
    if others and "more" not in m["others"]:
        # The other candidates are those with at least 2.5 % each.
        missed = float(all(c.rank[name] != 1 for name in (m["first"], *others)))
        named = _chance(m["p"]) + sum(p for _, p in _with_chances(m["others"]))
        return (wrong + missed) / 2, (1 - _chance(m["p"]) + max(1 - named, 0.005)) / 2
    return wrong, 1 - _chance(m["p"])


def likelier_first(m: re.Match[str], c: Context) -> Found:
    place = {str(item): k for k, item in enumerate(c.analysis.items.tolist())}
    likelier, first = place[m["likelier"]], place[m["first"]]
    chance, score = c.analysis.first_probability, c.analysis.scores
    return bool(chance[likelier] > chance[first] and score[likelier] < score[first])


def firsts(m: re.Match[str], c: Context) -> Found:
    found = re.findall(rf"({ID}) \(of ([\d,]+) items, probability ([<>]?\d+ %)\)", m["rest"])
    right = all(sum(name.strip() in group for group in c.groups) == 1 for name, _, _ in found)
    wrong = [float(c.rank[name.strip()] != 1) for name, _, _ in found]
    return (float(np.mean(wrong)), float(np.mean([1 - _chance(p) for *_, p in found]))) if right else False


def rank_intervals(m: re.Match[str], c: Context) -> Found:
    held = [
        int(low) <= c.rank[name.strip()] <= int(high or low)
        for name, low, high in re.findall(rf"({ID}) \((\d+)(?:–(\d+))?\)(?:, |\.)", m["rest"])
    ]
    return 1 - float(np.mean(held)), 0.07


def median(m: re.Match[str], c: Context) -> Found:
    low, high = c.analysis.rank_intervals or (np.zeros(0), np.zeros(0))
    n = len(c.items)
    rank = np.array([c.rank[str(item)] for item in c.analysis.items.tolist()])
    upper, lower = high <= n // 2, low > (n + 1) // 2
    if m["upper"] and (int(upper.sum()), int(lower.sum())) != (_number(m["upper"]), _number(m["lower"])):
        return False
    wrong = [*(rank[upper] > n // 2), *(rank[lower] <= (n + 1) // 2)] if m["upper"] else []
    return (float(np.mean(wrong)) if wrong else 0.0), 0.05


def every_rank(m: re.Match[str], c: Context) -> Found:
    frame = c.oracle.ranking_
    width = 1 + float(np.median(frame["rank_high"].to_numpy() - frame["rank_low"].to_numpy()))
    return 1.3 * width + 0.5 >= len(c.items)


def all_certain(m: re.Match[str], c: Context) -> Found:
    _, sure, wrong = c.certain
    return wrong / max(sure, 1), 0.025


def some_certain(m: re.Match[str], c: Context) -> Found:
    total, sure, wrong = c.certain
    if "neighbours" not in m["which"] and (sure, total) != (_number(m["sure"]), _number(m["total"])):
        return False
    return wrong / max(sure, 1), 0.025


def none_certain(m: re.Match[str], c: Context) -> Found:
    return "neighbours" in m["which"] or c.certain[1] == 0


def two_items(m: re.Match[str], c: Context) -> Found:
    _, sure, wrong = c.certain
    return (float(wrong), 0.025) if bool(sure) != bool(m["open"]) else False


def least_certain(m: re.Match[str], c: Context) -> Found:
    found = re.findall(rf"({ID}) over ({ID}) \(([<>]?\d+ %)\)", m["rest"])
    wrong = [float(not c.above(a.strip(), b.strip())) for a, b, _ in found]
    return float(np.mean(wrong)), float(np.mean([1 - _chance(p) for *_, p in found]))


def compare_first(m: re.Match[str], c: Context) -> Found:
    named = [m["first"], *_names(m["others"])]
    if "more" in m["others"]:
        return True
    place = {str(item): k for k, item in enumerate(c.analysis.items.tolist())}
    chance = sum(float(c.analysis.first_probability[place[name]]) for name in named)
    return float(all(c.rank[name] != 1 for name in named)), max(1 - chance, 0.01)


def many_first(m: re.Match[str], c: Context) -> Found:
    chance = np.sort(c.analysis.first_probability)[::-1]
    return float(chance[:3].sum()) < 0.5


def shared_first(m: re.Match[str], c: Context) -> Found:
    score = c.analysis.scores
    return int((score > score.max() - 1e-9).sum()) == (_number(m["n"]) if m["n"] else 2)


def last_only(m: re.Match[str], c: Context) -> Found:
    ranking = c.analysis.ranking
    last = set(map(str, ranking.filter(ranking["rank"] == ranking["rank"].max())["item"].to_list()))
    return last == {m["last"]} if m["shared"] is None else len(last) == _number(m["shared"])


# -- predicates: annotators ------------------------------------------------------------------------------------------


def _careful(name: str, c: Context) -> bool:
    flip = c.flip(name)
    return flip is not None and flip < CAREFUL


def excluded(m: re.Match[str], c: Context) -> Found:
    wrong = []
    for names, reason in re.findall(
        r"([^;:]+?) ((?:is|are) indistinguishable from random voting|nearly always chooses? the same side|"
        r"chooses? one side more often than the items explain, and tells? almost nothing else)",
        m["rest"],
    ):
        biased = "side" in reason
        wrong += [_careful(name, c) or (biased and name not in c.drawn.biased) for name in _names(names.strip())]
    return (float(np.mean(wrong)), 0.01) if wrong else False


def prefers_side(m: re.Match[str], c: Context) -> Found:
    names = _names(m["names"])
    if ("corrects" in m["how"]) != c.analysis.result.judging.annotators.corrects_sides:
        return False
    return float(np.mean([name not in c.drawn.biased for name in names])), 0.01


def none_excluded(m: re.Match[str], c: Context) -> Found:
    random = [
        name for name, votes in c.annotator_votes.items() if votes >= 50 and abs((c.flip(name) or 0) - 0.5) < 0.01
    ]
    return float(bool(random)), 1 - 0.95 ** len(random)


def reviewed(m: re.Match[str], c: Context) -> Found:
    flips = [c.flip(name) for name in _names(m["names"])]
    turned = "this model" in m["done"]
    if turned != c.analysis.models_annotators:
        return False
    return float(np.mean([flip is not None and flip < 0.5 for flip in flips])), 0.025


def kept(m: re.Match[str], c: Context) -> Found:
    wrong = []
    for kind, names in re.findall(
        r"[\d,]+ (reliable|noisy[^(]*|with a preference for a side|with many ties) \(([^)]*)\)", m["rest"]
    ):
        if "weight" in kind and not c.analysis.models_annotators:
            return False
        if kind.startswith("with a preference"):
            continue  # judged by the sentence about it
        worst = {"r": NEARLY_RANDOM, "n": 0.5, "w": 1.0}[kind[0]]
        wrong += [(c.flip(name) or 0.0) > worst for name in _names(names)]
        if kind.startswith("with many ties"):
            return False  # nobody is drawn so
    return (float(np.mean(wrong)), 0.025) if wrong else False


def too_few(m: re.Match[str], c: Context) -> Found:
    frame = c.analysis.annotators
    few = {str(name) for name in frame.filter(frame["verdict"] == "too few votes")["annotator"].to_list()}
    return len(few) == _number(m["n"]) and set(_names(m["names"])) <= few


def no_cycle(m: re.Match[str], c: Context) -> Found:
    ids = (c.votes.items[side].tolist() for side in (c.votes.pair_first, c.votes.pair_second))
    pairs = {frozenset(pair) for pair in zip(*ids, strict=True)}
    groups = {item: {item} for item in c.drawn.scores}
    for a, b in map(tuple, pairs):
        if groups[str(a)] is groups[str(b)]:
            return False
        groups[str(a)] |= groups[str(b)]
        groups.update(dict.fromkeys(groups[str(a)], groups[str(a)]))
    return True


def alone(m: re.Match[str], c: Context) -> Found:
    return sum(votes > 0 for votes in c.annotator_votes.values()) == 1


def correlated(m: re.Match[str], c: Context) -> Found:
    # Annotators are independent here: a false alarm.
    return 1.0, 0.02


def without_effects(m: re.Match[str], c: Context) -> Found:
    """Judge whether there is an effect of the side, and as many ranks change as is said."""
    frames = c.model.model_.ranking_, c.model.model_.ranking_with_effects_
    ranks = [dict(zip(frame["item"].to_list(), frame["rank"].to_list(), strict=True)) for frame in frames]
    changed = sum(rank != ranks[1][item] for item, rank in ranks[0].items())
    told = re.search(r"the ranks? of (\d+) items? changes?", m[0])
    return c.drawn.sides and changed == (int(told[1]) if told else 0)


def shared_taste(m: re.Match[str], c: Context) -> Found:
    # Nobody shares a taste here.
    return 1.0, 1 - float(m["p"])


def no_tastes(m: re.Match[str], c: Context) -> Found:
    return 1.0, 0.02


def same_votes(m: re.Match[str], c: Context) -> Found:
    """Judge whether their votes are the same, and as many as is said: then both hardly err, or it is an accident."""
    codes = [list(map(str, c.votes.annotators.tolist())).index(name) for name in _names(m["names"])]
    seen = [c.votes.vote_pair[(c.votes.vote_annotator == k) & (c.votes.vote_result != TIE)] for k in codes[:2]]
    if len(np.intersect1d(*seen)) != _number(m["pairs"]):
        return False
    return float(np.mean([(c.flip(name) or 0.0) > 0.1 for name in _names(m["names"])])), 0.05


def judged(m: re.Match[str], c: Context) -> Found:
    return m["model"] in ("BradleyTerry", "AmElo") and m["model"] == c.analysis.result.model


# -- predicates: data ------------------------------------------------------------------------------------------------


def size(m: re.Match[str], c: Context) -> Found:
    frame = c.drawn.frame
    rows = frame["weight"].sum() if "weight" in frame.columns else frame.height
    judges = next((name for name in ("annotator", "judge", "user") if name in frame.columns), None)
    n = frame[judges].n_unique() if judges is not None else None
    told = None if m["judges"] is None else _number(m["judges"])
    return _number(m["votes"]) == rows and told == n and _number(m["items"]) == len(c.items)


def _components(c: Context) -> int:
    return int(connected_components(csr_array(c.wins + c.wins.T), directed=False)[0])


def n_groups(m: re.Match[str], c: Context) -> Found:
    return _components(c) == _number(m["n"])


def connected(m: re.Match[str], c: Context) -> Found:
    return _components(c) == 1


def bridge(m: re.Match[str], c: Context) -> Found:
    at = {item: k for k, item in enumerate(c.items)}
    cut = c.wins + c.wins.T
    direct = cut[at[m["a"]], at[m["b"]]]
    cut[at[m["a"]], at[m["b"]]] = cut[at[m["b"]], at[m["a"]]] = 0
    return direct == _number(m["votes"]) and int(
        connected_components(csr_array(cut), directed=False)[0]
    ) > _components(c)


def one_opponent(m: re.Match[str], c: Context) -> Found:
    return int((((c.wins + c.wins.T) > 0).sum(axis=1) == 1).sum()) == _number(m["n"])


def every_vote(m: re.Match[str], c: Context) -> Found:
    lost = c.wins.sum(axis=0 if m["verb"] in ("won", "lost a") else 1)
    there = c.wins.sum(axis=0) + c.wins.sum(axis=1) > 0
    never = {item for item, votes, any_ in zip(c.items, lost, there, strict=True) if any_ and votes == 0}
    named = set(_names(m["names"]))
    return named <= never and not named & c.tied_items


def one_way(m: re.Match[str], c: Context) -> Found:
    n = connected_components(csr_array(c.wins), directed=True, connection="strong")[0]
    return int(n) == _number(m["n"]) and not c.votes.n_ties


def _triads(wins: Any) -> tuple[float, float]:
    """Return all and circular triads of majorities, by powers of their matrix."""
    over = (wins > wins.T).astype(float)
    joined = over + over.T
    return float(np.trace(joined @ joined @ joined)) / 6, float(np.trace(over @ over @ over)) / 3


def cycles(m: re.Match[str], c: Context) -> Found:
    total, circular = _triads(c.wins)
    if m["about"]:
        return abs(_number(m["total"]) / max(total, 1) - 1) < 0.2
    return (round(total), round(circular)) == (_number(m["total"]), _number(m["circular"]))


def not_careful(m: re.Match[str], c: Context) -> Found:
    return float(np.mean([_careful(name, c) for name in _names(m["names"])])), 0.01


def repeats(m: re.Match[str], c: Context) -> Found:
    votes, decided = c.votes, (c.votes.vote_result < 2) & ~c.votes.vote_soft
    cell = votes.vote_pair[decided].astype(np.int64) * votes.n_annotators + votes.vote_annotator[decided]
    _, place = np.unique(cell, return_inverse=True)
    won = votes.vote_result[decided] == 1
    for_first, for_second = (np.bincount(place, votes.vote_weight[decided] * side) for side in (won, ~won))
    n = for_first + for_second
    agree = (for_first * (for_first - 1) + for_second * (for_second - 1))[n > 1].sum() / (n * (n - 1))[n > 1].sum()
    return abs(100 * agree - float(m["share"])) < 0.06 and int((n > 1).sum()) == _number(m["pairs"])


def left(m: re.Match[str], c: Context) -> Found:
    v = c.votes
    decided = v.vote_result != TIE
    first = ((v.vote_result == FIRST) ^ v.vote_swapped)[decided]
    n, won = v.vote_weight[decided].sum(), v.vote_weight[decided][first].sum()
    if abs(100 * won / n - float(m["share"])) > 0.06:
        return False
    # The sentence gives its own probability: at least that of independent votes, in percent.
    least = 200 * float(ndtr(-2 * abs(won / n - 0.5) * np.sqrt(n)))
    return bool(least < 0.1 if m["chance"].startswith("less") else float(m["chance"]) >= least - 0.06)


def agreeing(m: re.Match[str], c: Context) -> Found:
    scores = c.analysis.scores if "quick" not in m[0] else None
    if scores is None:
        return True
    gap = np.round(scores[:, None] - scores[None, :], 9)
    share = (c.wins * (gap > 0)).sum() + 0.5 * (c.wins * (gap == 0)).sum()
    return abs(100 * share / c.n_decided - float(m["share"])) < 0.11


def open_sign(m: re.Match[str], c: Context) -> Found:
    flips = [(c.flip(name), votes) for name, votes in c.annotator_votes.items()]
    weight = sum(votes * (1 - 2 * (flip or 0.0)) for flip, votes in flips)
    return weight < 0.1 * sum(votes for _, votes in flips)


def opposed(m: re.Match[str], c: Context) -> Found:
    """Judge whether some annotator is inverted, and the share of right votes is as claimed, within 5 points."""
    flips = [(c.flip(name) or 0.0, votes) for name, votes in c.annotator_votes.items()]
    right = sum(votes * (1 - flip) for flip, votes in flips) / sum(votes for _, votes in flips)
    return any(flip > 0.5 for flip, _ in flips) and float(m["low"]) - 5 <= 100 * right <= float(m["high"]) + 5


def like_random(m: re.Match[str], c: Context) -> Found:
    """Judge whether votes are for the truly better item hardly more or less often than by chance."""
    true = np.array([c.drawn.scores[str(item)] for item in c.votes.items.tolist()])
    surplus = float((c.wins * np.sign(true[:, None] - true[None, :])).sum())
    return _number(m["n"]) == c.n_decided and abs(surplus) < 5 * np.sqrt(c.n_decided)


def few_decided(m: re.Match[str], c: Context) -> Found:
    return _number(m["n"]) == c.n_decided < float(m["most"] if "most" in m.groupdict() else 50)


def too_few_to_compare(m: re.Match[str], c: Context) -> Found:
    return _number(m["n"]) == c.n_decided < 100


def answers_vary(m: re.Match[str], c: Context) -> Found:
    # In every job pairs of a question are independent.
    return 1.0, 0.001


def few_that_differ(m: re.Match[str], c: Context) -> Found:
    """Check that votes are too few to compare, and that some annotator errs otherwise than others."""
    flips = list(c.drawn.flips.values())
    return c.n_decided < 100 and len(flips) > 1 and (True if np.ptp(flips) > 0 else (1.0, 0.001))


def one_pair(m: re.Match[str], c: Context) -> Found:
    return bool(c.votes.n_pairs == 1)


def planned(m: re.Match[str], c: Context) -> Found:
    """Judge the share in order by the truth, and the votes needed by true gaps and the oracle's standard errors."""
    claimed, n = float(m["share"]) / 100, len(c.items)
    near = abs(claimed - c.order) <= 0.1 + 2 * np.sqrt(max(claimed * (1 - claimed), 0.01) / n)
    if not near:
        return 1.0, 0.05
    if m["more"] is None:
        return (0.0, 0.05) if m["never"] is None else (1.0, 0.05)
    frame = c.oracle.ranking_
    se = dict(zip(map(str, frame["item"].to_list()), frame["score_se"].to_list(), strict=True))
    items = sorted(c.drawn.scores)
    true, variance = np.array([c.drawn.scores[i] for i in items]), np.array([se[i] for i in items]) ** 2
    first, second = np.triu_indices(n, 1)
    gap = np.abs(true[first] - true[second])
    times = 1 + _number(m["more"]) / float(c.votes.annotator_weight.sum())
    reached = float(ndtr(gap / np.sqrt((variance[first] + variance[second]) / times)).mean())
    # Votes are planned for gaps that are not known yet: the share at the true ones varies with these.
    reach = max(0.04, 2 * _SPREAD / np.sqrt(n))
    return float(abs(reached - float(m["target"]) / 100) > reach), 0.05


def ties(m: re.Match[str], c: Context) -> Found:
    return _number(m["n"]) == c.votes.n_ties


def duplicates(m: re.Match[str], c: Context) -> Found:
    # No file is included several times; of votes with questions the number of duplicates may be said.
    return not m[0].startswith("Every vote") and c.votes.has_questions


def few_votes(m: re.Match[str], c: Context) -> Found:
    return sum(votes < 10 for votes in c.annotator_votes.values()) == _number(m["few"])


def adaptive(m: re.Match[str], c: Context) -> Found:
    return True if c.drawn.adaptive else (1.0, 0.01)


def chosen(m: re.Match[str], c: Context) -> Found:
    """Check a choice against the table of losses."""
    table = c.model.comparison_
    loss = dict(zip(table["model"], table["log_loss"], strict=True))
    behind = dict(zip(table["model"], table["behind_low"], strict=True))
    best = min(loss, key=lambda name: loss[name])
    model = m["model"]
    if (
        abs(loss[model] - float(m["loss"])) > 6e-5
        or model != c.model.chosen_
        or _number(m["n"] or m["n2"]) != len(loss)
    ):
        return False
    return m["best"] == best and behind[model] <= 0 if m["best"] else model == best


def chosen_by_differences(m: re.Match[str], c: Context) -> Found:
    """Check a choice against the table, and that votes that count alike are worth less than 95 % of weighed ones."""
    loss = dict(zip(c.model.comparison_["model"], c.model.comparison_["log_loss"], strict=True))
    if not (m["model"] == c.model.chosen_ and loss[m["model"]] < loss[m["simplest"]] and int(m["n"]) == len(loss)):
        return False
    weight = np.array(list(c.annotator_votes.values()))
    skill = np.array([1 - 2 * (c.flip(name) or 0.0) for name in c.annotator_votes])
    return float((weight @ skill) ** 2 > 0.95 * weight.sum() * (weight @ skill**2)), 0.001


def chosen_by_sides(m: re.Match[str], c: Context) -> Found:
    """Check a choice against the table, and that somebody prefers a side; p < 0.001 without."""
    loss = dict(zip(c.model.comparison_["model"], c.model.comparison_["log_loss"], strict=True))
    if not (m["model"] == c.model.chosen_ and loss[m["model"]] < loss[m["simplest"]] and int(m["n"]) == len(loss)):
        return False
    return True if c.drawn.sides or c.drawn.biased else (1.0, 0.001)


def always(m: re.Match[str], c: Context) -> Found:
    return True


def never(m: re.Match[str], c: Context) -> Found:
    return False
