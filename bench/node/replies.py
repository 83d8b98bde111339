"""Scripted replies of the model, cut into tokens, and the errors that servers send."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from pydantic import BaseModel, JsonValue

_PIECE = re.compile(r" ?\w{1,4}|\s+|[^\w\s]{1,2}")
_STEADY = 0.9


@dataclass(frozen=True, slots=True)
class Spelled:
    """One token: its bytes (perhaps half a character), its probability, and those of its alternatives."""

    data: bytes
    probability: float = _STEADY
    rivals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Says:
    """A reply. `hold`: wait for this event before token `hold_at`. `drop_after`: close the connection after
    so many tokens. `refusal`: sent in place of content.
    """

    tokens: tuple[Spelled, ...]
    finish_reason: str = "stop"
    hold: anyio.Event | None = None
    hold_at: int = 0
    drop_after: int | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        return b"".join(token.data for token in self.tokens).decode()


@dataclass(frozen=True, slots=True)
class Fails:
    """An error. `in_stream`: sent as an event after a 200, as vLLM does with what it finds late."""

    status: int
    body: JsonValue
    headers: Mapping[str, str] = field(default_factory=dict)
    in_stream: bool = False


Reply = Says | Fails


def says(
    value: BaseModel | Mapping[str, Any] | str,
    *,
    probability: float = _STEADY,
    probabilities: Mapping[str, float] | None = None,
    alternatives: Mapping[str, Mapping[str, float]] | None = None,
    rivals: Mapping[str, float] | None = None,
    max_tokens: int | None = None,
    finish_reason: str | None = None,
    hold: anyio.Event | None = None,
    hold_at: int = 0,
    drop_after: int | None = None,
    refusal: str | None = None,
) -> Says:
    """Return a reply that writes `value`: an object as JSON, or any text.

    `probability`: of every token. `probabilities`: of the tokens of a field. `alternatives`: a field written
    as one token, with the probability of each word that could stand there ({"answer": {"tea": 0.7,
    "coffee": 0.2}}). `rivals`: the same of a text's first token. `max_tokens`: cut the reply there, with
    finish reason "length".
    """
    if isinstance(value, str):
        tokens = tuple(_text(value, probability, rivals or {}))
    else:
        tokens = tuple(_form(value, probability, probabilities or {}, alternatives or {}))
    if max_tokens is not None:
        tokens = tokens[:max_tokens]
    return Says(
        tokens=tokens,
        finish_reason=finish_reason or ("stop" if max_tokens is None else "length"),
        hold=hold,
        hold_at=hold_at,
        drop_after=drop_after,
        refusal=refusal,
    )


def fails(status: int, body: JsonValue = None, *, in_stream: bool = False) -> Fails:
    """Return an error. `body` None: a general one in vLLM's shape."""
    content = vllm_error(status, "Something is wrong.") if body is None else body
    return Fails(status, content, in_stream=in_stream)


def vllm_error(status: int, message: str, kind: str = "BadRequestError", param: str | None = None) -> Any:
    """Return vLLM's error body since 0.10; OpenAI's is the same with a word for `code`."""
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def overloaded(retry_after: str | None = "2") -> Fails:
    """Return a 429 as TEI and proxies in front of vLLM send it."""
    body = vllm_error(429, "Too many requests. Please retry later.", "RateLimitError")
    return Fails(429, body, {"Retry-After": retry_after} if retry_after else {})


def context_too_long() -> Fails:
    """Return a 400 for a prompt beyond the context, in vLLM's words."""
    message = (
        "This model's maximum context length is 2048 tokens. However, you requested 128 output tokens and "
        "your prompt contains 2100 input tokens. Please reduce the length of the input prompt."
    )
    return Fails(400, vllm_error(400, message, param="input_tokens"))


def _form(
    value: BaseModel | Mapping[str, Any],
    probability: float,
    of_field: Mapping[str, float],
    whole: Mapping[str, Mapping[str, float]],
) -> Iterator[Spelled]:
    """Yield the tokens of an object in compact JSON."""
    fields = value.model_dump(mode="json") if isinstance(value, BaseModel) else dict(value)
    mark = "{"
    for name, inner in fields.items():
        text = json.dumps(inner, ensure_ascii=False)
        quote = '"' if isinstance(inner, str) else ""
        yield from _cut(f'{mark}"{name}": {quote}', probability)
        content = text[1:-1] if quote else text
        if name in whole:
            yield Spelled(content.encode(), whole[name].get(str(inner), of_field.get(name, 0.0)), whole[name])
        else:
            yield from _cut(content, of_field.get(name, probability))
        mark = f"{quote}, "
    yield from _cut(f"{mark.removesuffix(', ')}}}" if fields else "{}", probability)


def _text(value: str, probability: float, rivals: Mapping[str, float]) -> Iterator[Spelled]:
    for token in _cut(value, probability):
        yield Spelled(token.data, rivals[token.data.decode()], rivals) if rivals else token
        rivals = {}


def _cut(text: str, probability: float) -> Iterator[Spelled]:
    """Yield pieces of words; characters of several bytes are split in two."""
    for piece in _PIECE.findall(text):
        data = piece.encode()
        if len(data) > len(piece):
            yield Spelled(data[:-1], probability)
            data = data[-1:]
        yield Spelled(data, probability)
