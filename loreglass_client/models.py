"""The gateway's replies, typed and frozen. The gateway itself replies with them (`contracts.answer`)."""

from datetime import datetime

from pydantic import Field

from loreglass_client import explanation, message

Body = message.Body
Word = message.Word
CitationKind = message.CitationKind
LookedAtKind = message.LookedAtKind
Reason = message.Reason
Route = message.Route
Verification = message.Verification
EvidenceSeen = explanation.EvidenceSeen
Experiment = explanation.Experiment
Explanation = explanation.Explanation
ModelCall = explanation.ModelCall
ModelMessage = explanation.ModelMessage
ModelMessagePart = explanation.ModelMessagePart
Note = explanation.Note
SearchResult = explanation.SearchResult


class Citation(Body):
    """A source: a verbatim passage of the evidence that the answer was made from."""

    title: str = Field(description="The page's title, or the name of the thing.")
    url: str = Field(description="The page's address; empty if it has none.")
    snippet: str = Field(description="The passage, verbatim, or a fact: `Doge's Palace, begun: 1340.`")
    score: float = Field(description="How relevant the passage is to the question, in 0..1.")
    kind: CitationKind = Field(description="Where the passage comes from.")
    last_modified: datetime | None = Field(
        default=None, description="When the page was last modified, if that is known."
    )
    sentence: str = Field(
        default="",
        description="For `closest`: the sentence or two of the passage that come closest.",
    )


class Conflict(Body):
    """A source that says otherwise than the answer: `value` in `citation.snippet`."""

    value: str
    citation: Citation


class ModelUsage(Body):
    """The model's requests and tokens for an answer."""

    calls: int = Field(default=0, description="Calls of the model.")
    prompt_tokens: int = Field(default=0, description="Tokens that it read.")
    completion_tokens: int = Field(default=0, description="Tokens that it wrote.")


class LookedAt(Body):
    """A region of the photo."""

    kind: LookedAtKind = Field(description="Why this region matters.")
    left: float = Field(description="Left edge, in 0..1 of the photo's width.")
    top: float = Field(description="Top edge, in 0..1 of the photo's height.")
    right: float = Field(description="Right edge, in 0..1 of the photo's width.")
    bottom: float = Field(description="Bottom edge, in 0..1 of the photo's height.")
    text: str = Field(default="", description="The text that was read there.")
    shows_entity: bool = Field(default=False, description="Whether the answer's `entity` was found there.")


class Answer(Body):
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
    domain: str | None = Field(default=None, description="The topic of the question, if it was classified.")
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


class StageEvent(Body):
    """Event `stage`: a stage ended."""

    stage: str = Field(description="The stage's name.")
    state: str = Field(description="`done`, `skipped`, `failed` or `cancelled`.")
    ms: float = Field(description="How long it took, in milliseconds.")
    left_ms: float = Field(default=0.0, description="Milliseconds until the deadline.")


class TranscriptEvent(Body):
    """Event `transcript`: the recording was understood."""

    text: str = Field(description="The question as understood from `audio`.")


class IdentifiedEvent(Body):
    """Event `identified`: the thing was recognised, before the answer is known."""

    entity: str = Field(description="The name of the thing in the photo.")
    sentence: str = Field(
        description="The same as a sentence. It can be spoken at once: no answer changes it."
    )


class TokenEvent(Body):
    """Event `token`: a piece of the answer."""

    text: str = Field(description="The next piece of the answer.")


class StageTrace(Body):
    """One stage of a trace."""

    stage: str = Field(description="The stage's name.")
    state: str = Field(description="`done`, `skipped`, `failed` or `cancelled`.")
    start_ms: float = Field(description="When it began, in milliseconds after the request.")
    ms: float = Field(description="How long it took, in milliseconds.")
    detail: str = Field(
        default="", description="What happened. It never holds text of the question or of the photo."
    )


class PlanTrace(Body):
    """The plan of a request at one moment."""

    at_ms: float = Field(description="When the plan was made, in milliseconds after the request.")
    after: str = Field(description="The stage whose end led to this plan; empty for the first one.")
    remaining_ms: float = Field(description="Milliseconds until the deadline.")
    expected_ms: float = Field(description="Milliseconds that the planned stages are expected to take.")
    load: int = Field(description="Questions in progress at that moment.")
    cuts: list[str] = Field(default=[], description="What was left out so that the plan fits.")
    limits: dict[str, int] = Field(default={}, description="Planned counts by name; 0 or 1 for a switch.")


class Problem(Body):
    """A problem+json body. `type` is `urn:loreglass:problem:<kind>` and never changes meaning."""

    type: str = Field(description="`urn:loreglass:problem:<kind>`. The kind never changes its meaning.")
    title: str = Field(description="The kind in words; always the same for a kind.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong with this request, and what to change.")
    trace_id: str | None = Field(default=None, description="For the operator's logs.")


class Trace(Body):
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


class Passage(Body):
    """A passage of an indexed page, verbatim."""

    title: str
    url: str
    text: str


class Passages(Body):
    """Passages by falling relevance."""

    passages: list[Passage]


class Thing(Body):
    """A thing that an indexed photo shows, with what is known about it."""

    name: str
    url: str
    facts: dict[str, str]


class Things(Body):
    """Things; one of exactly the name looked for is first."""

    things: list[Thing]


class Health(Body):
    """`checks`: what was tried just now, and how it went."""

    status: str
    checks: dict[str, str] = {}


Event = StageEvent | TranscriptEvent | IdentifiedEvent | Citation | TokenEvent | Answer
"""An event of a stream; the last one is an `Answer`."""

EVENTS: dict[str, type[Event]] = {
    "stage": StageEvent,
    "transcript": TranscriptEvent,
    "identified": IdentifiedEvent,
    "citation": Citation,
    "token": TokenEvent,
    "final": Answer,
}
