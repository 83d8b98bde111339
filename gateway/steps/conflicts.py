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
from gateway.steps.conclusion import is_quoted
from gateway.trust import Trust, share
from language.questions import AnswerType
from language.stated import Sought, Value, differ, sought

_MOST_TOLD = 3
"""Values beside the answer's that are named."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a piece of evidence says: `value` in these `words`, in a sentence of it.

    Without `quote` nothing says it but whoever answers.
    """

    value: Value
    words: str
    quote: Quote | None
    rank: int


def settled(query: Query, reply: Reply, context: Context, run: Run) -> Reply:
    """The reply, or the most trusted source's value in its place, with those that say otherwise.

    Signal: `conflicts`, how many other values there are.
    """
    asked = _asked(query, context)
    value = asked.said_by(reply.answer) if asked and reply.answer and reply.says_something else None
    if asked is None or value is None:
        return reply
    evidence = context.evidence
    quoted = [quote for quote in reply.quotes if is_quoted(quote, evidence)]
    agreeing, others = _sorted(
        value, reply.answer or "", quoted, _all_said(asked, value, evidence, run.trust)
    )
    if not others:
        return reply
    ranks = [
        *(_rank(evidence[quote.index], run.trust) for quote in quoted),
        *(said.rank for said in agreeing),
    ]
    quotes = [*quoted, *(said.quote for said in agreeing)]
    own = _Said(value, value.text, next(iter(quotes), None), max(ranks, default=0))
    run.explain.signal("conflicts", float(len(others)))
    best = max(others, key=lambda said: said.rank)
    if best.quote is None or best.rank <= own.rank:
        return _with_conflicts(reply, own, others)
    rest = [said for said in others if said is not best and _differ(best, said)]
    words = _spoken(best, asked, reply.answer or "")
    chosen = Reply(f"{words}.", reply.confidence, (best.quote,), remark=reply.remark)
    return _with_conflicts(chosen, best, [own, *rest])


def _asked(query: Query, context: Context) -> Sought | None:
    thing = context.entity or query.remembered
    return sought(query.question, thing.name if thing else "")


def _all_said(asked: Sought, value: Value, evidence: Sequence[Evidence], trust: Trust) -> list[_Said]:
    return [
        _Said(stated.value, stated.words, Quote(index, stated.sentence), _rank(item, trust))
        for index, item in enumerate(evidence)
        for stated in asked.stated_in(item.entity or item.title, item.text, value)
    ]


def _sorted(
    value: Value, answer: str, quoted: Sequence[Quote], said: Sequence[_Said]
) -> tuple[list[_Said], list[_Said]]:
    """What agrees with the answer, and each other value once, of its most trusted source."""
    agreeing = [each for each in said if not differ(value, each.value, answer, _sentence(each))]
    agrees = {quote.index for quote in (*quoted, *(each.quote for each in agreeing)) if quote}
    others: list[_Said] = []
    for each in sorted(said, key=lambda each: -each.rank):
        known = any(not _differ(other, each) for other in others)
        if each.quote and each.quote.index not in agrees and not known:
            others.append(each)
    return agreeing, others


def _differ(one: _Said, other: _Said) -> bool:
    return differ(one.value, other.value, _sentence(one), _sentence(other))


def _sentence(said: _Said) -> str:
    return said.quote.text if said.quote else ""


def _with_conflicts(reply: Reply, own: _Said, others: Sequence[_Said]) -> Reply:
    remark = f"{reply.remark} {_remark(own, others, _noun(reply.answer or ''))}".strip()
    conflicts = tuple(Conflicting(said.words, said.quote) for said in others if said.quote)
    standing = share(own.rank, [said.rank for said in others])
    return replace(reply, remark=remark, conflicts=conflicts, standing=standing)


def _remark(own: _Said, others: Sequence[_Said], noun: str) -> str:
    """What differs; of a value that no source says, that it was only thought."""
    sources = [said for said in (own, *others[:_MOST_TOLD]) if said.quote]
    thought = next((said for said in others if not said.quote), None)
    told = _listed([said.words for said in sources], noun)
    if not own.quote:
        return f"{'A source says' if len(others) == 1 else 'Sources say'} otherwise: {told}."
    differing = f"{'Two sources' if len(sources) == 2 else 'Sources'} differ: {told}." if sources[1:] else ""
    remembered = f"I would have said {_listed([thought.words], noun)}." if thought else ""
    return f"{differing} {remembered}".strip()


def _listed(told: Sequence[str], noun: str) -> str:
    last = f"{told[-1]} {noun}".strip() if _is_bare(told[-1]) else told[-1]
    return f"{', '.join(told[:-1])} and {last}" if told[1:] else last


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
