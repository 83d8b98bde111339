"""What came back: the parsed value, the raw text, and how sure the model was of each token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from gateway.llm.alignment import align
from gateway.llm.prompt import Schema

CUT_OFF = frozenset({"length", "abort", "content_filter"})
"""The finish reasons of a reply that was not ended by the model."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that could have stood there. `probability` in 0..1."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token. `data`: its bytes as the server tells them; a token may be part of a character.

    `probability` in 0..1. Among what depends on the server: vLLM from 0.11 on tells it among the tokens that
    a schema's grammar allows there, so 1.0 where it allows one; Mllama on vLLM 0.10.2, which holds no
    schema, and llama.cpp tell it among the whole vocabulary, as every server does for replies of text.
    `alternatives`: the most probable tokens at this place, this one usually among them.
    """

    text: str
    probability: float
    data: bytes = b""
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written. `cached_tokens` of the prompt came from the server's prefix cache."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """One reply of text. `tokens` is None unless the prompt asked for them and the server told them.

    `finish_reason`: "stop", "length", …, or "complete" when reading ended with what closes the reply.
    """

    text: str
    tokens: tuple[Token, ...] | None
    finish_reason: str
    usage: Usage | None = None

    @property
    def cut_off(self) -> bool:
        """Whether it ended before the model was done."""
        return self.finish_reason in CUT_OFF


@dataclass(frozen=True, slots=True)
class Completion(Generic[Schema]):
    """One reply. `tokens` is None when the server tells no log probabilities, `usage` when it tells none.

    `finish_reason`: "stop", "length", …, or "complete" when reading ended with the JSON object;
    `under_grammar`: the probabilities may be among the tokens that a grammar allowed, not among all.
    `spans`: for each top-level field (start, end) of its value in the text; `whole`: its own end is there.
    """

    value: Schema
    text: str
    tokens: tuple[Token, ...] | None
    finish_reason: str
    usage: Usage | None = None
    under_grammar: bool = False
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    whole: bool = True

    def tokens_of(self, name: str) -> tuple[Token, ...] | None:
        """The tokens that spell the value of a top-level field, in order.

        A string counts without its quotes, unless it is empty; a token that spells a character of the value
        and something beside it counts. None without log probabilities, or when the field is not in the text.
        """
        if self.tokens is None:
            return None
        span = self.spans.get(name)
        if span is None:
            return None
        first, last = (len(self.text[:offset].encode()) for offset in span)
        places = align(self.text.encode(), [token.data for token in self.tokens])
        if places is None:
            return None
        return tuple(
            token
            for token, (start, end) in zip(self.tokens, places, strict=True)
            if start < last and (end > first or start == end == first or first < start == end)
        )

    def probabilities_of(self, name: str) -> tuple[float, ...] | None:
        """The probability of each token of `tokens_of`."""
        tokens = self.tokens_of(name)
        return None if tokens is None else probabilities(tokens)


def probabilities(tokens: Sequence[Token]) -> tuple[float, ...]:
    """The probability of each token."""
    return tuple(token.probability for token in tokens)
