"""A picture that takes minutes to decode."""

import asyncio

from tests.attacks.attack import Attack, Course
from tests.unit.chassis.scans import many_scans


def _scans(course: Course) -> bytes:
    photo = ("photo.jpg", many_scans(7_000, 7_048, 700), "image/jpeg")
    asked = {"question": "what is this?", "deadline_ms": "1000"}
    return course.post("/answer", data=asked, files={"image": photo})


async def _asked(course: Course) -> None:
    data = _scans(course)
    await asyncio.gather(course.send(data), course.send(data))


async def _left(course: Course) -> None:
    """The callers leave at once; what matters is the others, for half a minute."""
    data = _scans(course)
    for _ in range(2):
        _, writer = await asyncio.open_connection("127.0.0.1", course.target.ports["gateway"])
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(1)  # so that it is being decoded
        writer.close()
    await asyncio.sleep(30)


KILLERS = (
    Attack("scans", "2 JPEGs of 700 scans, 7000 x 7048, deadline 1 s", _asked),
    Attack("scans-left", "the same, and gone after a second", _left),
)
