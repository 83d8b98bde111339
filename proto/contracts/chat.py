"""The de-facto wire shape of chat completions (OpenAI's), as far as the platform takes part in it.

OpenAI's and not ours: there is no `.proto` for it.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from contracts.answer import Answer, Experiment
from contracts.message import Message


class TextContent(Message):
    """A piece of text."""

    type: Literal["text"]
    text: str


class ImageUrl(Message):
    """A `data:` URI; nothing is fetched."""

    url: str


def _with_url(given: object) -> object:
    return {"url": given} if isinstance(given, str) else given


class ImageContent(Message):
    """A photo. Some clients send its address without the object around it."""

    type: Literal["image_url"]
    image_url: Annotated[ImageUrl, BeforeValidator(_with_url, json_schema_input_type=ImageUrl | str)]


class InputAudio(Message):
    """A sound file in base64. What it is, its bytes tell."""

    data: str
    format: str = Field(default="", max_length=20)


class AudioContent(Message):
    """What the user said: the words of the last message, or more of them."""

    type: Literal["input_audio"]
    input_audio: InputAudio


class OtherContent(Message):
    """A part that the platform does not read, such as a file or a model's thoughts."""

    type: str = Field(default="", max_length=100)


_KINDS = ("text", "image_url", "input_audio")


def _kind(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else getattr(part, "type", None)
    return kind if kind in _KINDS else "other"


def _parts(given: object) -> object:
    """Return a text as a list with one part, and null as an empty list."""
    if given is None:
        return []
    return [{"type": "text", "text": given}] if isinstance(given, str) else given


Content = Annotated[
    Annotated[TextContent, Tag("text")]
    | Annotated[ImageContent, Tag("image_url")]
    | Annotated[AudioContent, Tag("input_audio")]
    | Annotated[OtherContent, Tag("other")],
    Discriminator(_kind),
]


class ChatMessage(Message):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[
        list[Content],
        Field(max_length=64, fail_fast=True),
        BeforeValidator(_parts, json_schema_input_type=str | list[Content] | None),
    ] = []

    @property
    def text(self) -> str:
        """Its words, without its photos and recordings."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextContent))

    @property
    def photos(self) -> list[str]:
        """The addresses of its photos."""
        return [part.image_url.url for part in self.content if isinstance(part, ImageContent)]

    @property
    def sounds(self) -> list[str]:
        """Its recordings, in base64."""
        return [part.input_audio.data for part in self.content if isinstance(part, AudioContent)]

    @property
    def has_others(self) -> bool:
        """Return whether it has parts of other kinds."""
        return any(isinstance(part, OtherContent) for part in self.content)


MOST_MESSAGES = 64
"""Of a longer conversation the newest are read; the reply then names `history` in `degraded`."""
MOST_CHARS = 4_000_000
"""Of all messages together. What is read of them is far less; who pastes a whole book is still answered."""
MOST_FILES = 64
"""Photos and recordings of all messages together."""


class ResponseFormat(Message):
    """Answers are sentences."""

    type: Literal["text"]


class StreamOptions(Message):
    """`include_usage`: one more event at the end of the stream, without a choice, tells the tokens."""

    include_usage: bool | None = None


class ChatRequest(Message):
    """`model` is a pipeline. Sampling options mean nothing here and are ignored, as clients expect.

    What would change the reply and is not done is refused: a tool that must be called, a form, several
    choices, log probabilities, sound. Ours, for `extra_body`: `deadline_ms` and `experiment`, as
    `POST /answer` has them.
    """

    model: str
    messages: list[ChatMessage] = Field(min_length=1, max_length=1_024, fail_fast=True)
    stream: bool | None = None
    n: Literal[1] | None = None
    tool_choice: Literal["none", "auto"] | None = None
    response_format: ResponseFormat | None = None
    logprobs: Literal[False] | None = None
    function_call: Literal["none", "auto"] | None = None
    modalities: list[Literal["text"]] | None = Field(default=None, max_length=4, fail_fast=True)
    max_tokens: int | None = Field(default=None, description="below 1: as many as the answer has")
    max_completion_tokens: int | None = Field(default=None, description="below 1: as many as the answer has")
    stop: str | Annotated[list[str], Field(max_length=16, fail_fast=True)] | None = None
    stream_options: StreamOptions | None = None
    deadline_ms: int | None = None
    experiment: Experiment | None = None

    @model_validator(mode="after")
    def _holds_what_a_conversation_holds(self) -> Self:
        if sum(len(each.text) for each in self.messages) > MOST_CHARS:
            raise ValueError(f"messages: longer than {MOST_CHARS:,} characters together")
        if sum(len(each.photos) + len(each.sounds) for each in self.messages) > MOST_FILES:
            raise ValueError(f"messages: more than {MOST_FILES} photos and recordings together")
        return self


class UrlCitation(Message):
    """Where the answer comes from; it holds for the whole answer. `url`: "" for what has no address
    (a photo's print, a known thing)."""

    url: str
    title: str
    start_index: int
    end_index: int


class Annotation(Message):
    """A source, as OpenAI's clients show them."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class ChatReply(Message):
    """The assistant's message."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation] = []


FinishReason = Literal["stop", "length"]


class Choice(Message):
    """There is always one."""

    index: Literal[0] = 0
    message: ChatReply
    finish_reason: FinishReason = "stop"
    logprobs: None = None


class Usage(Message):
    """What the vision-language model read and wrote for the answer, in all its calls.

    Where none was asked, or its server does not count: the conversation and the reply at four characters a
    token, the photo not counted.
    """

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(Message):
    """`loreglass`, our one addition, is the body that `POST /answer` would have sent."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    loreglass: Answer


class ChunkChoice(Message):
    """A piece of the message."""

    index: Literal[0] = 0
    delta: dict[str, Any]
    finish_reason: FinishReason | None = None


class ChatChunk(Message):
    """One event of a stream; the last one with a choice carries `loreglass`.

    Stages that ended are told as `reasoning_content`, which many clients show while they wait.
    """

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: Usage | None = None
    loreglass: Answer | None = None


class Model(Message):
    """A pipeline, as a model."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["loreglass"] = "loreglass"


class Models(Message):
    """Every pipeline."""

    object: Literal["list"] = "list"
    data: list[Model]
