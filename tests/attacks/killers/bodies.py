"""Bodies that cost many times their size."""

import asyncio

from tests.attacks.inputs import Input
from tests.attacks.killers.attack import Course, Killer
from tests.attacks.killers.senders import attacker

_MIB = 2**20


async def _chat(course: Course, size: int) -> None:
    body = b'{"model":"loreglass","messages":[' + b"1," * (size // 2) + b"1]}"
    await course.send(Input("ones", attacker(course.target).post_json("/v1/chat/completions", body)))


async def _chat_8(course: Course) -> None:
    await _chat(course, 8 * 10**6)


async def _chat_30(course: Course) -> None:
    await _chat(course, 30 * 10**6)


async def _members(course: Course, size: int, before: bytes, after: bytes, value: bytes) -> None:
    """An object whose every member is wrong: an error for each of them."""
    members = b",".join(b'"%07d":%b' % (place, value) for place in range(size // (11 + len(value))))
    body = before + members + after
    await course.send(Input("members", attacker(course.target).post_json("/answer", body)))


async def _members_8(course: Course) -> None:
    await _members(course, 8 * 10**6, b"{", b"}", b"1")


async def _members_30(course: Course) -> None:
    await _members(course, 30 * 10**6, b"{", b"}", b"1")


async def _thresholds(course: Course) -> None:
    await _members(course, 30 * 10**6, b'{"question":"x","experiment":{"thresholds":{', b"}}}", b'"x"')


async def _many(course: Course, piece: bytes) -> None:
    count = (32 * _MIB - 2 - len(piece)) // len(piece)
    body = b"[" + piece * count + piece[:2] + b"]"
    await course.send(Input("many", attacker(course.target).post_json("/answer", body)))


async def _objects(course: Course) -> None:
    await _many(course, b"{},")


async def _lists(course: Course) -> None:
    await _many(course, b"[],")


async def _forty(course: Course) -> None:
    body = b'{"question":"what is this?","image":{"base64":"' + b"A" * (31 * 10**6) + b'"}}'
    given = Input("31 MB", attacker(course.target).post_json("/answer", body))
    await asyncio.gather(*(course.send(given) for _ in range(40)))


KILLERS = (
    Killer("chat-8", "chat, messages [1,1,1,…] of 8 MB", _chat_8),
    Killer("chat-30", "the same of 30 MB", _chat_30),
    Killer("members-8", "/answer, unknown members of 8 MB", _members_8),
    Killer("members-30", "the same of 30 MB", _members_30),
    Killer("thresholds", "/answer, wrong thresholds of 30 MB", _thresholds),
    Killer("objects", "/answer, 32 MiB of {},", _objects),
    Killer("lists", "/answer, 32 MiB of [],", _lists),
    Killer("forty", "40 JSON bodies of 31 MB at once", _forty),
)
