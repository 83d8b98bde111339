"""Replies: assembled while they arrive, then parsed, with the probability of each token."""

import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar

import anyio
import structlog
from pydantic import BaseModel, ValidationError

from chassis.http.client import ExchangeError, Response
from gateway.llm.call import VlmCall
from gateway.llm.prompt import Value
from gateway.llm.reply_forms import ReplyFields, read_lines, read_object
from gateway.llm.server import VlmDeclined, VlmReplyUnusable, bounded, failure
from gateway.llm.wire import BrokenStream, ChunkWire, ErrorWire, Token, Usage, events, read_chunk

Span = tuple[int, int]

_UNDECODED = "\ufffd".encode()  # what several servers write for a token that is part of a character
_BEYOND_END = re.compile(rb"\s*(?:<[^<>\s]{1,32}>\s*)*")
"""Characters of the last token after the text: servers trim white space and leave out end marks."""
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
            place = text.find(piece, at, at + gap + len(piece))
            if place < 0:
                return None
            at, gap = place + len(piece), 0
    return start, at, gap


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
        return self.finish_reason in ("length", "abort", "content_filter")

    def probabilities_of(self, name: str) -> tuple[float, ...] | None:
        """Return the probability of each token that spells the value of a top-level field, in order.

        A string counts without its quotes, unless it is empty; a token that spells a character of the value
        and something beside it counts. None without log probabilities, or when the field is not in the text.
        """
        if name not in self.spans:
            return None
        first, last = (len(self.text[:offset].encode()) for offset in self.spans[name])
        return self._probabilities(lambda start, end: start < last and (end > first or first <= start == end))

    @property
    def probabilities(self) -> tuple[float, ...] | None:
        """Return that of each token that spells something: end-of-turn marks do not."""
        return self._probabilities(lambda start, end: end > start)

    def _probabilities(self, counts: Callable[[int, int], bool]) -> tuple[float, ...] | None:
        """Return those of the tokens whose bytes, from start to end, count; None if there are none."""
        tokens = self.tokens or ()
        places = align(self.text.encode(), [token.data for token in tokens]) or ()
        pairs = zip(tokens, places, strict=False)
        return tuple(token.probability for token, place in pairs if counts(*place)) or None


log = structlog.get_logger()

Object = TypeVar("Object", bound=BaseModel)

_MAX_CHARACTERS = 64 * 2**10  # the longest reply asked for is 512 tokens; one of white space may be 128 long
_MAX_ENDS = 64  # so many closing braces are tried as the object's end; then the stream ends the reply


@dataclass(slots=True)
class Assembly(Generic[Value]):
    """A reply in the making. `schema`, `ends_with`: see `Prompt`.

    `is_complete`: what was asked for is there, whatever the model adds.
    """

    schema: Any
    ends_with: str = ""
    is_complete: bool = False
    finish_reason: str | None = None
    usage: Usage | None = None
    _pieces: list[str] = field(default_factory=list)
    _tokens: list[Token] = field(default_factory=list)
    _length: int = 0
    _refusal: bool = False
    _thoughts: bool = False
    _ends_tried: int = 0

    @property
    def text(self) -> str:
        """All that the model wrote so far."""
        return "".join(self._pieces)

    @property
    def thinks(self) -> bool:
        """Return whether the model wrote thoughts, beside its reply or at its beginning."""
        return self._thoughts or self.text.lstrip().startswith("<think>")

    @property
    def ignores_schema(self) -> bool:
        """Return whether the model ended the reply itself, and it is not an object of the schema's fields."""
        reply = self.as_text()
        if reply.cut_off or not reply.text:
            return False
        fields = read_object(reply.text)
        if fields is None or not fields.complete:
            return True
        return not fields.value.keys() <= self.schema.model_fields.keys()

    def add(self, chunk: ChunkWire) -> None:
        """Take an event that comes before the reply is complete. Raises `BrokenStream` if it is too much."""
        self._add_end(chunk)
        for choice in chunk.choices[:1]:
            self._tokens += choice.tokens or ()
            if (message := choice.delta or choice.message) is not None:
                self._refusal = self._refusal or bool(message.refusal)
                self._thoughts = self._thoughts or message.thinks
                self._add_text(message.content or "")

    def add_after(self, chunk: ChunkWire) -> bool:
        """Take an event that comes after the reply: why it ended, what it cost.

        False when the model is writing on, which nobody needs to wait for.
        """
        if any(choice.delta is not None and choice.delta.content for choice in chunk.choices):
            return False
        self._add_end(chunk)
        return True

    def _add_end(self, chunk: ChunkWire) -> None:
        self.usage = chunk.usage or self.usage
        for choice in chunk.choices[:1]:
            self.finish_reason = choice.finish_reason or self.finish_reason

    def _add_text(self, text: str) -> None:
        """Add a piece of the reply, and set `is_complete` if it ends what was asked for."""
        if not text:
            return
        self._length += len(text)
        if self._length > _MAX_CHARACTERS:
            raise BrokenStream("it is longer than any reply")
        self._pieces.append(text)
        if self.schema is str:
            if self.ends_with:  # the end mark may come in as many pieces as it has characters
                self.is_complete = self.ends_with in "".join(self._pieces[-len(self.ends_with) :])
        elif "}" in text and self._ends_tried < _MAX_ENDS:
            self._ends_tried += 1
            fields = read_object(self.text)
            self.is_complete = fields is not None and fields.complete

    def completion(self) -> Completion[Value]:
        """Return the parsed reply. Raises `VlmReplyUnusable`, `VlmDeclined` if safeguards replied instead."""
        if self._refusal:
            raise VlmDeclined("The vision-language model declined to answer.")
        reply: Completion[Any] = self.as_text()
        if self.schema is str:
            if not reply.text.strip():
                raise VlmReplyUnusable("The vision-language model wrote nothing.")
            return reply
        read = read_reply(reply.text, self.schema, ended=not reply.cut_off)
        if read is None:
            raise VlmReplyUnusable("The vision-language model's reply could not be read.")
        value, fields = read
        return replace(reply, value=value, spans=fields.spans, whole=fields.complete)

    def as_text(self) -> Completion[str]:
        """Return the model's words as they are, perhaps none."""
        text = self.text
        return Completion(
            text, text, tuple(self._tokens) or None, self.finish_reason or "complete", self.usage
        )


def read_reply(text: str, schema: type[Object], *, ended: bool = True) -> tuple[Object, ReplyFields] | None:
    """Return what a model wrote as JSON or as labelled lines: its value and its fields' places.

    None if it cannot be read. `ended`: the model stopped by itself.
    """
    for fields in (read_object(text), read_lines(text, schema, ended=ended)):
        if fields is not None:
            with suppress(ValidationError):
                return schema.model_validate(fields.value), fields
    return None


_EPILOGUE_S = 0.25  # a server that enforces the schema ends within one token; others may ramble on
_DEFAULT_ERROR_STATUS = 500


async def receive(response: Response, assembly: Assembly[Any], call: VlmCall, model: str) -> None:
    """Add the reply to `assembly`. Raises `BrokenStream`, `ExchangeError` or the error in the reply."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        _add(assembly, (await bounded(response)).decode("utf-8", "replace"), model)
        if assembly.finish_reason is None and not assembly.text:
            raise BrokenStream("a reply has no choices")
        return
    async with aclosing(events(response.pieces())) as stream:
        try:
            async for event in stream:
                _add(assembly, event, model)
                if call.first_token_s is None and (assembly.text or assembly.thinks):
                    call.first_token_s = time.monotonic() - call.started
                if assembly.is_complete:
                    await _receive_epilogue(stream, assembly)
                    break
        except BrokenStream:
            if assembly.finish_reason is None:
                raise


def _add(assembly: Assembly[Any], event: str, model: str) -> None:
    chunk = read_chunk(event)
    if isinstance(chunk, ErrorWire):  # vLLM finds some faults only after its 200
        status = chunk.code if isinstance(chunk.code, int) else _DEFAULT_ERROR_STATUS
        raise failure(status, chunk, None, model)
    assembly.add(chunk)


async def _receive_epilogue(stream: AsyncIterator[str], assembly: Assembly[Any]) -> None:
    """Wait briefly for the finish reason and the usage, which may follow the reply."""
    with anyio.move_on_after(_EPILOGUE_S):
        try:
            async for event in stream:
                chunk = read_chunk(event)
                if isinstance(chunk, ErrorWire) or not assembly.add_after(chunk):
                    return
        except (BrokenStream, ExchangeError) as error:
            log.info("vlm.ended_early", reason=type(error).__name__)
