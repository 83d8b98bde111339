"""The public API: `POST /answer`, sessions, traces."""

from datetime import datetime
from enum import StrEnum

from pydantic import Base64Bytes, Field, StrictBool, StrictFloat, StrictStr

from contracts.domain_router import Domain
from contracts.errors import Problem
from contracts.memory import MEMORY_ID
from contracts.message import Message, Request

DEFAULT_PIPELINE = "loreglass"
"""Who answers a caller who names none."""


class Reason(StrEnum):
    """Why the answer is what it is."""

    ANSWERED = "answered"
    MODEL_UNSURE = "model_unsure"
    UNSUPPORTED = "unsupported"
    NO_EVIDENCE = "no_evidence"
    TIMED_OUT = "timed_out"
    OVERLOADED = "overloaded"
    UNAVAILABLE = "unavailable"
    NOTHING_INDEXED = "nothing_indexed"
    LANGUAGE = "language"
    NEEDS_PHOTO = "needs_photo"
    NOT_HEARD = "not_heard"
    NOT_REMEMBERED = "not_remembered"


class Route(StrEnum):
    """The three branches of QA-Dragon's search router (section 3.2, Table 1)."""

    DIRECT = "direct"
    VERIFY = "verify"
    RAG = "rag"


class Verification(StrEnum):
    """Whether the answer was checked against its sources: the pipeline or route has no such check (`none`),
    it was (`verified`), or what checks could not be had (`unverified`).
    """

    NONE = "none"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"


class CitationKind(StrEnum):
    """Where a snippet comes from: the photo itself, the index of images or of pages, the open web, or the
    asker's memory of what was seen before.
    """

    PHOTO = "photo"
    IMAGE = "image"
    PAGE = "page"
    WEB = "web"
    MEMORY = "memory"


class ImageInput(Request):
    """A photo."""

    base64: Base64Bytes | None = Field(
        default=None, description="The photo: JPEG, PNG, WebP, HEIC, AVIF, GIF, BMP or TIFF, at most 30 MiB."
    )
    url: str | None = Field(default=None, description="Not accepted. Send the bytes as `base64`.")


class AudioInput(Request):
    """A spoken question."""

    base64: Base64Bytes = Field(
        description="The recording: WAV, MP3, M4A, AAC, Ogg, WebM or FLAC, at most 10 MiB and 60 s."
    )


class MemoryInput(Request):
    """Consent to remember what this question's photo shows, and to answer from what was remembered."""

    id: str = Field(
        pattern=MEMORY_ID,
        description="Names the memory: 32 random letters, digits, `-` or `_` that the client makes once and "
        "keeps secret. Who knows it can read and delete the memory.",
    )
    place: str = Field(
        default="", max_length=200, description="Where the photo was taken, in words: `Waterloo station`."
    )
    utc_offset_min: int = Field(
        default=0,
        gt=-1440,
        lt=1440,
        description='Minutes that the client\'s clock is ahead of UTC, to understand "this morning".',
    )


class Experiment(Request):
    """Options for measuring a platform of your own; refused unless its operator allows them."""

    explain: StrictBool = Field(default=False, description="Adds `explanation` to the answer.")
    thresholds: dict[str, StrictFloat] = Field(
        default={},
        max_length=32,
        description="Thresholds for this question only, by their names in the gateway's file, in 0..1.",
    )
    without: list[StrictStr] = Field(
        default=[],
        max_length=32,
        fail_fast=True,
        description="Modules of the pipeline to leave out, by name.",
    )
    model_calls: StrictBool = Field(
        default=False, description="Adds the prompts to the model and its replies to `explanation`."
    )


class AnswerRequest(Request):
    """A question, in words or spoken, with or without a photo."""

    question: str = Field(default="", description="The question in words. Give this or `audio`.")
    image: ImageInput | None = Field(
        default=None,
        description="The photo. Without it, the answer comes from pages, or from the session's photo.",
    )
    session_id: str | None = Field(
        default=None, description="Continues a conversation: the `session_id` of an earlier answer."
    )
    deadline_ms: int | None = Field(
        default=None,
        description="How long the client waits, in milliseconds. Default: the operator's, 10,000.",
    )
    pipeline: str | None = Field(
        default=None, description="Which pipeline answers. `GET /v1/models` lists them. Default: `loreglass`."
    )
    experiment: Experiment | None = Field(
        default=None, description="For measurements; refused unless the operator allows experiments."
    )
    audio: AudioInput | None = Field(default=None, description="The question as a recording.")
    memory: MemoryInput | None = Field(
        default=None,
        description="Remember what the photo shows. Without it nothing is remembered. If `degraded` has "
        "`memory`, this gateway has no memory or it did not answer.",
    )


class Citation(Message):
    """A source: a verbatim passage of the evidence that the answer was made from."""

    title: str = Field(description="The page's title, or the name of the thing.")
    url: str = Field(description="The page's address; empty if it has none.")
    snippet: str = Field(description="The passage, verbatim.")
    score: float = Field(description="How relevant the passage is to the question, in 0..1.")
    kind: CitationKind = Field(description="Where the passage comes from.")
    last_modified: datetime | None = Field(
        default=None, description="When the page was last modified, if that is known."
    )
    sentence: str = Field(
        default="",
        description="For `closest`: the sentence or two of the passage that come closest, verbatim.",
    )


class Conflict(Message):
    """A source that says otherwise than the answer: `value` in `citation.snippet`."""

    value: str
    citation: Citation


class EvidenceSeen(Message):
    """A piece of what the answer was to be made from. `score`: its relevance, in 0..1."""

    text: str
    title: str
    url: str
    kind: CitationKind
    score: float


class Note(Message):
    """What a stage came to, in words: queries, candidates, chosen tools, …"""

    stage: str
    text: str


class SearchResult(Message):
    """What a search brought. `title`: the page's or, for image search, the thing's name; `text`: a page's."""

    stage: str
    title: str
    url: str
    text: str = ""


class ModelMessagePart(Message):
    """A part of a message to the model: text, or the place where the photo stood."""

    type: str
    text: str = ""


class ModelMessage(Message):
    """A message of a chat with the model. `role`: system, user or assistant."""

    role: str
    content: list[ModelMessagePart]


class ModelCall(Message):
    """One call of the vision-language model, word for word but for the photo.

    `prompt`: its name. `form`: how the reply was asked for, as the gateway's metrics name it; `text` where no
    form was. `reply`: all that the model wrote, up to where the gateway stopped reading.
    """

    prompt: str
    messages: list[ModelMessage]
    reply: str
    form: str
    temperature: float = 0.0


class Explanation(Message):
    """How an answer was decided; never stored.

    `signals`, if they were measured: `draft_confidence` and other `draft_…` (features of the draft),
    `p_direct`, `p_verify` (P(the draft is right) if the photo suffices, and anyway: search router),
    `image_top`, `entity_probability` (image search), `evidence_top` (best relevance), `answer_confidence`,
    `token_min`, `token_mean`, `support` (verifier), `evidence_support` (the part of it from the evidence),
    `judged`, `judge_token_min`, `judge_token_mean` (model judge); 0 or 1: `citable` (the sources are valid,
    or not needed), `withheld` (the answer could not be checked, and the operator refuses such answers).
    `gateway.steps.verification` and `conclusion` decide by them.
    """

    draft: str | None = Field(default=None, description="The draft answer.")
    proposed: str | None = Field(
        default=None, description="The last answer before the checks, whether it was given or refused."
    )
    signals: dict[str, float] = Field(
        default={},
        description="Measured values that the thresholds are compared with, by name; 0 or 1 for a condition.",
    )
    evidence: list[EvidenceSeen] = Field(
        default=[], description="Passages that the answer could be made from."
    )
    notes: list[Note] = Field(default=[], description="What each stage decided, in words.")
    thresholds: dict[str, float] = Field(
        default={}, description="The thresholds in force. Empty if the pipeline has none."
    )
    found: list[SearchResult] = Field(default=[], description="Results of every search, in order.")
    model_calls: list[ModelCall] = Field(
        default=[], description="Calls of the model in order. Only with `experiment.model_calls`."
    )


class ModelUsage(Message):
    """What the vision-language model did for an answer."""

    calls: int = Field(default=0, description="Calls of the model.")
    prompt_tokens: int = Field(default=0, description="Tokens that it read.")
    completion_tokens: int = Field(default=0, description="Tokens that it wrote.")


class LookedAtKind(StrEnum):
    """Why a region of the photo was looked at: it was searched by itself, or text was read there."""

    CROP = "crop"
    TEXT = "text"


class LookedAt(Message):
    """A region of the photo."""

    kind: LookedAtKind = Field(description="Why this region matters.")
    left: float = Field(description="Left edge, in 0..1 of the photo's width.")
    top: float = Field(description="Top edge, in 0..1 of the photo's height.")
    right: float = Field(description="Right edge, in 0..1 of the photo's width.")
    bottom: float = Field(description="Bottom edge, in 0..1 of the photo's height.")
    text: str = Field(default="", description="The text that was read there.")
    shows_entity: bool = Field(default=False, description="Whether the answer's `entity` was found there.")


class Answer(Message):
    """An answer, or an honest refusal (`abstained`)."""

    answer: str = Field(description="The answer, or a sentence that says why there is none.")
    abstained: bool = Field(description="True for a refusal.")
    reason: Reason = Field(description="Why there is an answer or a refusal.")
    confidence: float | None = Field(
        ge=0,
        le=1,
        description="Probability that the answer is right. Null if it was not measured, 0 for a refusal.",
    )
    route: Route = Field(description="How much the pipeline looked up.")
    domain: Domain | None = Field(
        default=None, description="The topic of the question, if it was classified."
    )
    entity: str | None = Field(
        default=None, description="The name of the thing in the photo, if it was recognised."
    )
    citations: list[Citation] = Field(
        default=[], description="The sources of the answer. Empty for a refusal."
    )
    degraded: list[str] = Field(
        default=[],
        description="What was left out: stages that failed or were skipped because time was short. With "
        "`session` in it the turn was not stored, and a new `session_id` is not valid.",
    )
    timings_ms: dict[str, float] = Field(
        default={}, description="Milliseconds of each stage, with `total` and `first_word`."
    )
    trace_id: str = Field(description="For `GET /traces/{trace_id}`, and for the logs.")
    session_id: str = Field(description="Send it with the next question to continue the conversation.")
    explanation: Explanation | None = Field(
        default=None, description="Only for an experiment with `explain`."
    )
    model_usage: ModelUsage = Field(
        default=ModelUsage(), description="Calls and tokens of the model, as its server counts them."
    )
    looked_at: list[LookedAt] = Field(
        default=[], description="Regions of the photo that the question looked at."
    )
    advice: str = Field(default="", description="For a refusal: what the user can do about it.")
    transcript: str | None = Field(default=None, description="The question as understood from `audio`.")
    speech: str | None = Field(
        default=None,
        description="Path of the answer's sound, relative to the gateway, for a short time. Null without a "
        "TTS server.",
    )
    verification: Verification = Field(
        default=Verification.NONE, description="Whether the answer was checked against its sources."
    )
    conflicts: list[Conflict] = Field(default=[], description="Always empty; kept for older clients.")
    closest: Citation | None = Field(
        default=None,
        description="For a refusal: the passage that comes closest to an answer. It is not an answer, and is "
        "not checked.",
    )


class StageEvent(Message):
    """Event `stage`: a stage ended."""

    stage: str = Field(description="The stage's name.")
    state: str = Field(description="`done`, `skipped`, `failed` or `cancelled`.")
    ms: float = Field(description="How long it took, in milliseconds.")
    left_ms: float = Field(default=0.0, description="Milliseconds until the deadline.")


class TranscriptEvent(Message):
    """Event `transcript`: the recording was understood."""

    text: str = Field(description="The question as understood from `audio`.")


class IdentifiedEvent(Message):
    """Event `identified`: the thing was recognised, before the answer is known."""

    entity: str = Field(description="The name of the thing in the photo.")
    sentence: str = Field(
        description="The same as a sentence. It can be spoken at once: no answer changes it."
    )


class TokenEvent(Message):
    """Event `token`: a piece of the answer."""

    text: str = Field(description="The next piece of the answer.")


class StageTrace(Message):
    """One stage of a trace."""

    stage: str = Field(description="The stage's name.")
    state: str = Field(description="`done`, `skipped`, `failed` or `cancelled`.")
    start_ms: float = Field(description="When it began, in milliseconds after the request.")
    ms: float = Field(description="How long it took, in milliseconds.")
    detail: str = Field(
        default="", description="What happened. It never holds text of the question or of the photo."
    )


class PlanTrace(Message):
    """The plan of a request at one moment."""

    at_ms: float = Field(description="When the plan was made, in milliseconds after the request.")
    after: str = Field(description="The stage whose end led to this plan; empty for the first one.")
    remaining_ms: float = Field(description="Milliseconds until the deadline.")
    expected_ms: float = Field(description="Milliseconds that the planned stages are expected to take.")
    load: int = Field(description="Questions in progress at that moment.")
    cuts: list[str] = Field(default=[], description="What was left out so that the plan fits.")
    limits: dict[str, int] = Field(default={}, description="Planned counts by name; 0 or 1 for a switch.")


class Trace(Message):
    """The stages and plans of one request."""

    trace_id: str = Field(description="The request's id.")
    pipeline: str = Field(description="The pipeline that answered.")
    route: Route | None = Field(default=None, description="How much the pipeline looked up.")
    reason: Reason | None = Field(default=None, description="Why there is an answer or a refusal.")
    deadline_ms: int = Field(description="The request's deadline.")
    total_ms: float = Field(description="How long it took, in milliseconds.")
    stages: list[StageTrace] = Field(description="All stages, in the order in which they ended.")
    problem: Problem | None = Field(default=None, description="The error that ended the request, if one did.")
    refused_by: str | None = Field(
        default=None,
        description="The check that refused the answer: `token_min`, `token_mean`, `judge`, `support`, …",
    )
    plans: list[PlanTrace] = Field(default=[], description="What was planned, each time anew.")
