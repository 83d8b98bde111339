"""Turns what the model wrote into what the pipeline works with: cleaned, honest, and measured."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from contracts.answer import Reason
from gateway.llm.cleaning import LABEL_WORDS, entity_name, label, one_line, queries, spoken
from gateway.llm.completion import Completion
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Schema
from gateway.llm.prompts import Case
from gateway.llm.schemas import Answerability, ChainOfThought, Look, Understanding
from gateway.reasoning.refusals import answer_or_none
from gateway.state import Context, Draft, Query, Reply, Tool


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
    """Return the draft of a model that declined: nothing is known, everything is looked up."""
    draft = Draft.of_question()
    return replace(draft, tools=frozenset(Tool)) if query.photo is not None else draft


def no_answer(context: Context) -> Reply:
    """An honest "I don't know": for want of evidence, or of an answer in it."""
    reason = Reason.MODEL_UNSURE if context.evidence else Reason.NO_EVIDENCE
    return Reply(None, 0.0, reason=reason)


def draft_of(completion: Completion[ChainOfThought], query: Query, cases: Iterable[Case]) -> Draft:
    """Return the draft of a prompt that asks for no tools. `cases`: the examples in the prompt."""
    value = whole(completion)
    return _drafted(value, completion, label(value.object_label, LABEL_WORDS), query, cases)


def understood(
    completion: Completion[Understanding], query: Query, options: VlmOptions, cases: Iterable[Case]
) -> Draft:
    """Return the draft with its tools. A question that is not self-contained is always looked up."""
    value = whole(completion)
    draft = _drafted(value, completion, label(value.image_search, LABEL_WORDS), query, cases)
    tools = set[Tool]()
    if value.image_search is not None and query.photo is not None:
        tools.add(Tool.IMAGE_SEARCH)
    if value.text_search or not draft.self_contained:
        tools.add(Tool.TEXT_SEARCH)
    return replace(draft, tools=frozenset(tools), sub_queries=queries(value.text_search, options.max_queries))


def _drafted(
    value: Look, completion: Completion[Any], object_label: str | None, query: Query, cases: Iterable[Case]
) -> Draft:
    said = _answer(value.answer)
    if said is not None and said in {case.reply.get("answer") for case in cases}:
        said = None  # a small model repeated an example from its prompt
    in_photo = query.photo is not None and value.answerability is Answerability.IN_PHOTO
    return Draft(
        object_label=object_label,
        entity=entity_name(value.entity, object_label),
        reasoning="\n".join(step for step in map(one_line, value.reasoning) if step),
        answer=said,
        confidence=confidence(completion.probabilities_of("answer")) if said is not None else None,
        self_contained=said is not None and in_photo,
        tools=frozenset(),
        sub_queries=(),
        token_probabilities=completion.probabilities_of("answer") if said is not None else None,
    )


def confidence(probabilities: tuple[float, ...] | None) -> float | None:
    """Return the mean token probability (s_mean of QA-Dragon, 3.7.2); None if there is none."""
    return min(1.0, sum(probabilities) / len(probabilities)) if probabilities else None


def _answer(text: str | None) -> str | None:
    return answer_or_none(spoken(text)) if text is not None else None
