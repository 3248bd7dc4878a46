"""LLM judges: informative comparisons within a budget, every reply recorded, and an audit of the judges."""

from __future__ import annotations

from jamrank.jury.asking import Outcome, Progress, ask_all
from jamrank.jury.audit import audit, audit_ledger
from jamrank.jury.judges import Endpoint, Judge, JudgeFailure, Reply, read_judges
from jamrank.jury.plan import ChooserPlan, Contents, Plan, RandomPlan, Task
from jamrank.jury.prompts import Prompt, Template, render
from jamrank.jury.session import Estimate, ask_judges, estimate, example_prompt, load_contents
from jamrank.jury.verdicts import Verdict, parse_verdict

__all__ = [
    "ChooserPlan",
    "Contents",
    "Endpoint",
    "Estimate",
    "Judge",
    "JudgeFailure",
    "Outcome",
    "Plan",
    "Progress",
    "Prompt",
    "RandomPlan",
    "Reply",
    "Task",
    "Template",
    "Verdict",
    "ask_all",
    "ask_judges",
    "audit",
    "audit_ledger",
    "estimate",
    "example_prompt",
    "load_contents",
    "parse_verdict",
    "read_judges",
    "render",
]
