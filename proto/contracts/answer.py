"""The public API: `POST /answer`, sessions, traces.

The replies are the models of the Python client, which goes out alone and cannot import ours.
"""

from pydantic import Base64Bytes, Field, StrictBool, StrictFloat, StrictStr

from contracts.domain_router import Domain
from contracts.memory import MEMORY_ID
from contracts.message import Request
from loreglass_client import models

Citation = models.Citation
CitationKind = models.CitationKind
Conflict = models.Conflict
EvidenceSeen = models.EvidenceSeen
Explanation = models.Explanation
IdentifiedEvent = models.IdentifiedEvent
LookedAt = models.LookedAt
LookedAtKind = models.LookedAtKind
ModelCall = models.ModelCall
ModelMessage = models.ModelMessage
ModelMessagePart = models.ModelMessagePart
ModelUsage = models.ModelUsage
Note = models.Note
PlanTrace = models.PlanTrace
Reason = models.Reason
Route = models.Route
SearchResult = models.SearchResult
StageEvent = models.StageEvent
StageTrace = models.StageTrace
TokenEvent = models.TokenEvent
Trace = models.Trace
TranscriptEvent = models.TranscriptEvent
Verification = models.Verification

DEFAULT_PIPELINE = "loreglass"
"""Who answers a caller who names none."""


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


class Answer(models.Answer):
    """An answer, or an honest refusal (`abstained`)."""

    domain: Domain | None = Field(
        default=None, description="The topic of the question, if it was classified."
    )
