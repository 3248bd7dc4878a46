"""Text on the terminal: the one place where it is made safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jamrank.text import safe_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["note", "say"]


def note(text: str, quiet: bool = False) -> None:
    """Print a note on standard error; nothing for an empty text."""
    if text and not quiet:
        click.echo(f"note: {safe_line(text)}", err=True)


def say(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is: no markup in it is interpreted, and no control character reaches the terminal."""
    from rich.text import Text

    console.print(Text(safe_line(text), style=style), soft_wrap=True)
