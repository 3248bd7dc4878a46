"""How to read a file: what the user said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jamrank.data.covariates import CovariateSource, checked_covariates
from jamrank.errors import ParameterError
from jamrank.io.read_log import ReadLog
from jamrank.io.row_filters import EVERYBODY, Annotators

CANONICAL, _MAPPED = "canonical", "mapped"


@dataclass(frozen=True)
class Way:
    """How to read a file: what the user said of it, and whose votes they are where it names nobody."""

    format: str | None = None
    mapping: Mapping[str, str] | None = None
    words: Mapping[str, int] | None = None
    who: str | None = None
    skip: bool = False
    annotators: Annotators = EVERYBODY
    covariates: Mapping[str, CovariateSource] = field(default_factory=dict)

    @classmethod
    def checked(
        cls,
        format: str | None,
        mapping: Mapping[str, str] | None,
        words: Mapping[str, str] | None,
        skip: bool = False,
        only: Any = (),
        without: Any = (),
        covariates: Any = (),
    ) -> Way:
        """Return what was said, after making sure that it can be meant."""
        meanings = None
        if mapping is not None:
            from jamrank.io.formats import check_mapping, further

            check_mapping(mapping)
            if format is not None and not further(mapping):
                raise ParameterError("format and mapping exclude each other; give one of them")
        if words:
            from jamrank.io.formats import check_words

            meanings = check_words(words)
        if format not in (None, CANONICAL):
            from jamrank.io.formats import find_format

            find_format(str(format))
        counted, swaying = Annotators.checked(only, without), checked_covariates(covariates)
        return cls(format, mapping, meanings, None, skip, counted, swaying)

    @property
    def plain(self) -> bool:
        """Whether nothing was said of columns and words."""
        return self.mapping is None and self.words is None

    def for_part_of(self, reading: ReadLog) -> Way:
        """Return how to read some rows of a file that was read this way: in the same."""
        asked = {} if reading.asked_in is None else {"question": reading.asked_in}
        format = None if reading.format == _MAPPED else reading.format
        return replace(self, format=format, mapping={**asked, **(self.mapping or {})} or None)
