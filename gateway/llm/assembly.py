"""Puts a reply together from its events, and sees when there is nothing left to wait for."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import ValidationError

from gateway.llm.completion import CUT_OFF, Alternative, Completion, Token, Usage, Written
from gateway.llm.failures import VlmDeclined, VlmReplyUnusable
from gateway.llm.lines import read_lines
from gateway.llm.prompt import Schema
from gateway.llm.repair import MAX_OBJECTS, FoundObject, objects, read_object
from gateway.llm.schema_forms import fitted, read_as, spans_by_name
from gateway.llm.wire import AlternativeWire, BrokenStream, ChoiceWire, ChunkWire, TokenWire, UsageWire

Result = TypeVar("Result")

_MAX_CHARACTERS = 64 * 2**10  # the longest reply asked for is 512 tokens; one of white space may be 128 long


@dataclass(slots=True)
class _ObjectWatch:
    """Follows braces and strings of a text that grows; `closed` counts outermost objects that ended.

    `field_end`: where the last field of an outermost object ended that another follows; 0: none has.
    """

    depth: int = 0
    length: int = 0
    field_end: int = 0
    in_list: bool = False
    in_string: bool = False
    escaped: bool = False
    closed: int = 0

    def read(self, text: str) -> None:
        for place, character in enumerate(text, self.length):
            if self.escaped:
                self.escaped = False
            elif self.in_string:
                self.escaped = character == "\\"
                self.in_string = character != '"'
            elif character == '"':
                self.in_string = self.depth > 0
            elif character == "{":
                self.depth += 1
            elif character == "}" and self.depth > 0:
                self.depth -= 1
                self.closed += self.depth == 0
            elif character in "[]":
                self.in_list = character == "["
            elif character == "," and self.depth == 1 and not self.in_list:
                self.field_end = place
        self.length += len(text)


@dataclass(slots=True, kw_only=True)
class Assembling(ABC, Generic[Result]):
    """A reply in the making. `is_complete`: what was asked for is there, whatever the model adds."""

    is_complete: bool = False
    finish_reason: str | None = None
    usage: Usage | None = None
    _pieces: list[str] = field(default_factory=list)
    _tokens: list[Token] = field(default_factory=list)
    _length: int = 0
    _refusal: bool = False
    _thoughts: bool = False

    @property
    def text(self) -> str:
        """All that the model wrote so far."""
        return "".join(self._pieces)

    @property
    def thinks(self) -> bool:
        """Whether the model wrote thoughts, beside its reply or at its beginning."""
        return self._thoughts or self.text.lstrip().startswith("<think>")

    def add(self, chunk: ChunkWire) -> None:
        """Take an event that comes before the reply is complete. Raises `BrokenStream` if it is too much."""
        self._add_end(chunk)
        for choice in chunk.choices[:1]:
            said = choice.delta or choice.message
            if choice.logprobs is not None:
                self._tokens += [_token(token) for token in choice.logprobs.content or ()]
            if said is not None and said.refusal:
                self._refusal = True
            self._thoughts = self._thoughts or (said is not None and said.thinks)
            if said is not None and said.content:
                self._add_text(said.content)

    def add_after(self, chunk: ChunkWire) -> bool:
        """Take an event that comes after the reply: why it ended, what it cost.

        False when the model is writing on, which nobody needs to wait for.
        """
        if any(choice.delta is not None and choice.delta.content for choice in chunk.choices):
            return False
        self._add_end(chunk)
        return True

    def _add_end(self, chunk: ChunkWire) -> None:
        if chunk.usage is not None:
            self.usage = _usage(chunk.usage)
        self.finish_reason = next(map(_finish_reason, chunk.choices[:1]), None) or self.finish_reason

    def _add_text(self, text: str) -> None:
        self._length += len(text)
        if self._length > _MAX_CHARACTERS:
            raise BrokenStream("it is longer than any reply")
        self._pieces.append(text)
        self._watch_for_end(text)

    @abstractmethod
    def _watch_for_end(self, added: str) -> None:
        """Set `is_complete` if the reply is."""

    @abstractmethod
    def completion(self) -> Result:
        """The reply as it was asked for. Raises `VlmReplyUnusable`."""

    def written(self) -> Written:
        """What was written, perhaps nothing."""
        return Written(self.text, self._measured, self._ended_by, self.usage)

    def _undeclined(self) -> None:
        """Raises `VlmDeclined` if the server's safeguards spoke instead of the model."""
        if self._refusal:
            raise VlmDeclined("The vision-language model declined to answer.")

    @property
    def _ended_by(self) -> str:
        return self.finish_reason or "complete"

    @property
    def _measured(self) -> tuple[Token, ...] | None:
        return tuple(self._tokens) or None


@dataclass(slots=True)
class Assembly(Assembling[Completion[Schema]], Generic[Schema]):
    """A reply of one object. `hear`: see `Prompt`."""

    schema: type[Schema]
    under_grammar: bool = False
    hear: Callable[[Schema], None] | None = None
    _watch: _ObjectWatch = field(default_factory=_ObjectWatch)

    def _watch_for_end(self, added: str) -> None:
        closed, field_end = self._watch.closed, self._watch.field_end
        self._watch.read(added)
        if self.hear is not None and (field_end < self._watch.field_end or "\n" in added):
            self._tell(self.hear)
        if closed < self._watch.closed and closed < MAX_OBJECTS:
            self.is_complete = any(
                found.complete and read_as(found, self.schema) is not None for found in objects(self.text)
            )

    def _tell(self, hear: Callable[[Schema], None]) -> None:
        """The fields so far, spelled as JSON or as whole lines."""
        text, ended = self.text, self._watch.field_end
        if ended:
            with suppress(ValidationError):
                hear(self.schema.model_validate_json(text[:ended] + "}"))
            return
        lines = read_lines(text[: text.rfind("\n") + 1], self.schema, ended=False)
        so_far = fitted(lines.value, self.schema) if lines else None
        if so_far is not None:
            hear(so_far)

    def completion(self) -> Completion[Schema]:
        """The parsed reply. Raises `VlmReplyUnusable`."""
        self._undeclined()
        read = read_reply(self.text, self.schema, ended=self._ended_by not in CUT_OFF)
        if read is None:
            raise VlmReplyUnusable("The vision-language model's reply could not be read.")
        value, found, repaired = read
        return Completion(
            value=value,
            text=self.text,
            tokens=self._measured,
            finish_reason=self._ended_by,
            usage=self.usage,
            repaired=repaired,
            under_grammar=self.under_grammar,
            spans={} if found is None else spans_by_name(found, self.schema),
            whole=found is None or found.complete,
        )


def read_reply(
    text: str, schema: type[Schema], *, ended: bool = True
) -> tuple[Schema, FoundObject | None, bool] | None:
    """What a model wrote as JSON or as labelled lines: its value, its fields' places, and if it was repaired.

    None if it cannot be read. `ended`: the model stopped by itself.
    """
    try:
        return schema.model_validate_json(text), read_object(text), False
    except ValidationError:
        pass  # not the JSON that was asked for; perhaps it can be read all the same
    for found in objects(text):
        value = read_as(found, schema)
        if value is not None:
            return value, found, True
    lines = read_lines(text, schema, ended=ended)
    value = fitted(lines.value, schema) if lines else None
    return None if value is None else (value, lines, False)


@dataclass(slots=True)
class TextAssembly(Assembling[Written]):
    """A reply of text. `ends_with`: what closes it, if anything does."""

    ends_with: str = ""
    _tail: str = ""

    def _watch_for_end(self, added: str) -> None:
        if not self.ends_with:
            return
        seen = self._tail + added
        self.is_complete = self.ends_with in seen
        self._tail = seen[-len(self.ends_with) :]

    def completion(self) -> Written:
        """What was written. Raises `VlmReplyUnusable` if that is nothing."""
        self._undeclined()
        if not self.text.strip():
            raise VlmReplyUnusable("The vision-language model wrote nothing.")
        return self.written()


def _finish_reason(choice: ChoiceWire) -> str | None:
    return choice.finish_reason


def _token(wire: TokenWire) -> Token:
    return Token(
        text=wire.token,
        probability=_probability(wire.logprob),
        data=_bytes(wire),
        alternatives=tuple(
            Alternative(other.token, _probability(other.logprob)) for other in wire.top_logprobs or ()
        ),
    )


def _bytes(wire: AlternativeWire) -> bytes:
    """The token's own bytes where the server tells them: the text of part of a character is no character."""
    if wire.bytes is None or any(not 0 <= byte <= 255 for byte in wire.bytes):
        return wire.token.encode("utf-8", "replace")
    return bytes(wire.bytes)


def _probability(logprob: float) -> float:
    return min(1.0, math.exp(min(0.0, logprob)))


def _usage(wire: UsageWire) -> Usage:
    details = wire.prompt_tokens_details
    return Usage(wire.prompt_tokens, wire.completion_tokens, details.cached_tokens if details else None)
