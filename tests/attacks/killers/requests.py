"""Requests that cost many times their size: bodies, a picture that takes minutes, work for one engine."""

import asyncio
import time

import httpx
from PIL import Image, ImageDraw, ImageFont

from tests.attacks.attack import Attack, Course
from tests.attacks.sending import request
from tests.unit.chassis.pictures import encoded
from tests.unit.chassis.scans import many_scans

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


async def _forty(course: Course) -> None:
    body = b'{"question":"what is this?","image":{"base64":"' + b"A" * (31 * 10**6) + b'"}}'
    await asyncio.gather(*(_send_json(course, body) for _ in range(40)))


def _scans(course: Course) -> bytes:
    photo = ("photo.jpg", many_scans(7_000, 7_048, 700), "image/jpeg")
    question = {"question": "what is this?", "deadline_ms": "1000"}
    return course.post("/answer", data=question, files={"image": photo})


async def _ask_well(course: Course) -> None:
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


_FLOOD_S = 25.0


def _dense_page() -> bytes:
    """Small print on all of a large page."""
    page = Image.new("RGB", (1_900, 1_900), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(13)
    for row in range(115):
        words = " ".join(f"{(row * 37 + place * 101) % 9973:04d} lorem" for place in range(30))
        pen.text((6, 4 + row * 16.4), words, fill="black", font=font)
    return encoded(page, "PNG")


def _small_print(word: str) -> bytes:
    picture = Image.new("RGB", (200, 60), "white")
    ImageDraw.Draw(picture).text((10, 20), word, fill="black")
    return encoded(picture, "PNG")


async def _dense(course: Course) -> None:
    question = {"question": "what does it say?", "deadline_ms": "3000"}
    page = ("page.png", _dense_page(), "image/png")
    for turn in range(3):
        await course.send(course.post("/answer", data=question, files={"image": page}))
        other = ("print.png", _small_print(f"open {turn}"), "image/png")
        began = time.monotonic()
        reply = await course.send(request("POST", "/v1/ocr", files={"image": other}), "ocr", 90)
        waited_s = time.monotonic() - began
        course.notes.append(f"then other print was read in {waited_s:.1f} s ({reply.status})")


async def _flood(course: Course) -> None:
    """Sixty callers of one tenant, each asking again as soon as it has a reply."""
    until = time.monotonic() + _FLOOD_S
    headers = {"Authorization": f"Bearer {course.target.planted.attacker.text}"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=80, limits=limits, headers=headers) as client:

        async def caller(place: int) -> None:
            turn = 0
            while time.monotonic() < until:
                turn += 1
                question = {"question": f"how high is tower {place}-{turn}?", "deadline_ms": 20_000}
                began = time.monotonic()
                try:
                    status = (
                        await client.post(f"{course.target.gateway_url}/answer", json=question)
                    ).status_code
                except httpx.HTTPError:
                    status = 0
                course.count(status, time.monotonic() - began)
                if status != 200:
                    await asyncio.sleep(0.2)

        await asyncio.gather(*(caller(place) for place in range(60)))


KILLERS = (
    Attack("scans", "2 JPEGs of 700 scans, 7000 x 7048, deadline 1 s", _ask_well),
    Attack("scans-left", "the same, and gone after a second", _left),
    Attack("chat", "chat, messages [1,1,1,…] of 30 MB", _chat),
    Attack("thresholds", "/answer, wrong thresholds of 30 MB", _thresholds),
    Attack("forty", "40 JSON bodies of 31 MB at once", _forty),
    Attack("dense-page", "a page of small print, asked three times at 3 s", _dense),
    Attack("flood", "60 callers of another tenant for 25 s", _flood),
)
