"""What the scripted model says, cut into tokens as real ones are, and the ways in which a server fails."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from pydantic import BaseModel, JsonValue

_PIECE = re.compile(r" ?\w{1,4}|\s+|[^\w\s]{1,2}")
_STEADY = 0.9


@dataclass(frozen=True, slots=True)
class Spelled:
    """One token: its bytes, perhaps of half a character, its probability, and its rivals' by text."""

    data: bytes
    probability: float = _STEADY
    rivals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Says:
    """A reply. `hold`: nothing is sent until it is set; `hold_at`: held before this token instead of the
    first; `drop_after`: the connection closes after so many tokens; `refusal`: told in place of content.
    """

    tokens: tuple[Spelled, ...]
    finish_reason: str = "stop"
    hold: anyio.Event | None = None
    hold_at: int = 0
    drop_after: int | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """All tokens together."""
        return b"".join(token.data for token in self.tokens).decode()


@dataclass(frozen=True, slots=True)
class Fails:
    """An error. `in_stream`: it comes as an event after a 200, as vLLM tells what it finds late."""

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
    """The model writes `value`: a form as JSON, or any text.

    `probability` of every token; `probabilities`: of the tokens that spell a field; `alternatives`: a field
    spelled by one token, with the probability of each word that could stand there ({"answer": {"tea": 0.7,
    "coffee": 0.2}}); `rivals`: the same of a text's first token. `max_tokens`: cut off there, with the
    reason "length".
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


def fails(
    status: int,
    body: JsonValue = None,
    headers: Mapping[str, str] | None = None,
    *,
    in_stream: bool = False,
) -> Fails:
    """The server answers with an error; `body` None: in vLLM's shape, with nothing more to say."""
    said = vllm_error(status, "Something is wrong.") if body is None else body
    return Fails(status, said, headers or {}, in_stream)


def vllm_error(status: int, message: str, kind: str = "BadRequestError", param: str | None = None) -> Any:
    """vLLM's error body since 0.10; OpenAI's is the same with words for `code`."""
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def overloaded(retry_after: str | None = "2") -> Fails:
    """429, as TEI and proxies in front of vLLM send it."""
    body = vllm_error(429, "Too many requests. Please retry later.", "RateLimitError")
    return Fails(429, body, {"Retry-After": retry_after} if retry_after else {})


def unavailable(retry_after: str | None = None) -> Fails:
    """503, as vLLM sends it while it cannot take more."""
    body = vllm_error(503, "The server is currently overloaded.", "ServiceUnavailableError")
    return Fails(503, body, {"Retry-After": retry_after} if retry_after else {})


def context_too_long() -> Fails:
    """400 for a prompt beyond the context, in vLLM's words."""
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
    """JSON as a grammar without spare whitespace has it written."""
    fields = value.model_dump(mode="json") if isinstance(value, BaseModel) else dict(value)
    mark = "{"
    for name, inner in fields.items():
        text = json.dumps(inner, ensure_ascii=False)
        quote = '"' if isinstance(inner, str) else ""
        yield from _cut(f'{mark}"{name}": {quote}', probability)
        said = text[1:-1] if quote else text
        if name in whole:
            yield Spelled(said.encode(), whole[name].get(str(inner), of_field.get(name, 0.0)), whole[name])
        else:
            yield from _cut(said, of_field.get(name, probability))
        mark = f"{quote}, "
    yield from _cut(f"{mark.removesuffix(', ')}}}" if fields else "{}", probability)


def _text(value: str, probability: float, rivals: Mapping[str, float]) -> Iterator[Spelled]:
    for token in _cut(value, probability):
        yield Spelled(token.data, rivals[token.data.decode()], rivals) if rivals else token
        rivals = {}


def _cut(text: str, probability: float) -> Iterator[Spelled]:
    """Pieces of words, and characters of several bytes in two."""
    for piece in _PIECE.findall(text):
        data = piece.encode()
        if len(data) > len(piece):
            yield Spelled(data[:-1], probability)
            data = data[-1:]
        yield Spelled(data, probability)


def joined(tokens: Sequence[Spelled]) -> bytes:
    """Their bytes."""
    return b"".join(token.data for token in tokens)
