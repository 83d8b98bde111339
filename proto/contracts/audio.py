"""The de-facto wire shapes of speech (OpenAI's), as far as the platform takes part in them.

OpenAI's and not ours: there is no `.proto` for them.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.message import Message


class VoiceId(Message):
    """A voice that was made for the caller."""

    id: str = Field(max_length=200)


VoiceName = Annotated[str, Field(max_length=200)]
SoundFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]


class SpeechRequest(Message):
    """`POST /v1/audio/speech`. `model` is the operator's choice, and so is `voice` where they made one.

    `instructions` mean nothing here and are ignored. What would change the shape of the reply is refused.
    """

    input: str = Field(min_length=1)
    model: str = ""
    voice: VoiceName | VoiceId = ""
    response_format: SoundFormat | None = None
    speed: float | None = Field(default=None, ge=0.25, le=4.0)
    stream_format: Literal["audio"] | None = None


class Transcription(Message):
    """`POST /v1/audio/transcriptions` with `response_format` `json`. `text`: "" where nothing was said."""

    text: str


class VerboseTranscription(Message):
    """The same with `verbose_json`. `duration` in seconds; `language`: "" where the server does not tell it.

    No segments: not every server has them.
    """

    task: Literal["transcribe"] = "transcribe"
    language: str
    duration: float
    text: str
