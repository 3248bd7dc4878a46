"""Markup: templates, items as judges see them, and the state of the voting page."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from jamrank.studio.history import AHEAD, Asked, History
from jamrank.studio.media import render_markdown

if TYPE_CHECKING:
    from jinja2 import Environment

    from jamrank.studio.items import Part
    from jamrank.studio.view import View


@cache
def templates() -> Environment:
    """Return the templates; everything is escaped unless marked as safe."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("jamrank.studio")
    pages = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, auto_reload=False, trim_blocks=True
    )
    pages.filters["markdown"] = lambda text: Markup(render_markdown(text))
    return pages


def page_state(view: View, history: History) -> dict[str, Any]:
    """Return the state of the voting page, for the template and the script."""
    study = view.study
    shown = [one for one in history.open[: AHEAD + 1] if one.left in view.items and one.right in view.items]
    last = history.last_answered
    status = view.status
    if status == "open" and not shown and history.asked:
        # All pairs of the judge are answered.
        status = "done"
    done = history.done
    return {
        "status": status,
        "open": [
            {
                "key": one.key,
                "question": study.question_of(one.criterion),
                "practice": one.purpose == "practice",
                "left": rendered_item(view, one.left, "item_a"),
                "right": rendered_item(view, one.right, "item_b"),
            }
            for one in shown
        ],
        "done": done,
        "total": max(view.votes_per_judge, done + len(shown)) if shown else done,
        "undo": None if last is None else last.key,
        "ties": study.ties,
        "skip": study.skip,
        "grades": len(study.grades),
        "ahead": AHEAD,
        "feedback": "" if last is None else _feedback(view, last),
    }


def _feedback(view: View, last: Asked) -> str:
    """Return after a practice pair whether the answer was correct."""
    if last.purpose != "practice":
        return ""
    better = {"left": last.left, "right": last.right}.get(last.outcome or "", "")
    other = last.right if better == last.left else last.left
    right = any((pair.better, pair.worse) == (better, other) for pair in view.study.practice)
    return view.texts["practice_right" if right else "practice_wrong"]


def rendered_item(view: View, id_: str, name: str) -> str:
    """Render an item for judges, without its id and file name."""
    listed = view.items[id_]
    texts = tuple(view.texts[text] for text in (name, "image_alt", "audio_label", "video_label"))
    return _rendered(listed.item.parts, listed.item.alt, listed.key, texts)


@lru_cache(maxsize=20_000)
def _rendered(parts: tuple[Part, ...], alt: str, key: str, texts: tuple[str, ...]) -> str:
    name, *labels = texts
    shown = [
        {"kind": part.kind, "content": part.content, "src": part.content if part.is_url else f"/media/{key}/{place}"}
        for place, part in enumerate(parts)
    ]
    words = dict(zip(("image_alt", "audio_label", "video_label"), labels, strict=True))
    return templates().get_template("_item.html").render(parts=shown, alt=alt, name=name, t=words)
