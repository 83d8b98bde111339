"""The time limit of each stage, and the time that it reserves for later stages.

Stage timeout = min(cap, remaining - reserve), with no more than half of what is left in reserve; a caller who
allows more than `USUAL_DEADLINE_MS` allows each stage more in proportion. Services' figures fit the engines
without a download on one core; those of stages that may ask a model fit an 11B vision-language model on one
L40S, about 28 ms a token.
"""

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """Names as they appear in `timings_ms`, `degraded`, traces and metrics."""

    OCR = "ocr"
    DOMAIN_ROUTER = "domain_router"
    IMAGE_SEARCH = "image_search"
    DRAFT = "draft"
    TOOL_ROUTER = "tool_router"
    OBJECT_LIST = "object_list"
    OBJECT_SELECTION = "object_selection"
    CROPPER = "cropper"
    CROP_SEARCH = "crop_search"
    SELECT_ENTITY = "select_entity"
    QUERY_SPLIT = "query_split"
    QUERY_ENHANCEMENT = "query_enhancement"
    TEXT_SEARCH = "text_search"
    WEB_SEARCH = "web_search"
    MEMORY = "memory"
    RERANKER = "reranker"
    ANSWER = "answer"
    VERIFIER = "verifier"
    JUDGE = "judge"
    SESSION = "session"
    ADMISSION = "admission"
    LITE_DRAFT = "lite_draft"
    LITE_ANSWER = "lite_answer"
    QUERY_REWRITE = "query_rewrite"
    QUERY_SAMPLING = "query_sampling"
    TOOL_PLAN = "tool_plan"
    CAPTION = "caption"
    LISTWISE_RERANK = "listwise_rerank"
    KNOWLEDGE_FILTER = "knowledge_filter"
    TRANSCRIPTION = "transcription"
    SPEECH = "speech"

    @classmethod
    def _missing_(cls, value: object) -> "Stage | None":
        """Accept the earlier names, of latency files."""
        return {"pocket_draft": cls.LITE_DRAFT, "pocket_answer": cls.LITE_ANSWER}.get(str(value))


PROMPTS: dict[Stage, tuple[str, ...]] = {
    Stage.DRAFT: ("understand", "chain_of_thought", "answer_in_steps"),
    Stage.TOOL_ROUTER: ("choose_tools",),
    Stage.OBJECT_LIST: ("list_objects",),
    Stage.OBJECT_SELECTION: ("select_object",),
    Stage.SELECT_ENTITY: ("match_entity",),
    Stage.QUERY_SPLIT: ("split_query",),
    Stage.QUERY_ENHANCEMENT: ("enhance_queries",),
    Stage.QUERY_REWRITE: ("rewrite", "rewrite_query"),
    Stage.QUERY_SAMPLING: ("sample_query",),
    Stage.TOOL_PLAN: ("plan_tools",),
    Stage.CAPTION: ("describe_photo",),
    Stage.LISTWISE_RERANK: ("rank_evidence",),
    Stage.KNOWLEDGE_FILTER: ("filter_knowledge",),
    Stage.ANSWER: (
        *("answer", "answer_alone", "answer_from_search", "answer_with_reasons"),
        *("answer_briefly", "answer_from_knowledge", "answer_in_short"),
    ),
    Stage.JUDGE: ("judge", "judge_with_reason"),
}
"""The prompts of each stage that asks a vision-language model."""


USUAL_DEADLINE_MS = 10_000
"""The deadline of a caller who names none, and the one that the caps below are made for."""


@dataclass(frozen=True, slots=True)
class StageBudget:
    """Milliseconds: `cap` at most for the stage, `reserve` kept for what must follow it."""

    cap: int
    reserve: int


STAGE_BUDGETS: dict[Stage, StageBudget] = {
    Stage.OCR: StageBudget(6_000, 250),
    Stage.DOMAIN_ROUTER: StageBudget(6_500, 200),
    Stage.IMAGE_SEARCH: StageBudget(6_000, 250),
    Stage.DRAFT: StageBudget(7_000, 200),
    Stage.TOOL_ROUTER: StageBudget(2_500, 2_500),
    Stage.OBJECT_LIST: StageBudget(2_000, 2_500),
    Stage.OBJECT_SELECTION: StageBudget(2_000, 2_500),
    Stage.CROPPER: StageBudget(1_500, 1_500),
    Stage.CROP_SEARCH: StageBudget(3_000, 800),
    Stage.SELECT_ENTITY: StageBudget(2_500, 150),
    Stage.QUERY_SPLIT: StageBudget(3_000, 2_000),
    Stage.QUERY_ENHANCEMENT: StageBudget(3_000, 1_500),
    Stage.QUERY_REWRITE: StageBudget(3_000, 2_000),
    Stage.QUERY_SAMPLING: StageBudget(3_000, 3_000),
    Stage.TOOL_PLAN: StageBudget(4_000, 3_500),
    Stage.CAPTION: StageBudget(3_000, 3_000),
    Stage.TEXT_SEARCH: StageBudget(1_500, 150),
    Stage.WEB_SEARCH: StageBudget(4_000, 1_500),  # what it finds is ranked, read and checked
    Stage.MEMORY: StageBudget(500, 60),
    Stage.RERANKER: StageBudget(4_000, 120),
    Stage.LISTWISE_RERANK: StageBudget(3_000, 1_500),
    Stage.KNOWLEDGE_FILTER: StageBudget(5_000, 1_500),
    Stage.ANSWER: StageBudget(6_000, 60),
    Stage.VERIFIER: StageBudget(1_000, 40),
    Stage.JUDGE: StageBudget(3_000, 150),
    Stage.SESSION: StageBudget(500, 5),
    Stage.TRANSCRIPTION: StageBudget(4_000, 3_000),
    Stage.SPEECH: StageBudget(300, 5),  # keeps what is to be said: it is spoken when it is fetched
    Stage.LITE_DRAFT: StageBudget(6_500, 120),  # quick itself, but it waits for what the photo says
    Stage.LITE_ANSWER: StageBudget(3_000, 40),  # a few questions to the reader, one after the other
}

FALLBACK_STAGE = {Stage.DRAFT: Stage.LITE_DRAFT, Stage.ANSWER: Stage.LITE_ANSWER}
"""A stage of the model -> the stage in which the lite reasoner does it if the model is not available."""

MOST_RESERVED = 0.5
"""The largest share of the time left that a stage reserves for later stages."""

REPLY_RESERVE_MS = 30
"""The pipeline is stopped this long before the deadline, so that the reply can be written."""


_SPARE = 1.5
_STEP_S = 5


def enough_ms(question_ms: float, longest_ms: float) -> int:
    """Return a deadline that is long enough for most questions, at most `longest_ms`; all in milliseconds."""
    return int(min(longest_ms, 1000 * _STEP_S * (question_ms / 1000 * _SPARE // _STEP_S + 1)))


def deadline_advice(question_ms: float, usual_ms: float, longest_ms: float) -> str:
    """Return what to set where a question takes longer than callers wait who name no deadline; else "".

    `question_ms`: what a question that is looked up is expected to take; `usual_ms`, `longest_ms`: the
    deadline of callers who name none, and the longest that may be named.
    """
    if question_ms <= usual_ms:
        return ""
    slow = (
        f"A question takes about {question_ms / 1000:.0f} s with this model. Callers who name no deadline "
        f"wait for {usual_ms / 1000:.0f} s, and are answered without it. "
    )
    if question_ms > longest_ms:
        return f"{slow}No deadline that is allowed would do: a smaller model or a quicker machine would."
    return f"{slow}LOREGLASS_GATEWAY_ANSWER_DEADLINE_MS={enough_ms(question_ms, longest_ms)} would do."
