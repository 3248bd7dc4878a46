"""The command line: parse, call, print."""

from jamrank.cli.main import main

__all__ = ["main"]
