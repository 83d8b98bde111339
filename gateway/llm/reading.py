"""Turns what the model wrote into what the pipeline works with: cleaned, honest, and measured."""

import re
from dataclasses import replace
from math import prod
from typing import Any

from contracts.answer import Reason
from gateway.llm.cleaning import LABEL_WORDS, entity_name, label, one_line, queries, spoken
from gateway.llm.completion import Alternative, Completion, Token
from gateway.llm.delimiting import EvidenceBlocks
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Schema
from gateway.llm.quoting import quotes
from gateway.llm.schemas import (
    Answerability,
    ChainOfThought,
    GroundedAnswer,
    Judgement,
    Look,
    Understanding,
    Verdict,
)
from gateway.reasoning.refusals import answer_or_none
from gateway.state import Context, Draft, Query, Reply, Tool

_NO_LETTERS = re.compile(r"^[^a-z]+")


def whole(completion: Completion[Schema]) -> Schema:
    """The value without its last field if the reply was cut off inside it: half a number is a wrong one.

    Of a list the last item goes; a required text stays, since nothing is concluded from it alone.
    """
    value = completion.value
    if not cut_off(completion) or not value.model_fields_set:
        return value
    last = max(value.model_fields_set, key=lambda name: completion.spans.get(name, (-1, -1)))
    held = getattr(value, last)
    if isinstance(held, list):
        return value.model_copy(update={last: held[:-1]})
    field = type(value).model_fields[last]
    if field.is_required():
        return value
    return value.model_copy(update={last: field.get_default(call_default_factory=True)})


def cut_off(completion: Completion[Schema]) -> bool:
    """Whether the reply ended inside its form: at a limit, or the model itself left it open."""
    return not completion.whole


def declined_draft(query: Query) -> Draft:
    """The draft of a model that would not speak: nothing is known, everything is to be looked up."""
    tools = frozenset(Tool) if query.photo is not None else frozenset({Tool.TEXT_SEARCH})
    return Draft(None, None, "", None, 0.0, self_contained=False, tools=tools, sub_queries=())


def no_answer(context: Context) -> Reply:
    """An honest "I don't know": for want of evidence, or of an answer in it."""
    reason = Reason.MODEL_UNSURE if context.evidence else Reason.NO_EVIDENCE
    return Reply(None, 0.0, reason=reason)


def draft_of(completion: Completion[ChainOfThought], options: VlmOptions) -> Draft:
    """The draft of a prompt that asks for no tools: they have a call of their own."""
    value = whole(completion)
    return _drafted(value, completion, label(value.object_label, LABEL_WORDS), options)


def understood(completion: Completion[Understanding], query: Query, options: VlmOptions) -> Draft:
    """The draft with its tools. What is not self-contained is looked up, whatever the model asked for."""
    value = whole(completion)
    draft = _drafted(value, completion, label(value.image_search, LABEL_WORDS), options)
    tools = set[Tool]()
    if value.image_search is not None and query.photo is not None:
        tools.add(Tool.IMAGE_SEARCH)
    if value.text_search or not draft.self_contained:
        tools.add(Tool.TEXT_SEARCH)
    return replace(draft, tools=frozenset(tools), sub_queries=queries(value.text_search, options.max_queries))


def _drafted(
    value: Look, completion: Completion[Any], object_label: str | None, options: VlmOptions
) -> Draft:
    said = _answer(value.answer)
    return Draft(
        object_label=object_label,
        entity=entity_name(value.entity, object_label),
        reasoning="\n".join(step for step in map(one_line, value.reasoning) if step),
        answer=said,
        confidence=confidence(completion.probabilities_of("answer"), options) if said is not None else 0.0,
        self_contained=said is not None and value.answerability is Answerability.IN_PHOTO,
        tools=frozenset(),
        sub_queries=(),
    )


def reply_of(
    completion: Completion[GroundedAnswer], context: Context, shown: EvidenceBlocks, options: VlmOptions
) -> Reply:
    """The answer with the sentences it rests on, or an honest None."""
    value = whole(completion)
    said = _answer(value.answer)
    if said is None:
        return no_answer(context)
    measured = completion.probabilities_of("answer") or None
    cited = shown.indices(value.evidence)
    return Reply(
        answer=said,
        confidence=confidence(measured, options),
        quotes=quotes(said, value.reason, context.evidence, cited, shown.places),
        token_probabilities=measured,
        under_grammar=completion.under_grammar,
    )


def confidence(probabilities: tuple[float, ...] | None, options: VlmOptions) -> float:
    """Mean token probability (s_mean of QA-Dragon, 3.7.2), or the neutral value where there is none."""
    if not probabilities:
        return options.unmeasured
    return min(1.0, sum(probabilities) / len(probabilities))


def probability_correct(completion: Completion[Judgement], options: VlmOptions) -> float:
    """P(correct) / (P(correct) + P(incorrect)) where the verdict's first token was chosen.

    Without alternatives the verdict's own probability stands for it, never against the verdict itself: raw
    probabilities also count tokens that the grammar forbade.
    """
    correct = completion.value.verdict is Verdict.CORRECT
    tokens = completion.tokens_of("verdict")
    if not tokens:
        return options.judged_correct if correct else options.judged_incorrect
    weighed = _weigh(tokens[0])
    if weighed is not None:
        return weighed
    own = prod(token.probability for token in tokens)
    return max(own, 0.5) if correct else min(1 - own, 0.5)


def _weigh(token: Token) -> float | None:
    """ "correct" among the tokens that could have begun either verdict; None unless both are known."""
    others = [other for other in token.alternatives if other.text != token.text]
    shares = {verdict: 0.0 for verdict in Verdict}
    for choice in (Alternative(token.text, token.probability), *others):
        spelled = _NO_LETTERS.sub("", choice.text.casefold())
        for verdict in Verdict:
            if spelled and verdict.startswith(spelled):
                shares[verdict] += choice.probability
    if not all(shares.values()):
        return None
    return shares[Verdict.CORRECT] / sum(shares.values())


def _answer(text: str | None) -> str | None:
    return answer_or_none(spoken(text)) if text is not None else None
