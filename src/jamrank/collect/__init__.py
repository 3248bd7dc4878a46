"""The ledger of votes: what was asked of whom, what was answered, and what it cost."""

from __future__ import annotations

from jamrank.collect.ledger import Ledger, open_ledger
from jamrank.collect.records import (
    OUTCOMES,
    Annotator,
    Ask,
    Close,
    Event,
    Item,
    Lease,
    Limit,
    Question,
    Spending,
    Undo,
)
from jamrank.collect.source import votes_of

__all__ = [
    "OUTCOMES",
    "Annotator",
    "Ask",
    "Close",
    "Event",
    "Item",
    "Lease",
    "Ledger",
    "Limit",
    "Question",
    "Spending",
    "Undo",
    "open_ledger",
    "votes_of",
]
