"""Reads the JSON object in a model's reply, also where a model without a grammar spelled it loosely.

Forgiven: prose and code fences around it, a trailing comma, a comma that is missing at the end of a line,
single or curly quotes, quotes inside a string, raw line breaks in strings, Python's True, False and None,
unquoted keys, and a reply cut off at its token limit (what is complete is kept, a string that was begun is
closed). Nothing is guessed beyond that, and nothing is executed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_MAX_DEPTH = 16
MAX_OBJECTS = 12
"""Braces tried as the object's first; prose may hold some of its own."""
_SPACE = re.compile(r"[\s\ufeff]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BEGUN_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d*)?)?")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_NOT_SPELLING = re.compile(r"[\W_]+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_THOUGHT_END = "</think>"
_CLOSING = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’"}
_AFTER_VALUE = frozenset(",}]")
_BESIDE_JSON_S = frozenset(",:[]{}\"'“”")


def squeezed(name: str) -> str:
    """A name by its letters and digits alone: `objectLabel`, "Object label" and `object_label` are one."""
    return _NOT_SPELLING.sub("", name.casefold())


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object in a text. `spans`: for each field, (start, end) of its value in characters of the text,
    a string's without its quotes unless it is empty. `complete`: its closing brace was there.
    """

    value: dict[str, Any]
    spans: Mapping[str, tuple[int, int]]
    end: int
    complete: bool


def read_object(text: str) -> FoundObject | None:
    """The first object in `text` that has fields, or None."""
    return next(objects(text), None)


def objects(text: str) -> Iterator[FoundObject]:
    """Every outermost object with at least one field, in order, at most a dozen."""
    thinks_first = not text.lstrip().startswith("{")
    at = text.find("{", max(0, text.find(_THOUGHT_END)) if thinks_first else 0)
    for _ in range(MAX_OBJECTS):
        if at < 0:
            return
        reader = _Reader(text, at)
        found = reader.top()
        if found is not None:
            yield found
        at = text.find("{", found.end if found else at + 1)


class _Unreadable(Exception):
    """Not an object after all."""


class _CutOff(Exception):
    """The text ended inside a value; `kept` is what is worth keeping of it."""

    def __init__(self, kept: Any = None, *, worth_keeping: bool = False) -> None:
        super().__init__()
        self.kept = kept
        self.worth_keeping = worth_keeping


@dataclass(slots=True)
class _Reader:
    """A recursive reader with one character of lookahead; depth is bounded, time is linear."""

    text: str
    at: int
    depth: int = 0
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    def top(self) -> FoundObject | None:
        try:
            value = self._object()
        except _Unreadable:
            return None
        except _CutOff as cut:
            return self._found(cut.kept, complete=False)
        return self._found(value, complete=True)

    def _found(self, value: Any, *, complete: bool) -> FoundObject | None:
        return FoundObject(value, self.spans, self.at, complete) if value else None

    def _value(self) -> Any:
        character = self._peek()
        if character == "{":
            return self._object()
        if character == "[":
            return self._array()
        if character in _CLOSING:
            return self._string()
        return self._scalar()

    def _object(self) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        self._enter()
        try:
            while self._peek() != "}":
                key = self._key()
                if self._peek() != ":":
                    raise _Unreadable
                self.at += 1
                self._field(entries, key)
                self._separator("}")
        except _CutOff:
            raise _CutOff(entries, worth_keeping=True) from None
        self._leave()
        return entries

    def _field(self, entries: dict[str, Any], key: str) -> None:
        self._peek()
        start, depth = self.at, self.depth
        try:
            entries[key] = self._value()
        except _CutOff as cut:
            self.depth = depth  # where the value was cut, inside a list or object, is of no matter
            if cut.worth_keeping:
                entries[key] = cut.kept
                self._mark(key, start)
            raise
        self._mark(key, start)

    def _mark(self, key: str, start: int) -> None:
        if self.depth != 1:
            return
        end = self.at
        if self.text[start] in _CLOSING:
            closed = end - start > 1 and self.text[end - 1] == _CLOSING[self.text[start]]
            inner = (start + 1, end - 1 if closed else end)
            self.spans[key] = inner if inner[0] < inner[1] else (start, end)
        else:
            self.spans[key] = (start, end)

    def _array(self) -> list[Any]:
        items: list[Any] = []
        self._enter()
        try:
            while self._peek() != "]":
                items.append(self._value())
                self._separator("]")
        except _CutOff as cut:
            if cut.worth_keeping:
                items.append(cut.kept)
            raise _CutOff(items, worth_keeping=True) from None
        self._leave()
        return items

    def _separator(self, closing: str) -> None:
        before = self.at
        character = self._peek()
        if character == ",":
            self.at += 1
        elif character != closing and not (character in _CLOSING and "\n" in self.text[before : self.at]):
            raise _Unreadable

    def _key(self) -> str:
        if self._peek() in _CLOSING:
            return self._string(is_key=True)
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise _Unreadable
        self.at = word.end()
        return word.group()

    def _string(self, *, is_key: bool = False) -> str:
        closing = _CLOSING[self.text[self.at]]
        self.at += 1
        pieces: list[str] = []
        inner = 0
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == closing and self._ends_string(is_key=is_key):
                self.at += 1
                if inner % 2:
                    raise _Unreadable
                return _whole("".join(pieces))
            if character == "\\":
                pieces.append(self._escape())
                continue
            if character == closing:
                inner += self._counts_inside()
            elif inner and character == "\n":
                raise _Unreadable  # its own closing quote may be the one that is missing
            pieces.append(character)
            self.at += 1
        if inner:
            raise _Unreadable
        raise _CutOff(_whole("".join(pieces)), worth_keeping=bool(pieces) and not is_key)

    def _counts_inside(self) -> int:
        """1 for a quote inside a string, 0 for an apostrophe. Raises `_Unreadable` for one of JSON's own."""
        before, after = self.text[self.at - 1], self.text[self.at + 1 : self.at + 2]
        if before.isalnum() and after.isalnum():
            return 0
        space = _SPACE.match(self.text, self.at + 1)
        follows = self.text[space.end() : space.end() + 1] if space else ""
        if self._last_before(self.at) in _BESIDE_JSON_S or follows in _BESIDE_JSON_S:
            raise _Unreadable
        return 1

    def _last_before(self, at: int) -> str:
        while at > 0 and self.text[at - 1].isspace():
            at -= 1
        return self.text[at - 1 : at]

    def _ends_string(self, *, is_key: bool) -> bool:
        """Whether the quote here closes: what JSON has behind a string comes next, or the line ends."""
        space = _SPACE.match(self.text, self.at + 1)
        after = space.end() if space else self.at + 1
        if after >= len(self.text) or self.text[after] == (":" if is_key else ","):
            return True
        return not is_key and (self.text[after] in _AFTER_VALUE or "\n" in self.text[self.at + 1 : after])

    def _escape(self) -> str:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter != "u":
            self.at = min(self.at + 2, len(self.text))
            return _ESCAPES.get(letter, letter)
        digits = self.text[self.at + 2 : self.at + 6]
        self.at = min(self.at + 6, len(self.text))
        if len(digits) < 4:  # the text ends here
            return ""
        try:
            return chr(int(digits, 16))
        except ValueError:
            raise _Unreadable from None

    def _scalar(self) -> Any:
        number = _NUMBER.match(self.text, self.at)
        found = number or _WORD.match(self.text, self.at)
        if _BEGUN_NUMBER.fullmatch(self.text, self.at) or (found and found.end() == len(self.text)):
            self.at = len(self.text)
            raise _CutOff  # there may have been more of it
        if found is None:
            raise _Unreadable
        self.at = found.end()
        if number:
            return _number(number.group())
        if found.group() not in _WORDS:
            raise _Unreadable
        return _WORDS[found.group()]

    def _enter(self) -> None:
        self.at += 1
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _Unreadable

    def _leave(self) -> None:
        self.at += 1
        self.depth -= 1

    def _peek(self) -> str:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        if self.at >= len(self.text):
            raise _CutOff
        return self.text[self.at]


def _number(digits: str) -> int | float:
    try:
        value: int | float = json.loads(digits)
    except ValueError:  # more digits than Python converts
        raise _Unreadable from None
    return value


def _whole(text: str) -> str:
    """Surrogate pairs of \\u escapes joined; halves replaced, since they cannot be sent on."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
