"""The prompts: a shared beginning, words that fit their schemas, and material that stays material."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from contracts.domain_router import Domain
from gateway.llm import schemas
from gateway.llm.asking import domain_text, photo_parts, question_text, system_text
from gateway.llm.call import request_body
from gateway.llm.capabilities import Abilities
from gateway.llm.prompt import Case, Prompt, PromptText, TextPart, prompt_text
from gateway.pipelines.qa_dragon import model as dragon
from gateway.pipelines.three_step.model import Ranking, SearchPhrase
from gateway.reasoning.refusals import is_refusal
from gateway.state import Photo, Query, Turn
from tests.unit.gateway.llm.every_prompt import DOMAINS, all_prompts
from tests.unit.gateway.llm.stage import ASK, FOLLOW_UP, OPTIONS, PHOTO

STAGES: dict[str, type[schemas.Structured]] = {
    "understand": schemas.Understanding,
    "qa_dragon/choose_tools": dragon.ToolChoice,
    "qa_dragon/list_objects": dragon.ObjectList,
    "qa_dragon/select_object": dragon.ObjectChoice,
    "qa_dragon/match_entity": dragon.EntityMatch,
    "qa_dragon/split_query": dragon.QuerySplit,
    "qa_dragon/enhance_queries": dragon.QueryRewrite,
    "three_step/sample_query": SearchPhrase,
    "three_step/rank_evidence": Ranking,
}


def first_text(prompt: Prompt[Any]) -> str:
    """The text of the prompt's first turn."""
    (text,) = [part.text for part in prompt.turns[0] if isinstance(part, TextPart)]
    return text


@pytest.mark.parametrize("ask", [ASK, FOLLOW_UP, Query("What is 2 + 2?", None)])
def test_all_prompts_share_their_beginning_and_end_with_the_question(ask: Query) -> None:
    for prompt in all_prompts(ask):
        first = prompt.turns[0]
        assert prompt.system == system_text()
        assert first[:-1] == photo_parts(ask)
        assert isinstance(first[-1], TextPart)
        assert first[-1].text.endswith(f"\n\n{question_text(ask, OPTIONS)}"), prompt.name
        assert first[-1].text.endswith(ask.question), prompt.name


@pytest.mark.parametrize("photo", [PHOTO, None])
def test_prompts_of_two_questions_share_all_text_before_the_material(photo: Photo | None) -> None:
    one = all_prompts(Query("Who built it?", photo), "It was built in 1519.")
    other = all_prompts(Query("How long is it?", photo), "Nobody lives there.")
    for first, second in zip(map(first_text, one), map(first_text, other), strict=True):
        end = first.find("\n<<<") if "\n<<<" in first else first.index("Question: Who built it?")
        assert end > 0
        assert second.startswith(first[:end])


def test_the_answer_has_no_examples_and_no_schema() -> None:
    (prompt,) = [each for each in all_prompts(ASK, "in 1519") if each.name == "answer"]
    assert prompt_text("answer").cases == ()
    assert "response_format" not in request_body(prompt, "model", Abilities())
    assert "Reply: " not in first_text(prompt)
    assert "<<<the thing asked about>>>\nFiat in 1519\n<<<end>>>" in first_text(prompt)


def test_instructions_precede_the_question_in_every_prompt() -> None:
    wished = replace(ASK, instructions="Answer in Latin. <|im_end|>")
    for text in map(first_text, all_prompts(wished)):
        assert text.index("Answer in Latin.") < text.rindex(ASK.question)
        assert "<|im_end|>" not in text
    assert "wishes" not in question_text(ASK, OPTIONS)


@pytest.mark.parametrize(
    "prompt",
    [each for each in all_prompts(FOLLOW_UP) if not each.is_text],
    ids=lambda prompt: prompt.name,
)
def test_a_task_lists_exactly_the_fields_of_its_schema_in_order(prompt: Prompt[Any]) -> None:
    text = first_text(prompt)
    lines = text.split("nothing else:\n")[1].splitlines()
    listed = [line[2:].partition(":")[0] for line in itertools.takewhile(lambda it: it[:2] == "- ", lines)]
    assert listed == list(prompt.schema.model_fields)


@pytest.mark.parametrize("schema", [*STAGES.values(), schemas.ChainOfThought])
def test_schemas_begin_with_the_reasoning(schema: type[schemas.Structured]) -> None:
    first = next(iter(schema.model_fields))
    assert first in {"reasoning", "reason", "objects", "queries", "query", "relevant"}
    assert all(field.description for field in schema.model_fields.values())


def cases_of(name: str) -> Sequence[Case]:
    return prompt_text(name).cases


@pytest.mark.parametrize(
    ("case", "schema"),
    [
        *((case, schema) for name, schema in STAGES.items() for case in cases_of(name)),
        *((case, schemas.ChainOfThought) for domain in DOMAINS for case in domain_text(domain).cases),
    ],
    ids=lambda value: value.question[:40] if isinstance(value, Case) else value.__name__,
)
def test_example_replies_match_their_schema(case: Case, schema: type[schemas.Structured]) -> None:
    shown = schema.model_validate(case.reply).model_dump(mode="json", exclude_unset=True)
    assert shown == dict(case.reply)
    assert set(case.reply) <= set(schema.model_fields)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_has_advice_and_two_or_three_cases_of_its_own(domain: Domain | None) -> None:
    text = domain_text(domain)
    assert text.advice
    assert 2 <= len(text.cases) <= 3
    others = [domain_text(other) for other in DOMAINS if other != domain]
    assert not any(case in other.cases for case in text.cases for other in others)


@pytest.mark.parametrize("domain", DOMAINS)
def test_domain_examples_follow_the_task(domain: Domain | None) -> None:
    for case in domain_text(domain).cases:
        reply = schemas.ChainOfThought.model_validate(case.reply)
        assert len(reply.reasoning) <= schemas.MAX_STEPS
        stuck = any("I cannot determine" in step for step in reply.reasoning)
        assert stuck == (reply.answer is None)
        assert (reply.answerability is schemas.Answerability.LOOK_UP) == (reply.answer is None)
        assert reply.answer is None or not is_refusal(reply.answer)


def test_slots_are_filled_once() -> None:
    text = PromptText("a <<one>> b <<two>>, <<<end>>>")
    assert text.slots == {"one", "two"}
    assert text.fill(one="<<two>>", two="2") == "a <<two>> b 2, <<<end>>>"
    with pytest.raises(ValueError, match="slots"):
        text.fill(other="x")


def test_the_conversation_is_bounded_and_keeps_the_latest_turns() -> None:
    turns = tuple(Turn(f"question {n} " + "x" * 300, f"answer {n}", False) for n in range(50))
    text = question_text(Query("And now?", PHOTO, False, turns), OPTIONS)
    assert len(text) < OPTIONS.history_chars + 300
    assert "answer 49" in text
    assert "question 45" not in text


def test_follow_up_prompt_has_history_and_entity() -> None:
    text = question_text(FOLLOW_UP, OPTIONS)
    assert "Wearer: What car is this?\nYou: It is a Fiat 500." in text
    assert "last about: Fiat 500" in text
    assert "I don't know" not in text


@pytest.mark.parametrize(
    "special",
    [
        "<|eot_id|>",
        "<|image|>",
        "</s>",
        "<<<end>>>",
        "[INST]",
        "<image>",
        "[AUDIO]",
        "[gMASK]",
        "[ /INST ]",
        "[ INST ]",
        "[MIDDLE]",
        "</search_result>",
    ],
)
def test_control_tokens_are_removed_from_prompts(special: str) -> None:
    query = Query(f"What is {special} this?", PHOTO, False, (Turn(f"a {special}", f"b {special}", False),))
    for prompt in all_prompts(query, f"x {special} y"):
        turns = [part.text for turn in prompt.turns for part in turn if isinstance(part, TextPart)]
        texts = "\n".join((*turns, prompt.earlier.reply if prompt.earlier else ""))
        plain = "\n".join(line for line in texts.splitlines() if line != "<<<end>>>")
        assert special not in plain, prompt.name
