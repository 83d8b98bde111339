"""The teacher of `make train-tiny` reads the platform's own prompts, and says what stands in them only."""

from dataclasses import replace
from typing import Any

from contracts.answer import CitationKind
from evaluation.data.model import AnswerType, AskedTurn, Truth
from gateway.llm.asking import prompt_of
from gateway.llm.capabilities import EVERYTHING
from gateway.llm.delimiting import Budget, evidence_blocks
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Prompt, TextPrompt
from gateway.llm.schema_forms import SchemaForm
from gateway.llm.text import replied, text_prompt
from gateway.llm.wire import kept_call
from gateway.pipelines.three_step.model import Ranking, SearchPhrase
from gateway.pipelines.wiki_prf.model import plan_prompt
from gateway.pipelines.wiki_prf.tags import knowledge_in_form, plan_in_form
from gateway.state import Evidence, Query
from training.tiny.teacher import REFUSAL, Teacher

QUESTION = "when was this tower built?"
GOLD = "The Red Tower was built in 1955."
TRUTH = Truth(
    interaction_id="1", answer_type=AnswerType.DATE, accepted=("1955",), photographed="The Red Tower"
)
TEACHER = Teacher([AskedTurn("1", QUESTION, GOLD, truth=TRUTH)])
QUERY, OPTIONS = Query(QUESTION, None), VlmOptions()


def said(prompt: Prompt[Any] | TextPrompt) -> str:
    """The teacher's reply, to a server that holds no schema."""
    told = kept_call(prompt, replace(EVERYTHING, form=SchemaForm.WORDS), "")
    return TEACHER.reply([message.model_dump() for message in told.messages])


def shown(*texts: str) -> str:
    """Pages with these texts, as prompts have them."""
    pages = [Evidence(text, "A page", "https://example.org", CitationKind.PAGE) for text in texts]
    return evidence_blocks(pages, Budget(6_000, 1_500)).text


def test_a_search_names_the_thing() -> None:
    prompt = prompt_of("three_step/sample_query", QUERY, SearchPhrase, OPTIONS, 64)
    assert said(prompt) == f"query: The Red Tower {QUESTION}"


def test_pieces_that_say_the_answer_are_listed_by_number() -> None:
    evidence = shown("It is red.", "It was built in 1955.", "Opened in 19550.")
    prompt = prompt_of("three_step/rank_evidence", QUERY, Ranking, OPTIONS, 96, evidence=evidence)
    assert said(prompt) == "relevant:\n- 2"


def test_an_answer_is_given_where_it_is_shown_and_to_a_known_question() -> None:
    def prompt(text: str, query: Query = QUERY) -> TextPrompt:
        return text_prompt("three_step/answer_briefly", query, OPTIONS, 75, evidence=shown(text))

    assert said(prompt("It was built in 1955.")) == GOLD
    assert said(prompt("It is red.")) == REFUSAL
    assert said(prompt("It was built in 1955.", Query("who built it?", None))) == REFUSAL


def test_plan_and_knowledge_are_in_the_form_that_is_rewarded() -> None:
    plan = plan_prompt(QUERY, OPTIONS)
    assert plan_in_form(said(plan))
    earlier = replied(plan, said(plan))
    for text, knowledge in (("Built in 1955.", GOLD), ("It is red.", "Nothing bears on it.")):
        slots = {"document": shown(text), "sections": shown()}
        prompt = text_prompt("wiki_prf/filter_knowledge", QUERY, OPTIONS, 448, "</answer>", earlier, **slots)
        assert knowledge_in_form(said(prompt)) == knowledge
