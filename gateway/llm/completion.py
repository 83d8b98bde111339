"""Replies as callers get them: the parsed value, the raw text, and the probability of each token."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic

from gateway.llm.prompt import Value
from gateway.llm.wire import Token, Usage

Span = tuple[int, int]

_UNDECODED = "\ufffd".encode()  # what several servers write for a token that is part of a character
_BEYOND_END = re.compile(rb"\s*(?:<[^<>\s]{1,32}>\s*)*")
"""What the last token may spell behind the text: servers trim white space and leave out end marks."""
_CHARACTER_BYTES = 4
_MOST_UNDECODED = 64  # bytes in a row


def align(text: bytes, tokens: Sequence[bytes]) -> list[Span] | None:
    """Return (start, end) in `text` of each token; None if the tokens cannot have spelled it.

    Each token is taken byte for byte. What a server could not decode stands for the bytes up to the next
    token. A token that the text does not show (a special one, white space that was trimmed) spells nothing.
    """
    starts: list[int] = []
    at, gap = 0, 0
    for whole in tokens:
        token, place = whole, _place(text, whole, at, gap)
        if place is None and at == 0:
            token = token.lstrip()
            place = _place(text, token, at, gap)
        if place is None and token.startswith(text[at:]) and _BEYOND_END.fullmatch(token, len(text) - at):
            place = (at, len(text), 0)
        if place is None and at + gap >= len(text):
            at, gap = len(text), 0
        start, at, gap = place or (at, at, gap)
        starts.append(start)
    return list(pairwise((*starts, len(text)))) if at <= len(text) <= at + gap else None


def _place(text: bytes, token: bytes, at: int, gap: int) -> tuple[int, int, int] | None:
    """Return where the token begins and ends, and how many bytes behind that it may spell as well.

    `gap`: the bytes from `at` on that tokens before it may have spelled.
    """
    first, *others = token.split(_UNDECODED)
    start = text.find(first, at, at + gap + len(first)) if first else at
    if start < 0:
        return None
    at, gap = start + len(first), 0 if first else gap
    for piece in others:
        gap = min(gap + _CHARACTER_BYTES, _MOST_UNDECODED)
        if piece:
            found = text.find(piece, at, at + gap + len(piece))
            if found < 0:
                return None
            at, gap = found + len(piece), 0
    return start, at, gap


CUT_OFF = frozenset({"length", "abort", "content_filter"})
"""The finish reasons of a reply that was not ended by the model."""


@dataclass(frozen=True, slots=True)
class Completion(Generic[Value]):
    """One reply. `value`: of a reply of text, the text.

    `tokens`: None if the prompt did not ask for them or the server reports no log probabilities; `usage`
    likewise. `finish_reason`: "stop", "length", …, or "complete" when reading ended with the JSON object or
    the closing tag. `spans`: for each top-level field (start, end) of its value in the text; `whole`: its own
    end is there.
    """

    value: Value
    text: str
    tokens: tuple[Token, ...] | None
    finish_reason: str
    usage: Usage | None = None
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    whole: bool = True

    @property
    def cut_off(self) -> bool:
        """Return whether it ended before the model was done."""
        return self.finish_reason in CUT_OFF

    def probabilities_of(self, name: str) -> tuple[float, ...] | None:
        """Return the probability of each token that spells the value of a top-level field, in order.

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
            token.probability
            for token, (start, end) in zip(self.tokens, places, strict=True)
            if start < last and (end > first or start == end == first or first < start == end)
        )
