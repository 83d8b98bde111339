"""Bodies that cost many times their size."""

import asyncio

from tests.attacks.attack import Attack, Course

_MIB = 2**20
_JSON = {"Content-Type": "application/json"}


async def _send_json(course: Course, body: bytes, path: str = "/answer") -> None:
    await course.send(course.post(path, content=body, headers=_JSON))


async def _chat(course: Course) -> None:
    body = b'{"model":"loreglass","messages":[' + b"1," * (15 * 10**6) + b"1]}"
    await _send_json(course, body, "/v1/chat/completions")


async def _thresholds(course: Course) -> None:
    """An object whose every member is wrong: an error for each of them."""
    members = b",".join(b'"%07d":"x"' % place for place in range(30 * 10**6 // 14))
    await _send_json(course, b'{"question":"x","experiment":{"thresholds":{' + members + b"}}}")


async def _objects(course: Course) -> None:
    await _send_json(course, b"[" + b"{}," * (32 * _MIB // 3 - 2) + b"{}]")


async def _forty(course: Course) -> None:
    body = b'{"question":"what is this?","image":{"base64":"' + b"A" * (31 * 10**6) + b'"}}'
    await asyncio.gather(*(_send_json(course, body) for _ in range(40)))


KILLERS = (
    Attack("chat", "chat, messages [1,1,1,…] of 30 MB", _chat),
    Attack("thresholds", "/answer, wrong thresholds of 30 MB", _thresholds),
    Attack("objects", "/answer, 32 MiB of {},", _objects),
    Attack("forty", "40 JSON bodies of 31 MB at once", _forty),
)
