"""Chooses how to answer: by task, from the photo, from one fact, from several facts together."""

from gateway.reasoning.extractive.lookup import Finding, answer_relation, explain
from gateway.reasoning.extractive.question import Analysis, Task
from gateway.state import Ask, Draft, Findings


def answer_question(ask: Ask, analysis: Analysis, draft: Draft, findings: Findings) -> Finding | None:
    """The best finding for the question's task."""
    if analysis.task is Task.EXPLAIN or not analysis.relations:
        return explain(ask, analysis, findings)
    return answer_relation(ask, analysis, findings)
