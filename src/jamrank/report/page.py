"""The HTML page of a report: one file, no network."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape

from jamrank.io.resources import package_text
from jamrank.report.markup import plain, tag
from jamrank.report.record import Report
from jamrank.report.registry import SECTIONS
from jamrank.report.section import Section


def render(report: Report) -> str:
    """Return a report as one self-contained HTML5 document.

    Parameters
    ----------
    report : Report
        What to show. Ids may be of any type and length.

    Returns
    -------
    str
        The document. It loads nothing, runs only its own script, is complete without it, and follows the reader's
        choice of light or dark.
    """
    sections = [SECTIONS[name] for name in SECTIONS]
    shown = [(section, body) for section in sections if (body := section.render(report))]
    links = (tag("a", escape(section.link), href=f"#{section.anchor}") for section, _ in shown if section.link)
    header = tag(
        "header",
        tag("p", "jamrank report", class_="kicker"),
        tag("h1", escape(plain(report.title))),
        tag("nav", *links, aria_label="Sections"),
    )
    script = package_text("jamrank.report", "assets/page.js")
    content = (_framed(section, body, report) for section, body in shown)
    page = tag("body", tag("main", header, *content), f"<script>{script}</script>")
    head = _head(report.title, script, report.views is not None)
    return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{page}\n</html>\n'


def section_markup(name: str, report: Report) -> str:
    """Return one section of the page, by its name in the registry; empty where it has nothing to show."""
    section = SECTIONS[name]
    body = section.render(report)
    return _framed(section, body, report) if body else ""


def _framed(section: Section, body: str, report: Report) -> str:
    heading = tag("h2", escape(plain(section.title_of(report))))
    return "\n" + tag("section", heading, body, id=section.anchor)


def _head(title: str, script: str, pictures: bool = False) -> str:
    # The policy enforces that the page loads nothing and that no other script runs, whatever an id contains.
    digest = b64encode(sha256(script.encode()).digest()).decode()
    style = package_text("jamrank.report", "assets/page.css")
    images = "img-src data:; " if pictures else ""
    return (
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; {images}style-src 'unsafe-inline'; script-src 'sha256-{digest}'\">"
        '<meta name="color-scheme" content="light dark">'
        f"{tag('title', escape(plain(title)))}<style>{style}</style></head>"
    )
