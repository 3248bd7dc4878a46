"""The items as pictures or texts, in the order of the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from jamrank.report.markup import paragraph, plain, tag
from jamrank.report.pictures import ItemViews
from jamrank.report.record import Report
from jamrank.report.section import Section

# Of more items, some are shown, evenly from first to last.
_SHOWN = 120


def _render(report: Report) -> str:
    if report.views is None or not report.views.views:
        return ""
    own = report.ranking["item"].to_list()
    text = "The items from the first rank to the last, row by row."
    if len(own) > _SHOWN:
        text += f" {_SHOWN} of {len(own):,} are shown, evenly from first to last."
    strips = [_strip(own, report.views)]
    if report.views.orders:
        strips[0] = tag("h3", "This ranking") + strips[0]
        for title, order in report.views.orders.items():
            strips += [tag("h3", escape(plain(title))), _strip(order, report.views)]
    return paragraph(text) + "".join(strips)


def _strip(order: Sequence[object], shown: ItemViews) -> str:
    step = max(-(-len(order) // _SHOWN), 1)
    cells = []
    for rank, item in list(enumerate(order, 1))[::step]:
        view = shown.views.get(str(item))
        body = tag("span", escape(plain(item)), class_="text") if view is None else view.markup(str(item))
        cells.append(tag("li", body, title=f"{rank}. {plain(item)}"))
    return tag("ol", *cells, class_="strip")


SECTION = Section("pictures", "The items in order", _render, link="Items")
