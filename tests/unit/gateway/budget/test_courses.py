"""The baselines' courses: which stages lie ahead, and what their own budgets of evidence cost."""

import pytest

from gateway.budget.course import (
    CHARS_A_TOKEN,
    COT,
    COURSES,
    CRAG_MM_TASK_1,
    CRAG_MM_TASK_2,
    CRAG_MM_TASK_3,
    DIRECT_RAG,
    LLM_ONLY,
    QA_DRAGON,
    THREE_STEP,
    WIKI_PRF,
    Course,
    course_of,
)
from gateway.budget.latencies import load_latencies
from gateway.budget.plan import FULL, LADDER, Plan
from gateway.budget.stages import STAGE_BUDGETS, Stage
from gateway.pipelines import three_step, wiki_prf


def read(course: Course, stage: Stage, plan: Plan = FULL) -> int:
    return course.work(stage, plan).extra_prompt_tokens


@pytest.mark.parametrize("name", COURSES)
def test_every_course_is_found_by_its_pipelines_name(name: str) -> None:
    assert course_of(name) is COURSES[name]
    assert course_of(f"{name}-no-reranking") is COURSES[name]


@pytest.mark.parametrize("course", COURSES.values(), ids=COURSES)
def test_every_stage_on_the_way_has_a_budget_and_a_time(course: Course) -> None:
    stages = {stage for step in course.steps for stage in step}
    assert stages <= set(STAGE_BUDGETS)
    for table in ("pocket", "l40s"):
        assert stages <= set(load_latencies(table).stages)
    assert course.steps[-1] == (Stage.SESSION,)


@pytest.mark.parametrize(
    ("course", "tokens"),
    [
        (LLM_ONLY, 0),
        (DIRECT_RAG, 1_500),
        (CRAG_MM_TASK_1, 2_000),
        (CRAG_MM_TASK_2, 10_000),
        (CRAG_MM_TASK_3, 10_000),
        (QA_DRAGON, 1_500),
    ],
    ids=lambda value: value.name if isinstance(value, Course) else str(value),
)
def test_an_answer_is_planned_with_what_its_pipeline_reads(course: Course, tokens: int) -> None:
    assert read(course, Stage.ANSWER) == tokens


def test_who_rewrites_a_question_reads_what_image_search_found() -> None:
    assert read(CRAG_MM_TASK_2, Stage.QUERY_REWRITE) == 2_000
    assert read(QA_DRAGON, Stage.QUERY_ENHANCEMENT) == 0


def test_who_ranks_a_list_or_filters_knowledge_reads_what_was_found() -> None:
    assert read(THREE_STEP, Stage.LISTWISE_RERANK) == three_step.LIST_CHARS // CHARS_A_TOKEN
    assert read(WIKI_PRF, Stage.KNOWLEDGE_FILTER) == wiki_prf.EVIDENCE_CHARS // CHARS_A_TOKEN


def test_the_ladder_takes_the_same_share_of_every_budget() -> None:
    plan = FULL
    for cut in LADDER:
        plan = cut.apply(plan)
    assert read(CRAG_MM_TASK_2, Stage.ANSWER, plan) == 10_000 * plan.evidence_chars // FULL.evidence_chars
    assert plan.share_of_hits(50) == 25
    assert Plan(text_hits=0).share_of_hits(50) == 1


def test_a_node_that_shows_its_own_pipelines_more_shows_the_baselines_no_more() -> None:
    plan = Plan(evidence_chars=20_000, text_hits=40)
    assert (plan.share_of_evidence(8_000), plan.share_of_hits(50)) == (8_000, 50)


def test_what_is_answered_step_by_step_is_planned_as_a_draft() -> None:
    assert COT.steps[0] == (Stage.DRAFT,)
    assert COT.asks_model(Stage.DRAFT, Plan(model=False))
    assert not LLM_ONLY.asks_model(Stage.ANSWER, Plan(model=False))
