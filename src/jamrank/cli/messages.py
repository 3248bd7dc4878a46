"""Text on the terminal: the one place where it is made safe."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from jamrank.text import safe_line, safe_text

if TYPE_CHECKING:
    from rich.console import Console


def note(text: str, quiet: bool = False) -> None:
    """Print a note on standard error; nothing for an empty text."""
    if text and not quiet:
        click.echo(f"note: {safe_line(text)}", err=True)


def lines(text: str, err: bool = False) -> None:
    """Print text of several lines, such as a prompt, on standard output or error; long lines stay whole."""
    for line in text.split("\n"):
        click.echo(safe_text(line, max(len(line), 1)), err=err)


def print_json(content: Any) -> None:
    """Print plain data as JSON in ASCII, so that nothing in it acts on a terminal; nan and inf become null."""
    click.echo(json.dumps(_finite(content), indent=1, default=str, allow_nan=False))


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    return [_finite(value) for value in content] if isinstance(content, list | tuple) else content


def say(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is: no markup in it is interpreted, and no control character reaches the terminal."""
    from rich.text import Text

    console.print(Text(safe_line(text), style=style), soft_wrap=True)
