"""A plan as a picture: the expected error against the votes, one self-contained SVG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jamrank.acquisition.planning import Plan
from jamrank.text import about, in_percent

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 44, 56


def plan_picture(plan: Plan, title: str) -> str:
    """Return an SVG of the mean error, the range of nine runs in ten, and the target."""
    most_votes = max(float(plan.votes[-1]), 1.0)
    most_error = max(float(plan.high.max()), plan.target) * 1.1

    def place(votes: float, error: float) -> tuple[float, float]:
        across = _LEFT + (_WIDTH - _LEFT - _RIGHT) * votes / most_votes
        return round(across, 1), round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * error / most_error, 1)

    def path(votes: Sequence[float], errors: Sequence[float]) -> str:
        return " ".join(f"{x},{y}" for x, y in (place(*point) for point in zip(votes, errors, strict=True)))

    votes = plan.votes.tolist()
    band = path([*votes, *reversed(votes)], [*plan.low.tolist(), *reversed(plan.high.tolist())])
    parts = [
        f'<text x="{_LEFT}" y="24" font-size="15" font-weight="600">{_escaped(title)}</text>',
        f'<polygon points="{band}" fill="#0072b2" fill-opacity="0.15"/>',
        f'<polyline points="{path(votes, plan.error.tolist())}" fill="none" stroke="#0072b2" stroke-width="2"/>',
        *_axes(place, most_votes, most_error),
        *_target(place, plan, most_votes),
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
    style = 'font-family="system-ui, sans-serif" font-size="12" fill="#222"'
    body = "\n".join(parts)
    return f'{head} {style}>\n<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>\n{body}\n</svg>\n'


def _axes(place: object, most_votes: float, most_error: float) -> list[str]:
    assert callable(place)
    left, bottom = place(0.0, 0.0)
    right, top = place(most_votes, most_error)
    lines = [f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#888"/>']
    for votes in _ticks(most_votes):
        x, _ = place(votes, 0.0)
        lines.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{votes:,.0f}</text>')
    for error in _ticks(most_error):
        _, y = place(0.0, error)
        lines.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{error * 100:.3g} %</text>')
        lines.append(f'<path d="M{left} {y}H{right}" stroke="#888" stroke-opacity="0.2"/>')
    middle = (left + right) / 2
    lines.append(f'<text x="{middle}" y="{bottom + 42}" text-anchor="middle">further votes</text>')
    lines.append(f'<text x="{left}" y="{top - 4}">expected error (band: nine runs in ten)</text>')
    return lines


def _target(place: object, plan: Plan, most_votes: float) -> list[str]:
    assert callable(place)
    left, y = place(0.0, plan.target)
    right, _ = place(most_votes, plan.target)
    lines = [f'<path d="M{left} {y}H{right}" stroke="#d55e00" stroke-dasharray="5 4"/>']
    lines.append(
        f'<text x="{right}" y="{y - 6}" text-anchor="end" fill="#b34d00">target {in_percent(plan.target)}</text>'
    )
    if plan.votes_needed is not None:
        x, bottom = place(plan.votes_needed, 0.0)
        lines.append(f'<path d="M{x} {y}V{bottom}" stroke="#d55e00" stroke-dasharray="2 3"/>')
        label = about(plan.votes_needed, "vote")
        lines.append(f'<text x="{x + 6}" y="{bottom - 8}" fill="#b34d00">{label}</text>')
    return lines


def _ticks(most: float) -> list[float]:
    step = 10 ** np.floor(np.log10(most / 2))
    step = next(step * times for times in (1, 2, 5, 10) if most / (step * times) <= 6)
    return [float(value) for value in np.arange(0, most, step)]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
