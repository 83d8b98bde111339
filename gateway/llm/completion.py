"""Replies as callers get them: the parsed value, the raw text, and the probability of each token."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from gateway.llm.prompt import Value

Span = tuple[int, int]

_UNKNOWN = "\ufffd".encode()  # what several servers write for a token that is part of a character
_BEYOND_END = re.compile(rb"\s*(?:<[^<>\s]{1,32}>\s*)*")
"""What the last token may spell behind the text: servers trim white space and leave out end marks."""
_MAX_CHARACTER = 4  # bytes of UTF-8
_MAX_PATHS = 64
_UNSPELLED = 10  # cost of a token that the text does not show, such as an end-of-turn mark
_HOPELESS = 3 * _UNSPELLED  # so much dearer than the best is no way at all

_Path = tuple[int, int, "_Path | None"]
"""Cost so far, start of the last token, and how its predecessor got there."""


def align(text: bytes, tokens: Sequence[bytes]) -> list[Span] | None:
    """(start, end) in `text` of each token, or None if the tokens cannot have spelled it.

    Every token is taken byte for byte where that fits. One that the server could not decode stands for up to
    four bytes; one that the text does not show (a special token, the space before the first word) spells
    nothing. The first token may begin with white space that the text lacks; the last may end in white space
    or an end mark beyond the text. Among all ways to lay the tokens, the one with the fewest such exceptions
    wins. Time grows with the number of tokens.
    """
    paths: dict[int, _Path] = {0: (0, 0, None)}
    for token in tokens:
        ahead: dict[int, _Path] = {}
        for position, path in paths.items():
            for end, cost in _ends(text, position, token):
                reached = (path[0] + cost, position, path)
                if end not in ahead or reached[0] < ahead[end][0]:
                    ahead[end] = reached
        cheapest = sorted(ahead.items(), key=lambda item: item[1][0])[:_MAX_PATHS]
        paths = {position: path for position, path in cheapest if path[0] <= cheapest[0][1][0] + _HOPELESS}
    return _unwind(paths.get(len(text)), len(text))


def _ends(text: bytes, position: int, token: bytes) -> Iterator[tuple[int, int]]:
    """Return where the token may end, and the cost of that reading."""
    yield from _spelled_ends(text, position, token, 0)
    if position == 0 and token[:1].isspace():
        yield from _spelled_ends(text, 0, token.lstrip(), 1)
    if _UNKNOWN in token:
        yield from _undecoded_ends(text, position, token)
    if token:
        yield position, _UNSPELLED


def _spelled_ends(text: bytes, position: int, token: bytes, cost: int) -> Iterator[tuple[int, int]]:
    left = text[position : position + len(token)]
    if left == token:
        yield position + len(token), cost
    elif left and token.startswith(left) and _BEYOND_END.fullmatch(token, len(left)):  # the text ends here
        yield len(text), cost + 1


def _undecoded_ends(text: bytes, position: int, token: bytes) -> Iterator[tuple[int, int]]:
    before, _, after = token.partition(_UNKNOWN)
    if not text.startswith(before, position):
        return
    start = position + len(before)
    for length in range(_MAX_CHARACTER + 1):
        if after and _UNKNOWN in after:
            for end, cost in _undecoded_ends(text, start + length, after):
                yield end, cost + 1
        elif text.startswith(after, start + length) and start + length + len(after) <= len(text):
            yield start + length + len(after), 1


def _unwind(path: _Path | None, end: int) -> list[Span] | None:
    if path is None:
        return None
    spans: list[Span] = []
    while path is not None and path[2] is not None:
        _, start, before = path
        spans.append((start, end))
        end, path = start, before
    return spans[::-1]


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
class Completion(Generic[Value]):
    """One reply. `value`: of a reply of text, the text.

    `tokens`: None if the prompt did not ask for them or the server reports no log probabilities; `usage`
    likewise. `finish_reason`: "stop", "length", …, or "complete" when reading ended with the JSON object or
    the closing tag. `under_grammar`: the probabilities may be among the tokens that a grammar allowed, not
    among all. `spans`: for each top-level field (start, end) of its value in the text; `whole`: its own end
    is there.
    """

    value: Value
    text: str
    tokens: tuple[Token, ...] | None
    finish_reason: str
    usage: Usage | None = None
    under_grammar: bool = False
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    whole: bool = True

    @property
    def cut_off(self) -> bool:
        """Return whether it ended before the model was done."""
        return self.finish_reason in CUT_OFF

    def tokens_of(self, name: str) -> tuple[Token, ...] | None:
        """Return the tokens that spell the value of a top-level field, in order.

        A string counts without its quotes, unless it is empty; a token that spells a character of the value
        and something beside it counts. None without log probabilities, or when the field is not in the text.
        """
        span = self.spans.get(name)
        if self.tokens is None or span is None:
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
        """Return the probability of each token of `tokens_of`."""
        tokens = self.tokens_of(name)
        return None if tokens is None else tuple(token.probability for token in tokens)
