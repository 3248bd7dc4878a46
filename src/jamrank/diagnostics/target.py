"""The default target of `check`, which plans votes, and of `next`, `plan` and the studio, which stop at it."""

from __future__ import annotations

TARGET_ERROR = 0.1
"""Share of the pairs of items in the wrong order."""
TARGET = 1 - TARGET_ERROR
"""Share of them in the right order."""
