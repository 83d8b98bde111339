"""Finds which bytes of a text each token spells; servers tell parts of characters in their own ways."""

import re
from collections.abc import Iterator, Sequence

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
    """Where the token may end, and the cost of that reading."""
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
