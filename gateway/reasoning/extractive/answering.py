"""Chooses how to answer: by task, from the photo, from one fact, from several facts together."""

import re
from collections.abc import Callable

from gateway.reasoning.extractive.comparing import compare, price_at
from gateway.reasoning.extractive.composing import finish
from gateway.reasoning.extractive.lexical import fold, mentions, unique
from gateway.reasoning.extractive.lookup import Finding, answer_relation, explain, quotes_of
from gateway.reasoning.extractive.photo import match_share
from gateway.reasoning.extractive.photo_answers import answer_from_photo
from gateway.reasoning.extractive.question import Analysis, TargetKind, Task
from gateway.reasoning.extractive.reckoning import (
    judge_age,
    judge_opening,
    judge_rule,
    judge_warranty,
    multiply,
    reading_rate,
    work_out_age,
    work_out_years,
)
from gateway.reasoning.extractive.subjects import subjects
from gateway.reasoning.extractive.works import other_works
from gateway.state import Ask, Draft, Findings, Quote

Worker = Callable[[Ask, Analysis, Findings], Finding | None]


def answer_question(ask: Ask, analysis: Analysis, draft: Draft, findings: Findings) -> Finding | None:
    """The best finding for the question's task."""
    worker = _WORKERS.get(analysis.task)
    found = worker(ask, analysis, findings) if worker else None
    if found is None and analysis.target.kind is not TargetKind.NAMED:
        read = answer_from_photo(ask, analysis, findings.photo_text)
        found = _better(ask, analysis, findings, read) if read is not None else None
    if found is not None or analysis.task in _EXCLUSIVE:
        return found
    return (
        answer_relation(ask, analysis, findings) if analysis.relations else explain(ask, analysis, findings)
    )


def _better(ask: Ask, analysis: Analysis, findings: Findings, read: Finding) -> Finding:
    """The photo's reading, unless what is known of the identified thing is surer."""
    known = answer_relation(ask, analysis, findings) if analysis.relations else None
    if known is not None and known.confidence > read.confidence + 0.05:
        return known
    return read


def identify(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """The name of the thing: an identified entity's, if the photo's own text does not say it better."""
    entity = findings.entity
    read = answer_from_photo(ask, analysis, findings.photo_text)
    if entity is None or not entity.attributes:
        return read
    if analysis.relations and analysis.relations[0].name not in {
        "title",
        "product type",
        "plant",
        "year painted",
    }:
        return read
    quote = next((i for i, e in enumerate(findings.evidence) if mentions(e.text, entity.name)), None)
    if quote is None or (read is not None and read.confidence > max(0.8, entity.probability)):
        return read
    text = findings.evidence[quote].text
    shown = _by_sort(analysis, findings) or entity.name
    return Finding(finish(f"This is {shown}"), 0.9 * entity.probability, (Quote(quote, text),), entity.name)


def _by_sort(analysis: Analysis, findings: Findings) -> str | None:
    entity = findings.entity
    if entity is None or not re.search(r"\bkind|type|sort\b", fold(analysis.text)):
        return None
    sort = next((v for k, v in entity.attributes if k in {"type", "category", "kind"}), None)
    return f"{entity.name}, {sort}" if sort else None


def price_question(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """The price at a named seller."""
    if (
        not analysis.relations
        or analysis.relations[0].name not in {"price", "launch price"}
        or not analysis.target.names
    ):
        return None
    if analysis.target.kind is TargetKind.NAMED:
        return None
    seller = analysis.target.names[0]
    here = [name for name, _ in subjects(ask, analysis, findings)]
    settled = price_at(seller, here, analysis.relations[0], findings)
    if settled is None or settled.fact.typed is None:
        return Finding("", 0.0, ())
    text = f"At {seller} {settled.fact.subject} costs {settled.fact.typed.text}"
    return Finding(finish(text), settled.confidence, quotes_of((settled.fact,)), settled.fact.typed.text)


def check(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """Yes or no: the known value against the one that the question proposes."""
    known = answer_relation(ask, analysis, findings) if analysis.relations else None
    if known is None:
        return None
    proposed = analysis.target.names[:1] if analysis.target.deictic or analysis.target.pronoun else ()
    if proposed:
        agrees = mentions(known.value, proposed[0]) or mentions(proposed[0], known.value)
    elif analysis.qualifier:
        agrees = match_share(unique(analysis.qualifier), known.value) >= 0.99
        if (
            not agrees
            and analysis.relations[0].plural is False
            and analysis.relations[0].name not in {"material", "colour", "flavour"}
        ):
            return Finding(known.text, known.confidence * 0.9, known.quotes, known.value)
    else:
        return known
    word = "Yes" if agrees else "No"
    return Finding(
        finish(f"{word}: {known.text[0].lower()}{known.text[1:]}"),
        known.confidence * (0.95 if agrees else 0.8),
        known.quotes,
        word,
    )


def rule(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """A rule about age, or about an amount."""
    return judge_age(ask, analysis, findings) or judge_rule(ask, analysis, findings)


_WORKERS: dict[Task, Worker] = {
    Task.COMPARE: compare,
    Task.WORKS: other_works,
    Task.RULE: rule,
    Task.OPEN_AT: judge_opening,
    Task.AGE_AT: work_out_age,
    Task.YEARS_BETWEEN: work_out_years,
    Task.MULTIPLY: multiply,
    Task.RATE: reading_rate,
    Task.WARRANTY: judge_warranty,
    Task.IDENTIFY: identify,
    Task.LOOKUP: price_question,
    Task.CHECK: check,
}
_EXCLUSIVE = frozenset(
    {
        Task.COMPARE,
        Task.WORKS,
        Task.RULE,
        Task.OPEN_AT,
        Task.AGE_AT,
        Task.WARRANTY,
        Task.RATE,
        Task.WORKSHEET,
        Task.CHECK,
    }
)
