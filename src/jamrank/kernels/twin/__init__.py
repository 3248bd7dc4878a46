"""Numpy twins of the compiled kernels: reference of the tests, and fallback where nothing was compiled.

Each function has the signature of its namesake in the C++ source and writes into the arrays it is given.
"""

from jamrank.kernels.twin.encoding import (
    code_ids,
    code_rows,
    code_strings,
    count_pairs,
    fold_keys,
    mark_ids,
    pack_votes,
    regular_lines,
    sort_keys,
    unpack_votes,
)
from jamrank.kernels.twin.marginal import marginal, marginal_lists
from jamrank.kernels.twin.passes import (
    assign,
    direct,
    expectation,
    expectation_lists,
    expectation_votes,
    laplacian,
    maximisation,
    sum_by_kind,
    weighted_gram,
)
from jamrank.kernels.twin.patterns import (
    jury_patterns,
    mark_sides,
    mark_verdicts,
    number_verdicts,
    patterns,
    spell_out,
)

__all__ = [
    "assign",
    "code_ids",
    "code_rows",
    "code_strings",
    "count_pairs",
    "direct",
    "expectation",
    "expectation_lists",
    "expectation_votes",
    "fold_keys",
    "jury_patterns",
    "laplacian",
    "marginal",
    "marginal_lists",
    "mark_ids",
    "mark_sides",
    "mark_verdicts",
    "maximisation",
    "number_verdicts",
    "pack_votes",
    "patterns",
    "regular_lines",
    "sort_keys",
    "spell_out",
    "sum_by_kind",
    "unpack_votes",
    "weighted_gram",
]
