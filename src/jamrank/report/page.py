"""The HTML page of a report: one file, no network."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape

from jamrank.io.resources import package_text
from jamrank.report import sections
from jamrank.report.markup import plain, tag
from jamrank.report.record import Report

__all__ = ["render"]

# Links at the top, to those sections that the page has.
_LINKS = {
    "ranking": "Ranking",
    "annotators": "Annotators",
    "jury": "LLM judges",
    "skills": "Who is good at what",
    "unsettled": "Least settled",
    "contested": "Most contested",
    "by": "Side by side",
    "beats": "Who beats whom",
    "features": "Features",
    "health": "Health of the data",
    "computed": "How it was computed",
}


def render(report: Report) -> str:
    """Write a report as one self-contained HTML5 document.

    Parameters
    ----------
    report : Report
        What to tell. Every id may be of any kind and of any length.

    Returns
    -------
    str
        The document. It loads nothing, runs only its own script, without which it can be read all the same, and
        follows the reader's choice of light or dark.
    """
    parts = {name: getattr(sections, name)(report) for name in ("summary", *_LINKS)}
    links = (tag("a", text, href=f"#{name}") for name, text in _LINKS.items() if parts[name])
    header = tag(
        "header",
        tag("p", "jamrank report", class_="kicker"),
        tag("h1", escape(plain(report.title))),
        tag("nav", *links, aria_label="Sections"),
    )
    script = package_text("jamrank.report", "assets/page.js")
    body = tag("body", tag("main", header, *parts.values()), f"<script>{script}</script>")
    return f'<!DOCTYPE html>\n<html lang="en">\n{_head(report.title, script)}\n{body}\n</html>\n'


def _head(title: str, script: str) -> str:
    # The policy makes the promise of a page without network binding, and no script runs but the page's own, whatever
    # an id contains.
    digest = b64encode(sha256(script.encode()).digest()).decode()
    style = package_text("jamrank.report", "assets/page.css")
    return (
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'\">"
        '<meta name="color-scheme" content="light dark">'
        f"{tag('title', escape(plain(title)))}<style>{style}</style></head>"
    )
