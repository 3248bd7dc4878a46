# ruff: noqa: E501
"""Every sentence that `fit`, `check` and the report print, with the predicate that judges it by the simulated truth.

A sentence that matches no template counts as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

import jamrank as jr
from benchmarks import everyday_predicates as holds
from benchmarks.everyday_predicates import ID, Context, Found
from jamrank.report import findings
from jamrank.report.narrative import story

_PAIRS = r"(?P<which>pairs of items|pairs of near neighbours in the ranking)(?: within groups)?"
_MODEL = r"(?P<model>[\w+-]+(?: [\w+-]+)*)"
TEMPLATES: tuple[tuple[str, str, Callable[[re.Match[str], Context], Found]], ...] = (
    # the choice of the model
    ("one annotator, no comparison", _MODEL + r": all decided votes are by one annotator, so there are no .*", holds.alone),
    ("no annotators, no comparison", _MODEL + r": the votes name no annotators, so there are no .*", holds.alone),
    ("no other model", _MODEL + r": no other model can be fitted to these votes\.", holds.never),
    ("too few to compare", _MODEL + r", the simplest model: (?P<n>[\d,]+) decided votes? (?:is|are) too few .*",
     holds.too_few_to_compare),
    ("few votes of annotators who differ", _MODEL + r": (?P<n>[\d,]+) decided votes? are too few .*, but annotators differ too .*",
     holds.few_that_differ),
    ("one pair, no comparison", _MODEL + r", the simplest model: all [\d,.]+ decided votes are on one pair; .*", holds.one_pair),
    ("chosen by held-out votes",
     _MODEL + r": (?P<loss>[\d.]+) nats per (?:held-out|later) vote(?: \([^)]*\))?, (?:the simplest of (?P<n>\d+) models not "
     r"significantly worse than the best \((?P<best>[^,]+), [\d.-]+ lower\)|the lowest of (?P<n2>\d+) models; next is .*?)"
     r"(?:; chosen on [\d,]+ of [\d,]+ votes)?\.", holds.chosen),
    ("chosen by differences",
     _MODEL + r": (?P<loss>[\d.]+) nats per (?:held-out|later) vote(?: \([^)]*\))?, [\d.]+ lower than (?P<simplest>[^,]+), the "
     r"simplest of (?P<n>\d+) models; annotators differ too much in how often they err \(p < 0\.001\) to count their votes "
     r"alike(?:; chosen on [\d,]+ of [\d,]+ votes)?\.", holds.chosen_by_differences),
    ("chosen by sides",
     _MODEL + r": (?P<loss>[\d.]+) nats per (?:held-out|later) vote(?: \([^)]*\))?, [\d.]+ lower than (?P<simplest>[^,]+), the "
     r"simplest of (?P<n>\d+) models; votes depend on the sides \(p < 0\.001\)(?:; chosen on [\d,]+ of [\d,]+ votes)?\.",
     holds.chosen_by_sides),
    ("chosen by features",
     _MODEL + r": (?P<loss>[\d.]+) nats per (?:held-out|later) vote(?: \([^)]*\))?, [\d.]+ lower than (?P<simplest>[^,]+), the "
     r"simplest of (?P<n>\d+) models; features explain the scores \(p < 0\.001\)(?:; chosen on [\d,]+ of [\d,]+ votes)?\.",
     holds.never),  # no job has features
    ("tastes differ", r"FamilyBT: .*; annotators do not err independently(?:; chosen on .*)?\.", holds.never),
    ("own tastes", r"TasteBT: .*; votes of one annotator on an item agree more than independent votes would(?:; chosen on .*)?\.",
     holds.never),
    ("adaptive pairs", r"Items with similar results were compared more often than by chance.*", holds.adaptive),
    ("scored forward in time", r"Pairs look as if they were chosen by earlier votes.*", holds.adaptive),
    # the ranking
    ("groups never compared", r"The items form (?P<n>[\d,]+) groups that were never compared .*", holds.n_groups),
    ("first in groups", r"First in (?:each group|some groups|the largest groups?): (?P<rest>.*)\.", holds.firsts),
    ("first item with probability",
     rf"(?P<first>{ID}) ranks first of [\d,]+ items \(probability (?P<p>[<>]?\d+ %)\); (?:(?P<last>{ID}) is last|(?P<shared>[\d,]+) items share the last rank)\."
     r"(?: Other candidates for the first rank: (?P<others>.*)\.)?", holds.first),
    ("likelier first item", rf"(?P<likelier>{ID}) is more likely to be first than (?P<first>{ID}), although its score is lower\.",
     holds.likelier_first),
    ("first item", rf"(?P<first>{ID}) ranks first of [\d,]+ items; (?:(?P<last>{ID}) is last|(?P<shared>[\d,]+) items share the last rank)\.", holds.last_only),
    ("shared first rank", r"(?:(?:All )?(?P<n>[\d,]+) (?:of [\d,]+ )?|Both )items share the first rank.*", holds.shared_first),
    ("rank intervals", r"Rank intervals \(95 %\)(?: of the first five)?: (?P<rest>.*)", holds.rank_intervals),
    ("median rank interval",
     r"Median 95 % rank interval: [\d.]+ of [\d,]+ ranks(?:; (?P<upper>[\d,]+) items? (?:is|are) in the upper half with "
     r"95 % probability, (?P<lower>[\d,]+) in the lower| \(assuming independent errors\))?\.", holds.median),
    ("every rank possible", r"For most items every rank is possible(?:; .* are needed)?\.", holds.every_rank),
    ("all pairs certain", rf"The order of all {_PAIRS} is certain .*", holds.all_certain),
    ("no pair certain", rf"The order of none of the {_PAIRS} is certain .*", holds.none_certain),
    ("some pairs certain", rf"The order of (?P<sure>[\d,]+) of (?P<total>[\d,]+) {_PAIRS} is certain .*", holds.some_certain),
    ("order of two items", r"The order of the two items is (?P<open>not )?certain .*", holds.two_items),
    ("least certain pairs", r"Least certain pairs: (?P<rest>.*)\.", holds.least_certain),
    ("what determines the first rank",
     rf"To determine the first rank, compare (?P<first>{ID}) with (?P<others>.*?)(?: under new questions)?\.", holds.compare_first),
    ("many may be first", r"Many items may be first: to determine the first rank, more votes .*", holds.many_first),
    # annotators
    ("who judged", r"Flips and verdicts come from CrowdBT, fitted to the same votes: (?P<model>\S+) does not .*", holds.judged),
    ("a single annotator", r"All votes are by one annotator: .*", holds.alone),
    ("no annotators named", r"The votes name no annotators: .*", holds.alone),
    ("no vote to compare with", r"No vote of .* is between two items on which others voted too: .*", holds.never),
    ("the same votes", r".* cast the same [\d,]+ votes, which .* cannot explain: .*", holds.never),
    ("perhaps copies",
     r"(?P<names>.*) cast the same votes on all (?P<pairs>[\d,]+) common pairs: either (?:both|all) hardly ever err, or they are not independent; .*",
     holds.same_votes),
    ("more of perhaps copies", r"So did [\d,]+ more groups? of annotators\.", holds.always),
    ("a copy", r".* is a copy of .*: independent annotators would not cast .*", holds.never),
    ("more copies", r"So (?:is|are) [\d,]+ more annotators?\.", holds.never),
    ("perhaps copies, intervals withheld",
     r"Annotators with the same votes may not be independent: intervals of flips are withheld\.", holds.always),
    ("a shared taste", r"(?P<names>.*) share a taste \(probability (?P<p>[\d.]+)\): keep them; intervals allow for it\.", holds.shared_taste),
    ("tastes of their own", r"Annotators have tastes of their own; intervals allow for them\.", holds.no_tastes),
    ("no shared taste", r"No annotators were found to share a taste; intervals allow for the possibility\.", holds.always),
    ("no one order", r"There is no one order: the scores of the two largest groups .*", holds.no_tastes),
    ("ranks without effects", r"Where the effects of covariates are taken out of the ranking, .*", holds.without_effects),
    ("exclude", r"Exclude (?P<n>[\d,]+) of [\d,]+ annotators: (?P<rest>.*)\.", holds.excluded),
    ("excluding leaves the direction open", r"But without .* the others balance each other, .*", holds.open_sign),
    ("a preference for a side", r"(?P<names>.*) chooses? one side more often than the items explain; (?P<how>.*)\.", holds.prefers_side),
    ("exclude nobody", r"No annotator needs to be excluded\.", holds.none_excluded),
    ("review", r"Review or invert the votes of (?P<names>.*) \((?P<done>.*) the latter\), who .*", holds.reviewed),
    ("keep", r"Keep [\d,]+: (?P<rest>.*)\.", holds.kept),
    ("opposed annotators",
     r"[\d,]+ annotators? vote against each other \(.*\), and nothing tells who is right: add gold pairs \(--gold\)\.",
     holds.open_sign),
    ("too few votes to assess",
     r"(?P<n>[\d,]+) annotators? cannot be assessed \((?P<names>.*)\): the votes tell too little of how often they err\.", holds.too_few),
    ("number of errors unknown", r"How often .* err is unknown, only which err more than others: .*", holds.no_cycle),
    ("correlated errors", r"Errors of .* and .* are correlated .*", holds.correlated),
    ("errors are correlated, caution", r"Caution: the errors of the annotators are correlated; .*", holds.correlated),
    ("intervals of flips withheld", r"The errors of the annotators are correlated: intervals of flips are withheld\.", holds.correlated),
    ("tastes hide errors", r"Tastes of the annotators differ so much that errors cannot be told from them: .*", holds.never),
    ("errors look like tastes", r"How often .* err is unknown: their tastes differ so much that errors look like tastes\.", holds.never),
    ("otherwise independent", r"Otherwise the errors of the annotators are nearly independent\.", holds.always),
    # the data
    ("size of the data",
     r"(?P<votes>[\d,.]+) votes?(?: in [\d,]+ rows)?(?: by (?P<judges>[\d,]+) annotators?)? on [\d,]+ pairs? of (?P<items>[\d,]+) items(?: in [\d,]+ questions?)?"
     r"(?:; the data checks found no problems(?:, but list [\d,]+ notes?)?)?\.", holds.size),
    ("unconnected", r"The items form (?P<n>[\d,]+) groups \(of .* items\) with no decided vote between them: .*", holds.n_groups),
    ("connected", r"Decided votes connect all items\.", holds.connected),
    ("answers vary", r"Within questions, pairs that share an item agree more than independent ones \(p < 0\.001\).*",
     holds.answers_vary),
    ("weakly joined",
     r"Fewer than 10 votes join (?P<n>[\d,]+) groups of items \(of .* items\): how items of different groups compare .*",
     holds.never),  # in no job do few votes join groups
    ("bridge",
     rf"Only the (?P<votes>[\d,.]+) votes? between (?P<a>{ID}) and (?P<b>{ID}) connects? [\d,]+ items? to the rest.*",
     holds.bridge),
    ("one opponent", r"(?P<n>[\d,]+) items? (?:was|were) compared with only one other item\.", holds.one_opponent),
    ("won or lost every vote",
     r"Diverging scores \(separated data\): (?:item |[\d,]+ items \()(?P<names>[^)]*?)\)? (?P<verb>won|lost) every decided vote; .*",
     holds.every_vote),
    ("all votes point one way",
     r"Diverging scores \(separated data\): the items form (?P<n>[\d,]+) groups between which all votes point one .*",
     holds.one_way),
    ("circular triads",
     r"Of (?P<about>about )?(?P<total>[\d,]+) triads? of items with a majority on all three pairs, (?P<circular>[\d,]+) .*", holds.cycles),
    ("circular annotators",
     r"The votes of (?:annotator |[\d,]+ annotators \()(?P<names>[^)]*?)\)? are circular .*", holds.not_careful),
    ("agreement of repeated votes",
     r"(?:Votes of the same annotator on the same pair|Votes on the same pair) agree in (?P<share>[\d.]+) % of the cases "
     r"\((?P<pairs>[\d,]+) .*", holds.repeats),
    ("inconsistent annotators",
     r"The repeated votes of (?:annotator |[\d,]+ annotators \()(?P<names>[^)]*?)\)? agree nearly as rarely .*", holds.not_careful),
    ("share of the left",
     r"(?P<share>[\d.]+) % of the decided votes are for the left\. .* has a probability of (?P<chance>less than 0\.1|[\d.]+) %\.",
     holds.left),
    ("winner on one side", r"Every decided vote is for the (?:left|right): .*", holds.never),
    ("one-sided annotators", r".* always chooses? the same side\.", holds.never),
    ("votes with the scores",
     r"(?:By a quick fit of \S+, )?(?P<share>[\d.]+) % of the decided votes are for the item with the higher score.*",
     holds.agreeing),
    ("orientation open", r"Orientation open: .*", holds.open_sign),
    ("annotators against each other", r"Annotators vote against each other: (?P<low>[\d.]+) % to (?P<high>[\d.]+) % .*", holds.opposed),
    ("like random votes",
     r"The (?P<n>[\d,]+) decided votes cannot be distinguished from random ones: .*", holds.like_random),
    ("too few for an orientation",
     r"(?P<n>[\d,]+) decided votes? (?:is|are) too few to distinguish them from random votes; .*", holds.few_decided),
    ("planned votes",
     r"By .*?, (?:the order of the two items is right with a probability of )?about (?P<share>[\d.]+) %(?: of all pairs of items are in the right order)?(?:, if the groups that few votes join are equally strong)?(?:, which meets the target \([\d.]+ %\)"
     r"|(?P<never>; [\d.]+ % cannot be reached with votes like these)|; (?P<target>[\d.]+) % needs about (?P<more>[\d,]+) more votes like "
     r"these(?:, on new pairs or under new questions|, on new pairs|, under new questions)?)?\.", holds.planned),
    ("planned votes, tastes", r"By .*; since annotators differ in taste, more votes of the same ones help little: .*", holds.no_tastes),
    ("tastes seem to differ", r"Annotators seem to differ in taste \(p ≤ 0\.02\): .*", holds.no_tastes),
    ("planned votes, correlated", r"By .*right .* This assumes independent errors; here they are correlated, .*", holds.correlated),
    ("ties", r"(?P<n>[\d,]+) votes? \([\d.]+ %\) (?:is a tie|are ties); .*", holds.ties),
    ("duplicates", r".*exact duplicates? of .*|Every vote occurs .*", holds.duplicates),
    ("uninformative", r"[\d,.]+ votes? (?:by those who always|(?:is|are) cancelled by the same annotator's vote) .*", holds.always),
    ("annotators with few votes",
     r"(?P<few>[\d,]+) of [\d,]+ annotators cast fewer than 10 votes, .*", holds.few_votes),
    ("not converged", r"The fit did not converge; .*", holds.never),
)  # fmt: skip
_COMPILED = [(name, re.compile(pattern, re.S), predicate) for name, pattern, predicate in TEMPLATES]


def printed(context: Context) -> list[str]:
    """Return every sentence that is printed of a set, each once."""
    analysis = context.analysis
    reason = re.split(r"(?<=\.) (?=Items with similar|Pairs look|The features)", context.model.reason_)
    told = [*reason, *findings(analysis), *(line for lines in story(analysis).values() for line in lines)]
    told += [finding.sentence for finding in analysis.health.findings] if analysis.health is not None else []
    told += jr.check(context.votes).sentences
    return list(dict.fromkeys(told))


def judged(context: Context) -> list[tuple[str, float, float, str]]:
    """Return of each sentence its template, the share that is wrong and that may be, and its text where it is."""
    return [_judge(sentence, context) for sentence in printed(context)]


def _judge(sentence: str, context: Context) -> tuple[str, float, float, str]:
    for name, pattern, predicate in _COMPILED:
        match = pattern.fullmatch(sentence)
        if match is not None:
            found = predicate(match, context)
            wrong, may_be = (float(not found), 0.0) if isinstance(found, (bool, np.bool_)) else found
            return name, float(wrong), float(may_be), sentence if wrong else ""
    return "without a predicate", 1.0, 0.0, sentence
