"""The request side of the chat API, strictly: what OpenAI's reference refuses is refused here."""

import base64
import binascii
import io
from typing import Annotated, Any, Literal

from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, ConfigDict, Field, field_validator

_LIMITS = {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern", "format"}
_DATA_URI = "data:image/jpeg;base64,"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TextPart(_Strict):
    """A text part."""

    type: Literal["text"]
    text: str


class ImageUrl(_Strict):
    """A photo inside its address; any other address would be fetched."""

    url: str

    @field_validator("url")
    @classmethod
    def _is_a_photo(cls, url: str) -> str:
        if not url.startswith(_DATA_URI):
            raise ValueError("images come as data URIs only")
        try:
            Image.open(io.BytesIO(decoded(url))).load()
        except (binascii.Error, UnidentifiedImageError, OSError) as error:
            raise ValueError("Failed to load image") from error
        return url


def decoded(url: str) -> bytes:
    """The bytes in a data URI."""
    return base64.b64decode(url.removeprefix(_DATA_URI), validate=True)


class ImagePart(_Strict):
    """An image part."""

    type: Literal["image_url"]
    image_url: ImageUrl


Part = Annotated[TextPart | ImagePart, Field(discriminator="type")]


class SystemMessage(_Strict):
    """The system's words."""

    role: Literal["system"]
    content: str


class UserMessage(_Strict):
    """The user's text, or parts of which one at least is a photo."""

    role: Literal["user"]
    content: Annotated[str, Field(min_length=1)] | Annotated[list[Part], Field(min_length=1)]

    @property
    def parts(self) -> list[Part]:
        """The same as parts."""
        if isinstance(self.content, str):
            return [TextPart(type="text", text=self.content)]
        return self.content


class AssistantMessage(_Strict):
    """An earlier reply."""

    role: Literal["assistant"]
    content: str


Message = Annotated[SystemMessage | UserMessage | AssistantMessage, Field(discriminator="role")]


class JsonSchema(_Strict):
    """`response_format.json_schema`."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool


class SchemaFormat(_Strict):
    """Structured output."""

    type: Literal["json_schema"]
    json_schema: JsonSchema


class ObjectFormat(_Strict):
    """Any JSON object."""

    type: Literal["json_object"]


class StreamOptions(_Strict):
    """Options of a stream."""

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


def faults(request: ChatRequest) -> list[str]:
    """Why the API would refuse a request whose fields are all right."""
    found = []
    if request.top_logprobs is not None and not request.logprobs:
        found.append("top_logprobs needs logprobs")
    if request.stream_options is not None and not request.stream:
        found.append("Stream options can only be defined when `stream=True`.")
    if isinstance(request.response_format, SchemaFormat) and request.response_format.json_schema.strict:
        found += _schema_faults(request.response_format.json_schema.schema_, "schema")
    if isinstance(request.response_format, SchemaFormat):
        limits = sorted(keywords(request.response_format.json_schema.schema_) & _LIMITS)
        found += [f"some grammars cut or refuse what a schema limits by {each}" for each in limits]
    if isinstance(request.response_format, ObjectFormat) and not _mentions_json(request):
        found.append("'messages' must contain the word 'json' in some form, to use 'json_object'")
    return found


def _schema_faults(node: Any, where: str) -> list[str]:
    """The strict dialect: every object closed, every property required."""
    if isinstance(node, list):
        return [
            fault for index, item in enumerate(node) for fault in _schema_faults(item, f"{where}[{index}]")
        ]
    if not isinstance(node, dict):
        return []
    found = []
    if node.get("type") == "object":
        if node.get("additionalProperties") is not False:
            found.append(f"{where}: 'additionalProperties' is required to be false")
        if list(node.get("properties", {})) != node.get("required"):
            found.append(f"{where}: 'required' must include every key in properties")
    return found + [fault for key, item in node.items() for fault in _schema_faults(item, f"{where}.{key}")]


def keywords(node: Any) -> set[str]:
    """All keys used in a schema."""
    if isinstance(node, list):
        return set().union(*map(keywords, node))
    if isinstance(node, dict):
        return set(node).union(*map(keywords, node.values()))
    return set()


def _mentions_json(request: ChatRequest) -> bool:
    return "json" in request.model_dump_json(include={"messages"}, exclude={"image_url"}).lower()
