"""What the stand-ins write: as long as the worked cases of the prompts that they answer."""

from collections.abc import Mapping
from statistics import fmean

import pytest

from capacity.standins import QUESTIONS
from capacity.standins.chat import tokens_in
from capacity.standins.scene import ENTITY, FACT
from capacity.standins.writing import written
from contracts.answer import Route
from gateway.llm import asking
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import ImagePart
from gateway.llm.prompts import prompt_text
from gateway.llm.schemas import Answerability, Structured, Understanding
from gateway.pipelines.qa_dragon import schemas as steps
from gateway.planning.latencies import load_latencies
from gateway.planning.stages import Stage, stage_of_prompt
from gateway.state import Photo, Query

L40S = load_latencies("l40s")
PHOTO = Photo(b"", 8, 8, "digest")
GIVEN = f"1. {ENTITY}\n<<<piece 1, a page>>>\n{FACT}\n<<<end>>>\n<<<searches>>>\none\ntwo\n<<<end>>>"
ANSWERABILITY = {
    Route.DIRECT: Answerability.IN_PHOTO,
    Route.VERIFY: Answerability.CHECK,
    Route.RAG: Answerability.LOOK_UP,
}
SCHEMAS: Mapping[str, type[Structured]] = {
    "understand": Understanding,
    "qa_dragon/choose_tools": steps.ToolChoice,
    "qa_dragon/list_objects": steps.ObjectList,
    "qa_dragon/select_object": steps.ObjectChoice,
    "qa_dragon/match_entity": steps.EntityMatch,
    "qa_dragon/split_query": steps.QuerySplit,
    "qa_dragon/enhance_queries": steps.QueryRewrite,
}


def in_cases(name: str) -> list[tuple[Structured, int]]:
    """The replies of a prompt's worked cases, and their tokens."""
    replies = [SCHEMAS[name].model_validate(case.reply) for case in prompt_text(name).cases]
    return [(reply, tokens_in(reply.spelled())) for reply in replies]


def tokens_written(name: str, route: Route) -> int:
    """The tokens of a stand-in's reply."""
    text = written(name.rpartition("/")[2], f"{GIVEN}\n\nQuestion: {QUESTIONS[route]}")
    assert text is not None
    return tokens_in(text)


@pytest.mark.parametrize("route", Route)
def test_a_first_look_is_as_long_as_the_worked_case_of_its_kind(route: Route) -> None:
    alike = [
        tokens
        for reply, tokens in in_cases("understand")
        if isinstance(reply, Understanding) and reply.answerability is ANSWERABILITY[route]
    ]
    assert tokens_written("understand", route) == pytest.approx(fmean(alike), rel=0.15)


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "understand"])
def test_a_reply_is_as_long_as_the_worked_cases_are(name: str) -> None:
    mean = fmean(tokens for _, tokens in in_cases(name))
    assert fmean(tokens_written(name, route) for route in Route) == pytest.approx(mean, rel=0.25)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_planned_reply_is_the_mean_of_the_worked_cases(name: str) -> None:
    stage = L40S.model_stages[stage_of_prompt(name.rpartition("/")[2])]
    assert stage.output_tokens == pytest.approx(fmean(tokens for _, tokens in in_cases(name)), abs=3)


@pytest.mark.parametrize("name", ["answer", "judge"])
def test_the_planned_text_is_as_long_as_the_one_that_is_written(name: str) -> None:
    stage = L40S.model_stages[Stage(name)]
    assert stage.output_tokens == pytest.approx(tokens_written(name, Route.RAG), abs=3)


def test_the_planned_prompt_of_the_first_look_is_the_one_that_is_sent() -> None:
    prompt = asking.understand(Query(QUESTIONS[Route.RAG], PHOTO), None, VlmOptions())
    texts = [prompt.system, *(part.text for part in prompt.user if not isinstance(part, ImagePart))]
    planned = L40S.model_stages[Stage.DRAFT].prompt_tokens
    assert planned == pytest.approx(sum(map(tokens_in, texts)), rel=0.05)
