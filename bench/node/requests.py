"""Chat requests, read strictly: what OpenAI's reference refuses is refused here."""

import base64
import binascii
import io
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

import anyio
from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, ConfigDict, Field, field_validator

from gateway.llm.prompt import prompt_text, short_name

_NAME_IN_WORDS = re.compile(r'the form "([A-Za-z0-9_-]+)"')
_LIMITS = {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern", "format"}
_DATA_URI = "data:image/jpeg;base64,"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TextPart(_Strict):
    type: Literal["text"]
    text: str


class ImageUrl(_Strict):
    """A photo as a data URI; other addresses are refused."""

    url: str

    @field_validator("url")
    @classmethod
    def _is_a_photo(cls, url: str) -> str:
        if not url.startswith(_DATA_URI):
            raise ValueError("images come as data URIs only")
        try:
            Image.open(io.BytesIO(decode(url)))
        except (binascii.Error, UnidentifiedImageError, OSError) as error:
            raise ValueError("Failed to load image") from error
        return url


def decode(url: str) -> bytes:
    return base64.b64decode(url.removeprefix(_DATA_URI), validate=True)


class ImagePart(_Strict):
    type: Literal["image_url"]
    image_url: ImageUrl


Part = Annotated[TextPart | ImagePart, Field(discriminator="type")]


class SystemMessage(_Strict):
    role: Literal["system"]
    content: str


class UserMessage(_Strict):
    """A user message: text, or a list of parts."""

    role: Literal["user"]
    content: Annotated[str, Field(min_length=1)] | Annotated[list[Part], Field(min_length=1)]

    @property
    def parts(self) -> list[Part]:
        if isinstance(self.content, str):
            return [TextPart(type="text", text=self.content)]
        return self.content


class AssistantMessage(_Strict):
    """An earlier reply."""

    role: Literal["assistant"]
    content: str


Message = Annotated[SystemMessage | UserMessage | AssistantMessage, Field(discriminator="role")]


class JsonSchema(_Strict):
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool


class SchemaFormat(_Strict):
    type: Literal["json_schema"]
    json_schema: JsonSchema


class ObjectFormat(_Strict):
    """Any JSON object."""

    type: Literal["json_object"]


class StreamOptions(_Strict):
    include_usage: bool


class ChatRequest(_Strict):
    """`POST /v1/chat/completions`."""

    model: str
    messages: list[Message] = Field(min_length=1)
    max_tokens: int = Field(ge=1)
    temperature: float = Field(ge=0, le=2)
    seed: int | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    chat_template_kwargs: dict[str, bool] | None = None
    logprobs: bool = False
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    response_format: Annotated[SchemaFormat | ObjectFormat, Field(discriminator="type")] | None = None


@dataclass(eq=False, slots=True)
class ScriptedRequest:
    """One chat request as it arrived.

    `refused`: answered 400 for a missing ability. `abandoned`: the client closed the connection before the
    end. `finished`: set when nothing more will be sent.
    """

    body: dict[str, Any]
    chat: ChatRequest
    refused: bool = False
    abandoned: bool = False
    finished: anyio.Event = field(default_factory=anyio.Event)

    @property
    def name(self) -> str:
        """Return the name of the prompt: its schema's, or the one that its text tells; "" if none does."""
        if isinstance(self.chat.response_format, SchemaFormat):
            return self.chat.response_format.json_schema.name
        names = _NAME_IN_WORDS.findall(self.text)  # the last: a chat may go on from another prompt
        return prompt_name(self.text) or (names[-1] if names else "")

    @property
    def system(self) -> str:
        return "".join(m.content for m in self.chat.messages if isinstance(m, SystemMessage))

    @property
    def parts(self) -> list[Part]:
        return [part for m in self.chat.messages if isinstance(m, UserMessage) for part in m.parts]

    @property
    def text(self) -> str:
        """Return the user's text parts, joined by line breaks."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def images(self) -> list[bytes]:
        """Return the photos as JPEG bytes."""
        return [decode(part.image_url.url) for part in self.parts if isinstance(part, ImagePart)]

    @property
    def photos(self) -> int:
        return sum(isinstance(part, ImagePart) for part in self.parts)

    def end(self, *, abandoned: bool) -> None:
        """Note that nothing more will be sent."""
        self.abandoned = abandoned
        self.finished.set()


def violations(request: ChatRequest) -> list[str]:
    """Return why the API would refuse a request whose fields are valid."""
    faults = []
    if request.top_logprobs is not None and not request.logprobs:
        faults.append("top_logprobs needs logprobs")
    if request.stream_options is not None and not request.stream:
        faults.append("Stream options can only be defined when `stream=True`.")
    if isinstance(request.response_format, SchemaFormat) and request.response_format.json_schema.strict:
        faults += _schema_faults(request.response_format.json_schema.schema_, "schema")
    if isinstance(request.response_format, SchemaFormat):
        limits = sorted(keywords(request.response_format.json_schema.schema_) & _LIMITS)
        faults += [f"some grammars cut or refuse what a schema limits by {each}" for each in limits]
    if isinstance(request.response_format, ObjectFormat) and not _mentions_json(request):
        faults.append("'messages' must contain the word 'json' in some form, to use 'json_object'")
    return faults


def _schema_faults(node: Any, where: str) -> list[str]:
    """Return where a schema breaks the strict dialect: every object closed, every property required."""
    if isinstance(node, list):
        return [
            fault for index, item in enumerate(node) for fault in _schema_faults(item, f"{where}[{index}]")
        ]
    if not isinstance(node, dict):
        return []
    faults = []
    if node.get("type") == "object":
        if node.get("additionalProperties") is not False:
            faults.append(f"{where}: 'additionalProperties' is required to be false")
        if list(node.get("properties", {})) != node.get("required"):
            faults.append(f"{where}: 'required' must include every key in properties")
    return faults + [fault for key, item in node.items() for fault in _schema_faults(item, f"{where}.{key}")]


def keywords(node: Any) -> set[str]:
    """Return all keys used in a schema."""
    if isinstance(node, list):
        return set().union(*map(keywords, node))
    if isinstance(node, dict):
        return set(node).union(*map(keywords, node.values()))
    return set()


def _mentions_json(request: ChatRequest) -> bool:
    return "json" in request.model_dump_json(include={"messages"}, exclude={"image_url"}).lower()


def prompt_name(text: str) -> str:
    """Return the name of the last of our prompts that begins in `text`; "" if there is none."""
    places = {name: text.rfind(line) for line, name in _first_lines().items() if line in text}
    return max(places, key=lambda name: places[name], default="")


@cache
def _first_lines() -> dict[str, str]:
    """Return the name of each prompt by its first line, of those that have a text and no slot in it."""
    ours = [path.name.removesuffix(".toml") for path in (files("gateway.llm") / "prompts").iterdir()]
    pipelines = [each for each in files("gateway.pipelines").iterdir() if (each / "prompts").is_dir()]
    ours += [
        f"{pipeline.name}/{path.name.removesuffix('.toml')}"
        for pipeline in pipelines
        for path in (pipeline / "prompts").iterdir()
        if path.name.endswith(".toml")
    ]
    lines: dict[str, str] = {}
    for name in ours:
        if not name.startswith(("__", "system", "question")):
            line = prompt_text(name).text.partition("\n")[0].partition("<<")[0]
            lines |= {line: short_name(name)} if line else {}
    return lines
