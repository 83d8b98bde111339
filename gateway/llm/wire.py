"""Replies of the OpenAI chat API and their event stream; requests are in `call`.

Fields that we use are read in every shape that servers send; others are ignored.
"""

import json
import math
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import suppress
from typing import Annotated, Any

from pydantic import (
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

_MAX_STREAM_BYTES = 8 * 2**20  # 1,000 tokens with five alternatives each are about 700 kB
_MAX_LINE_BYTES = 2**20
_ROUNDING = 1e-3  # so far above 0 may the logarithm of a probability lie

Count = Annotated[int, Field(ge=0, le=2**31)]
Bytes = bytes  # the name of a field below


class BrokenStream(Exception):
    """The bytes are not what this API sends. The message says why, without any of them."""


class Wire(BaseModel):
    """An object of which some fields are read."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def none_if_unreadable(value: object, read: ValidatorFunctionWrapHandler) -> object:
    """Read a value that only measures a reply, or None: a bad measure must not cost the reply."""
    try:
        return read(value)
    except ValidationError:
        return None


def _text_of_part(part: object) -> str:
    """Return the text of one part of a reply; thoughts and other parts have none."""
    if isinstance(part, dict):
        part = part.get("text") if part.get("type", "text") in ("text", "output_text") else None
    return part if isinstance(part, str) else ""


class Alternative(Wire):
    """A token that could have stood there: one entry of `top_logprobs`."""

    token: str
    logprob: Annotated[float, Field(le=_ROUNDING)]  # this also refuses NaN

    @property
    def probability(self) -> float:
        """In 0..1."""
        return min(1.0, math.exp(min(0.0, self.logprob)))


class Token(Alternative):
    """One generated token; it may be part of a character.

    vLLM from 0.11 on tells its probability among the tokens that a schema's grammar allows there, all servers
    in replies of text among the whole vocabulary.
    """

    bytes: list[int] | None = None
    top_logprobs: list[Alternative] | None = None

    @property
    def data(self) -> Bytes:
        """Its own bytes, if the server tells them: the text of part of a character is no character."""
        if self.bytes is None or any(not 0 <= byte <= 255 for byte in self.bytes):
            return self.token.encode("utf-8", "replace")
        return Bytes(self.bytes)


class MessageWire(Wire):
    """`delta` of a stream, `message` of a whole reply. `thinks`: it holds thoughts, which are no answer."""

    content: str | None = None
    refusal: str | None = None
    thinks: bool = False

    @model_validator(mode="before")
    @classmethod
    def _of_parts(cls, message: Any) -> Any:
        """Content may be a list of parts; thoughts come as parts or in fields of their own."""
        if not isinstance(message, dict):
            return message
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        thinks = any(message.get(name) for name in ("reasoning_content", "reasoning", "thinking"))
        thinks = thinks or any(isinstance(part, dict) and "think" in str(part.get("type")) for part in parts)
        text = "".join(map(_text_of_part, parts)) if isinstance(content, list) else content
        return {**message, "content": text, "thinks": thinks}


class ChoiceWire(Wire):
    """One choice; we only ever ask for one."""

    delta: MessageWire | None = None
    message: MessageWire | None = None
    tokens: list[Token] | None = Field(None, validation_alias=AliasPath("logprobs", "content"))
    finish_reason: str | None = None

    _forgiving = field_validator("tokens", mode="wrap")(none_if_unreadable)


class Usage(Wire):
    """Tokens read and written. `cached_tokens`: of the prompt, from the server's prefix cache."""

    prompt_tokens: Count
    completion_tokens: Count = 0
    cached_tokens: Count | None = Field(
        None, validation_alias=AliasPath("prompt_tokens_details", "cached_tokens")
    )


class ChunkWire(Wire):
    """`chat.completion.chunk`, or a whole `chat.completion` from a server that does not stream."""

    choices: list[ChoiceWire] = []
    usage: Usage | None = None

    _forgiving = field_validator("usage", mode="wrap")(none_if_unreadable)

    @field_validator("choices", mode="before")
    @classmethod
    def _without_null(cls, choices: Any) -> Any:
        if isinstance(choices, list):
            return [choice for choice in choices if choice is not None]
        return [] if choices is None else choices


class ErrorWire(Wire):
    """`error` of an error body; `code` is a number on vLLM and a word elsewhere."""

    message: str = ""
    type: str | None = None
    param: str | None = None
    code: int | str | None = None


def read_error(content: bytes | str) -> ErrorWire:
    """The error in a body, in whichever of the known shapes; an unknown shape gives its text as message.

    OpenAI and current vLLM nest it in `error`; older vLLM sends it bare; FastAPI servers send `detail`.
    """
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    with suppress(ValueError, RecursionError):  # a `ValidationError` is one of values
        body = json.loads(text)
        inner = body.get("error", body) if isinstance(body, dict) else body
        if isinstance(inner, dict) and "message" in inner:
            return ErrorWire.model_validate(inner)
    return ErrorWire(message=text)


async def events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """Return the `data` of each server-sent event (WHATWG HTML, 9.2.6), up to and without `[DONE]`.

    Lines are split on bytes: U+2028 and its kin may stand inside JSON. Raises `BrokenStream` for a line
    that is no field, a size without bound, or an end without `[DONE]`.
    """
    data: list[str] = []
    async for line in _lines(chunks):
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                data.append(value.removeprefix(" "))
            elif name not in ("", "event", "id", "retry"):
                raise BrokenStream("a line is no field of an event stream")
            continue
        event = "\n".join(data).strip()
        data.clear()
        if event == "[DONE]":
            return
        if event:
            yield event
    raise BrokenStream("it ended before its end mark")


async def _lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    pending = b""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        *whole, pending = (pending + chunk).split(b"\n")
        if size > _MAX_STREAM_BYTES or len(pending) > _MAX_LINE_BYTES:
            raise BrokenStream("it is longer than any reply")
        for line in whole:
            try:
                yield line.removesuffix(b"\r").decode()
            except UnicodeDecodeError:
                raise BrokenStream("it is not UTF-8") from None
    if pending:  # some servers send no line end after their last line
        yield pending.decode("utf-8", "replace").rstrip()
    yield ""  # ends the last event


def read_chunk(event: str) -> ChunkWire | ErrorWire:
    """One event, or the whole body of a reply that was not streamed. Raises `BrokenStream`."""
    try:
        body = json.loads(event)
        if isinstance(body, dict) and body.get("error") is not None:
            return read_error(event)
        return ChunkWire() if body is None else ChunkWire.model_validate(body)
    except (ValueError, RecursionError):  # a `ValidationError` is one of values
        raise BrokenStream("an event is not JSON of the chat API") from None
