"""A section of the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jamrank.report.record import Report


@dataclass(frozen=True)
class Section:
    """A section: what it is called, and what it shows of a report.

    Parameters
    ----------
    anchor : str
        The id of its element, to which ``#anchor`` links.
    title : str or callable
        The heading, or what makes it from the report; plain text.
    render : callable
        Returns the markup below the heading; an empty string leaves the section out. Text from outside must be
        escaped; :func:`jamrank.report.markup.paragraph` and :func:`jamrank.report.tables.table` do that.
    link : str
        The text of the link to it at the top of the page; without it there is no link.
    """

    anchor: str
    title: str | Callable[[Report], str]
    render: Callable[[Report], str]
    link: str = ""

    def title_of(self, report: Report) -> str:
        """Return the heading, as plain text."""
        return self.title if isinstance(self.title, str) else self.title(report)
