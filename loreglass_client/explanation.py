"""Explanations of answers, for measurements of your own platform."""

from pydantic import BaseModel, ConfigDict, Field

from loreglass_client.message import Body, CitationKind


class Experiment(BaseModel):
    """For those who measure a platform of their own; refused where its operator has not allowed it.

    `explain`: send an `Explanation` along; `model_calls`: with what the model was asked and what it wrote.
    `thresholds`: cut-offs for this question only, each in 0..1. `without`: modules of the pipeline that it is
    answered without.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    explain: bool = False
    thresholds: dict[str, float] = {}
    without: list[str] = []
    model_calls: bool = False


class EvidenceSeen(Body):
    """A piece of what the answer was to be made from. `score`: its relevance, in 0..1."""

    text: str
    title: str
    url: str
    kind: CitationKind
    score: float


class Note(Body):
    """A stage's result in words: queries, candidates, chosen tools, …"""

    stage: str
    text: str


class SearchResult(Body):
    """A search result. `title`: the page's title or, for image search, the thing's name; `text`: a page's."""

    stage: str
    title: str
    url: str
    text: str = ""


class ModelMessagePart(Body):
    """A part of a message to the model: text, or the place where the photo stood."""

    type: str
    text: str = ""


class ModelMessage(Body):
    """A message of a chat with the model. `role`: system, user or assistant."""

    role: str
    content: list[ModelMessagePart]


class ModelCall(Body):
    """One call of the vision-language model, word for word but for the photo.

    `prompt`: its name. `form`: how the reply was asked for, as the gateway's metrics name it; `text` where no
    form was. `reply`: all that the model wrote, up to where the gateway stopped reading.
    """

    prompt: str
    messages: list[ModelMessage]
    reply: str
    form: str
    temperature: float = 0.0


class Explanation(Body):
    """The explanation of an answer; never stored.

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
