"""Bodies that cost many times their size."""

import asyncio

from tests.attacks.attack import Attack, Course

_MIB = 2**20
_JSON = {"Content-Type": "application/json"}


async def _send_json(course: Course, body: bytes, path: str = "/answer") -> None:
    await course.send(course.post(path, content=body, headers=_JSON))


async def _chat(course: Course, size: int) -> None:
    body = b'{"model":"loreglass","messages":[' + b"1," * (size // 2) + b"1]}"
    await _send_json(course, body, "/v1/chat/completions")


async def _chat_8(course: Course) -> None:
    await _chat(course, 8 * 10**6)


async def _chat_30(course: Course) -> None:
    await _chat(course, 30 * 10**6)


async def _members(course: Course, size: int, before: bytes, after: bytes, value: bytes) -> None:
    """An object whose every member is wrong: an error for each of them."""
    members = b",".join(b'"%07d":%b' % (place, value) for place in range(size // (11 + len(value))))
    await _send_json(course, before + members + after)


async def _members_8(course: Course) -> None:
    await _members(course, 8 * 10**6, b"{", b"}", b"1")


async def _members_30(course: Course) -> None:
    await _members(course, 30 * 10**6, b"{", b"}", b"1")


async def _thresholds(course: Course) -> None:
    await _members(course, 30 * 10**6, b'{"question":"x","experiment":{"thresholds":{', b"}}}", b'"x"')


async def _many(course: Course, piece: bytes) -> None:
    count = (32 * _MIB - 2 - len(piece)) // len(piece)
    await _send_json(course, b"[" + piece * count + piece[:2] + b"]")


async def _objects(course: Course) -> None:
    await _many(course, b"{},")


async def _lists(course: Course) -> None:
    await _many(course, b"[],")


async def _forty(course: Course) -> None:
    body = b'{"question":"what is this?","image":{"base64":"' + b"A" * (31 * 10**6) + b'"}}'
    await asyncio.gather(*(_send_json(course, body) for _ in range(40)))


KILLERS = (
    Attack("chat-8", "chat, messages [1,1,1,…] of 8 MB", _chat_8),
    Attack("chat-30", "the same of 30 MB", _chat_30),
    Attack("members-8", "/answer, unknown members of 8 MB", _members_8),
    Attack("members-30", "the same of 30 MB", _members_30),
    Attack("thresholds", "/answer, wrong thresholds of 30 MB", _thresholds),
    Attack("objects", "/answer, 32 MiB of {},", _objects),
    Attack("lists", "/answer, 32 MiB of [],", _lists),
    Attack("forty", "40 JSON bodies of 31 MB at once", _forty),
)
