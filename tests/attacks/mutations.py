"""JSON that is not as asked for: other values, other shapes, other spellings of the same."""

import copy
import json
import random
from typing import Any

from tests.attacks.words import VALUES, damaged, text


def changed(draw: random.Random, body: Any) -> bytes:
    """`body` with values, members or bytes exchanged."""
    turn = draw.random()
    if turn < 0.55:
        made = copy.deepcopy(body)
        for _ in range(draw.choice((1, 1, 1, 2, 4))):
            made = _exchanged(draw, made)
        return dumped(made)
    if turn < 0.7:
        return damaged(draw, dumped(body))
    return odd(draw, body)


def dumped(value: object) -> bytes:
    """With lone surrogates, where it has them."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _exchanged(draw: random.Random, body: Any) -> Any:
    """With one value, somewhere in it, another."""
    places: list[tuple[Any, Any]] = []
    _collect(body, places)
    if not places or draw.random() < 0.05:
        return copy.deepcopy(draw.choice(VALUES))
    holder, key = draw.choice(places)
    how = draw.random()
    if how < 0.6:
        holder[key] = copy.deepcopy(draw.choice((draw.choice(VALUES), text(draw))))
    elif how < 0.75:
        del holder[key]
    elif isinstance(holder, dict):
        holder[text(draw)[:40]] = copy.deepcopy(draw.choice(VALUES))
    else:
        holder.extend(copy.deepcopy(holder) * draw.choice((1, 3)))
    return body


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        places.append((value, key))
        _collect(member, places)


def odd(draw: random.Random, body: Any) -> bytes:
    """Spellings of JSON that parsers disagree about, and shapes that cost them."""
    plain = dumped(body)
    depth, many = draw.choice((10, 200, 5_000, 100_000)), draw.choice((10, 1_000, 50_000))
    return draw.choice(
        (
            b"",
            b"null",
            b"\xef\xbb\xbf" + plain,
            plain.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass"),
            plain + b"{}",
            plain[:-1],
            plain[:-1] + b',"question":"again","messages":[]}',
            b"[" * depth + b"]" * depth,
            b'{"a":' * depth + b"1" + b"}" * depth,
            b"[" + b"{}," * many + b"{}]",
            b'{"question":[' + b"1," * many + b"1]}",
            b'{"messages":[' + b"[]," * many + b"[]]}",
            b"{" + b",".join(b'"k%d":1' % place for place in range(min(many, 5_000))) + b"}",
            b'{"deadline_ms":' + b"9" * draw.choice((20, 400, 5_000)) + b"}",
            b'{"deadline_ms":NaN,"question":Infinity}',
            b'{"question":"\\ud800\\u0000"}',
            b'{"question":"' + b"\\u0000" * 500 + b'"}',
            b"\xff\xfe\x00" + draw.randbytes(60),
            draw.randbytes(draw.choice((1, 60, 4_000))),
            b" " * many + plain,
            b'"' + b"a" * many,
        )
    )
