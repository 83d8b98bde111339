"""Sources that disagree: the most trusted one is believed, the others are named, and confidence falls.

This holds for every pipeline that has evidence, whoever answers. An answer's value is held against what other
sources say to the same question (`language.stated`), where one plainly says another. What five sources copy
from each other is one value: how many say it does not count, only how trusted they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from contracts.answer import CitationKind
from gateway.planning.run import Run
from gateway.state import Conflicting, Context, Evidence, Query, Quote, Reply
from gateway.trust import Trust, share
from language.questions import AnswerType
from language.stated import Sought, Value, differ, sought

_MOST_TOLD = 3
"""Values beside the answer's that are named."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a piece of evidence says: `value` in these `words`, in a sentence of it."""

    value: Value
    words: str
    quote: Quote
    rank: int


def settled(query: Query, reply: Reply, context: Context, run: Run) -> Reply:
    """The reply, or the most trusted source's value in its place, with those that say otherwise.

    Signal: `conflicts`, how many other values there are.
    """
    asked = _asked(query, context)
    value = asked.said_by(reply.answer) if asked and reply.answer and reply.says_something else None
    if asked is None or value is None:
        return reply
    agreeing, others = _sorted(value, reply, _all_said(asked, value, context.evidence, run.trust))
    if not others:
        return reply
    quoted = [context.evidence[q.index] for q in reply.quotes if 0 <= q.index < len(context.evidence)]
    ranks = [*(_rank(item, run.trust) for item in quoted), *(said.rank for said in agreeing)]
    own_rank = max(ranks, default=0)
    run.explain.signal("conflicts", float(len(others)))
    best = max(others, key=lambda said: said.rank)
    if best.rank <= own_rank:
        return _with_conflicts(reply, _told(value), own_rank, others)
    quote = reply.quotes[0] if quoted else next((said.quote for said in agreeing), None)
    own = [_Said(value, _told(value), quote, own_rank)] if quote else []
    rest = [said for said in others if said is not best and differ(best.value, said.value)]
    words = _spoken(best, asked, reply.answer or "")
    chosen = Reply(f"{words}.", reply.confidence, (best.quote,), remark=reply.remark)
    return _with_conflicts(chosen, best.words, best.rank, [*own, *rest])


def _asked(query: Query, context: Context) -> Sought | None:
    thing = context.entity or query.remembered
    return sought(query.question, thing.name if thing else "")


def _all_said(asked: Sought, value: Value, evidence: Sequence[Evidence], trust: Trust) -> list[_Said]:
    return [
        _Said(stated.value, stated.words, Quote(index, stated.sentence), _rank(item, trust))
        for index, item in enumerate(evidence)
        for stated in asked.stated_in(item.entity or item.title, item.text, value)
    ]


def _sorted(value: Value, reply: Reply, said: Sequence[_Said]) -> tuple[list[_Said], list[_Said]]:
    """What agrees with the answer, and each other value once, of its most trusted source."""
    quoted = {quote.index for quote in reply.quotes}
    agreeing = [each for each in said if not differ(value, each.value, each.quote.text)]
    agrees = quoted | {each.quote.index for each in agreeing}
    others: list[_Said] = []
    for each in sorted(said, key=lambda each: -each.rank):
        known = any(not differ(other.value, each.value) for other in others)
        if each.quote.index not in agrees and not known:
            others.append(each)
    return agreeing, others


def _with_conflicts(reply: Reply, own_words: str, rank: int, others: Sequence[_Said]) -> Reply:
    noun = _noun(reply.answer or "")
    told = [own_words, *(said.words for said in others[:_MOST_TOLD])]
    told[-1] = f"{told[-1]} {noun}".strip() if _is_bare(told[-1]) else told[-1]
    remark = (
        f"{'Two sources' if len(others) == 1 else 'Sources'} differ: {', '.join(told[:-1])} and {told[-1]}."
    )
    conflicts = tuple(Conflicting(said.words, said.quote) for said in others)
    standing = share(rank, [said.rank for said in others])
    return replace(reply, remark=f"{reply.remark} {remark}".strip(), conflicts=conflicts, standing=standing)


def _told(value: Value) -> str:
    return value if isinstance(value, str) else value.text


def _spoken(best: _Said, asked: Sought, answer: str) -> str:
    """The value, with the noun that the answer in its place had: a record may give the bare number."""
    if asked.wanted is AnswerType.NUMBER and _is_bare(best.words):
        return f"{best.words} {_noun(answer)}".strip()
    return best.words


def _is_bare(words: str) -> bool:
    return words.replace(",", "").isdigit()


def _noun(answer: str) -> str:
    words = answer.rstrip(".").split()
    return words[-1] if len(words) > 1 and words[-1].isalpha() and words[-1].islower() else ""


def _rank(item: Evidence, trust: Trust) -> int:
    return trust.rank(item.kind, item.url if item.kind is CitationKind.PAGE else "")
