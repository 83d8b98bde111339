"""A picture that takes minutes to decode."""

import asyncio

from tests.attacks.inputs import Input, photo_part, text_parts
from tests.attacks.killers.attack import Course, Killer
from tests.attacks.killers.senders import attacker
from tests.attacks.pictures import scans


def _given(course: Course) -> Input:
    parts = [
        *text_parts({"question": "what is this?", "deadline_ms": "1000"}),
        photo_part(scans(700, 7_000, 7_048)),
    ]
    return Input("700 scans", attacker(course.target).post_form("/answer", parts))


async def _asked(course: Course) -> None:
    given = _given(course)
    await asyncio.gather(course.send(given), course.send(given))


async def _left(course: Course) -> None:
    """The callers leave at once; what matters is the others, for half a minute."""
    given = _given(course)
    for _ in range(2):
        _, writer = await asyncio.open_connection("127.0.0.1", course.target.ports["gateway"])
        writer.write(given.data)
        await writer.drain()
        await asyncio.sleep(1)  # so that it is being decoded
        writer.close()
    await asyncio.sleep(30)


KILLERS = (
    Killer("scans", "2 JPEGs of 700 scans, 7000 x 7048, deadline 1 s", _asked),
    Killer("scans-left", "the same, and gone after a second", _left),
)
