"""The OpenAI chat API: the requests sent, the replies read, and the event stream between.

Fields that we use are read in every shape that servers send; others are ignored.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from contracts.answer import ModelCall, ModelMessage, ModelMessagePart
from gateway.llm.capabilities import Abilities, Thinking
from gateway.llm.lines import described_lines
from gateway.llm.prompt import ImagePart, Prompt, TextPart, TextPrompt
from gateway.llm.schema_forms import SchemaForm, json_schema_of

_MAX_STREAM_BYTES = 8 * 2**20  # 1,000 tokens with five alternatives each are about 700 kB
_MAX_LINE_BYTES = 2**20
_ROUNDING = 1e-3  # so far above 0 may the logarithm of a probability lie

Count = Annotated[int, Field(ge=0, le=2**31)]
Parts = tuple[TextPart | ImagePart, ...]


class BrokenStream(Exception):
    """The bytes are not what this API sends. The message says why, without any of them."""


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


def _none_if_unreadable(value: object, read: ValidatorFunctionWrapHandler) -> object:
    """What only measures a reply must not cost the reply: a measure that makes no sense is none."""
    try:
        return read(value)
    except ValidationError:
        return None


def _text_of_part(part: object) -> str:
    """The text of one part of a reply; thoughts and other parts have none."""
    if isinstance(part, dict):
        part = part.get("text") if part.get("type", "text") in ("text", "output_text") else None
    return part if isinstance(part, str) else ""


class AlternativeWire(_Read):
    """One entry of `top_logprobs`."""

    token: str
    logprob: Annotated[float, Field(le=_ROUNDING)]  # this also refuses NaN
    bytes: list[int] | None = None


class TokenWire(AlternativeWire):
    """One generated token."""

    top_logprobs: list[AlternativeWire] | None = None


class LogprobsWire(_Read):
    """`choices[0].logprobs`."""

    content: list[TokenWire] | None = None


class MessageWire(_Read):
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


class ChoiceWire(_Read):
    """One choice; we only ever ask for one."""

    delta: MessageWire | None = None
    message: MessageWire | None = None
    logprobs: LogprobsWire | None = None
    finish_reason: str | None = None

    _forgiving = field_validator("logprobs", mode="wrap")(_none_if_unreadable)


class PromptDetailsWire(_Read):
    """`usage.prompt_tokens_details`."""

    cached_tokens: Count | None = None


class UsageWire(_Read):
    """What the call cost."""

    prompt_tokens: Count
    completion_tokens: Count = 0
    prompt_tokens_details: PromptDetailsWire | None = None


class ChunkWire(_Read):
    """`chat.completion.chunk`, or a whole `chat.completion` from a server that does not stream."""

    choices: list[ChoiceWire] = []
    usage: UsageWire | None = None

    _forgiving = field_validator("usage", mode="wrap")(_none_if_unreadable)

    @field_validator("choices", mode="before")
    @classmethod
    def _without_null(cls, choices: Any) -> Any:
        if isinstance(choices, list):
            return [choice for choice in choices if choice is not None]
        return [] if choices is None else choices


class ErrorWire(_Read):
    """`error` of an error body; `code` is a number on vLLM and a word elsewhere."""

    message: str = ""
    type: str | None = None
    param: str | None = None
    code: int | str | None = None


class ModelMetaWire(_Read):
    """llama.cpp's facts about a model."""

    n_ctx: Count | None = None


class ServedModel(_Read):
    """One entry of `GET /v1/models`; its context in tokens stands in `max_model_len` (vLLM) or `meta`.

    `sees_photos` and `chats` are None if the server does not tell.
    """

    id: str
    max_model_len: Count | None = None
    meta: ModelMetaWire | None = None
    sees_photos: bool | None = None
    chats: bool | None = None

    _forgiving = field_validator("max_model_len", "meta", mode="wrap")(_none_if_unreadable)

    @property
    def context(self) -> int:
        """In tokens; 0 where the server does not tell it."""
        return self.max_model_len or (self.meta.n_ctx if self.meta else None) or 0

    def with_facts(self, facts: object) -> "ServedModel":
        """Return this entry completed by what a server's own format says of the model."""
        sees, chats = _sees_photos(facts), _chats(facts)
        told = {"sees_photos": sees, "chats": chats}
        return self.model_copy(
            update={name: said for name, said in told.items() if getattr(self, name) is None}
        )


def read_models(content: bytes) -> list[ServedModel]:
    """The models of `GET /v1/models`. Raises `ValueError` if it is not that."""
    body = json.loads(content)
    if not isinstance(body, dict) or not ("data" in body or "models" in body):
        raise ValueError("not a list of models")
    own = {
        name: facts
        for facts in body.get("models") or ()  # beside `data` in llama.cpp
        if isinstance(facts, dict)
        for name in (facts.get("model"), facts.get("name"))
    }
    listed = [(ServedModel.model_validate(entry), entry) for entry in body.get("data") or ()]
    return [model.with_facts({**own.get(model.id, {}), **entry}) for model, entry in listed]


def _sees_photos(facts: object) -> bool | None:
    """What a server says of photos: llama.cpp, OpenRouter, LM Studio, Ollama and Mistral, each in its way."""
    if not isinstance(facts, dict):
        return None
    nested = [facts.get(name) for name in ("architecture", "modalities", "capabilities")]
    for said in (facts, *(inner for inner in nested if isinstance(inner, dict))):
        if isinstance(kinds := said.get("input_modalities"), list):
            return "image" in kinds
        if isinstance(vision := said.get("vision"), bool):
            return vision
    if isinstance(able := facts.get("capabilities"), list) and able:
        return bool({"vision", "multimodal"} & set(map(str, able)))
    return {"vlm": True, "llm": False}.get(str(facts.get("type")))


def _chats(facts: object) -> bool | None:
    """Whether a server says that the model chats: one that only embeds or ranks does not."""
    if not isinstance(facts, dict):
        return None
    able = facts.get("capabilities")
    if isinstance(able, dict) and isinstance(chats := able.get("completion_chat"), bool):
        return chats
    if isinstance(able, list) and able:
        return not set(map(str, able)) <= {"embedding", "embeddings", "rerank"}
    return False if str(facts.get("type")).startswith(("embedding", "rerank")) else None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn and told: `top_logprobs` alternatives (0 to 20) for each."""

    seed: int = 0
    top_logprobs: int = 5


def request_body(
    prompt: Prompt[Any] | TextPrompt, model: str, abilities: Abilities, sampling: Sampling
) -> dict[str, JsonValue]:
    """The JSON of `POST /v1/chat/completions`, with what the server is believed to take."""
    body: dict[str, JsonValue] = {
        "model": model,
        "messages": _messages(prompt, abilities),
        "max_tokens": prompt.max_tokens + abilities.thinking_tokens,
        "temperature": prompt.temperature,
        "stream": True,
    }
    if abilities.thinking is Thinking.SWITCHED_OFF:
        body["chat_template_kwargs"] = {"enable_thinking": False}
    if abilities.seed:
        body["seed"] = sampling.seed if prompt.seed is None else prompt.seed
    if abilities.usage:
        body["stream_options"] = {"include_usage": True}
    if abilities.logprobs and (isinstance(prompt, Prompt) or prompt.measured):
        body["logprobs"] = True
        body["top_logprobs"] = sampling.top_logprobs
    if isinstance(prompt, Prompt) and abilities.form.has_grammar:
        body["response_format"] = _response_format(prompt)
    return body


def _response_format(prompt: Prompt[Any]) -> dict[str, JsonValue]:
    schema = json_schema_of(_class_of(prompt))
    is_strict = len(schema["required"]) == len(schema["properties"])  # OpenAI's strict dialect wants all
    named: dict[str, JsonValue] = {"name": prompt.name, "schema": schema, "strict": is_strict}
    return {"type": "json_schema", "json_schema": named}


def _messages(prompt: Prompt[Any] | TextPrompt, abilities: Abilities) -> list[JsonValue]:
    """A message without photos is one string: every chat template takes that, not every one takes parts."""
    return [{"role": role, "content": _content(parts)} for role, parts in _chat(prompt, abilities)]


def _content(parts: Parts) -> JsonValue:
    if any(isinstance(part, ImagePart) for part in parts):
        return [_part(part) for part in parts]
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _chat(prompt: Prompt[Any] | TextPrompt, abilities: Abilities) -> list[tuple[str, Parts]]:
    """The messages by role, without photos if the model does not see them."""
    chat: list[tuple[str, Parts]] = [("user", _user_parts(prompt, abilities.form))]
    if isinstance(prompt, TextPrompt) and prompt.earlier is not None:
        chat = [("user", prompt.earlier.user), ("assistant", (TextPart(prompt.earlier.reply),)), *chat]
    if not abilities.sees_photos:
        chat = [(role, tuple(part for part in parts if isinstance(part, TextPart))) for role, parts in chat]
    if abilities.system:
        return [("system", (TextPart(prompt.system),)), *chat]
    (role, parts), *others = chat  # the system text first, so that all prompts of a request still begin alike
    return [(role, (TextPart(prompt.system), *parts)), *others]


def kept_call(prompt: Prompt[Any] | TextPrompt, abilities: Abilities, reply: str) -> ModelCall:
    """A call in words, for those who asked to see it; the photo is told by its place."""
    return ModelCall(
        prompt=prompt.name,
        messages=[
            ModelMessage(role=role, content=_kept_parts(parts)) for role, parts in _chat(prompt, abilities)
        ],
        reply=_sendable(reply),
        form="text" if isinstance(prompt, TextPrompt) else abilities.form.value,
        temperature=prompt.temperature,
    )


def _kept_parts(parts: Parts) -> list[ModelMessagePart]:
    return [
        ModelMessagePart(type="image")
        if isinstance(part, ImagePart)
        else ModelMessagePart(type="text", text=_sendable(part.text))
        for part in parts
    ]


def _user_parts(prompt: Prompt[Any] | TextPrompt, form: SchemaForm) -> Parts:
    """The user's parts; for a server that holds no schema with the reply's form in words, always last."""
    if isinstance(prompt, TextPrompt) or form.has_grammar:
        return prompt.user
    if prompt.in_lines:
        return (*prompt.user[:-1], TextPart(prompt.in_lines))
    return (*prompt.user, TextPart(described_lines(prompt.name, _class_of(prompt))))


def _sendable(text: str) -> str:
    """Lone surrogates, which models may write, cannot be sent."""
    return text.encode(errors="replace").decode()


def _class_of(prompt: Prompt[Any]) -> type[BaseModel]:
    schema: type[BaseModel] = prompt.schema
    return schema


def _part(part: TextPart | ImagePart) -> dict[str, JsonValue]:
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": part.data_uri}}
    return {"type": "text", "text": part.text}


def read_error(content: bytes | str) -> ErrorWire:
    """The error in a body, in whichever of the known shapes; an unknown shape gives its text as message.

    OpenAI and current vLLM nest it in `error`; older vLLM sends it bare; FastAPI servers send `detail`.
    """
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return ErrorWire(message=text)
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict) and "message" in inner:
        try:
            return ErrorWire.model_validate(inner)
        except ValidationError:
            return ErrorWire(message=text)
    return ErrorWire(message=text)


async def events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """The `data` of each server-sent event (WHATWG HTML, 9.2.6), up to and without `[DONE]`.

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
    if (event := "\n".join(data).strip()) == "[DONE]":
        return
    if event:
        yield event
    raise BrokenStream("it ended before its end mark")


async def _lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    pending = b""
    seen = 0
    async for chunk in chunks:
        seen += len(chunk)
        *whole, pending = (pending + chunk).split(b"\n")
        if seen > _MAX_STREAM_BYTES or len(pending) > _MAX_LINE_BYTES:
            raise BrokenStream("it is longer than any reply")
        for line in whole:
            try:
                yield line.removesuffix(b"\r").decode()
            except UnicodeDecodeError:
                raise BrokenStream("it is not UTF-8") from None
    if pending:  # some servers send no line end after their last line
        yield pending.decode("utf-8", "replace").rstrip()


def read_chunk(event: str) -> ChunkWire | ErrorWire:
    """One event, or the whole body of a reply that was not streamed. Raises `BrokenStream`."""
    try:
        body = json.loads(event)
    except (ValueError, RecursionError):
        raise BrokenStream("an event is not JSON") from None
    if body is None:
        return ChunkWire()
    if isinstance(body, dict) and body.get("error") is not None:
        return read_error(event)
    try:
        return ChunkWire.model_validate(body)
    except ValidationError:
        raise BrokenStream("an event is not of the chat API") from None
