"""Work that takes an engine, or the queue before it, from everybody else."""

import asyncio
import io
import time

import httpx
from PIL import Image, ImageDraw, ImageFont

from tests.attacks.attack import Attack, Course
from tests.attacks.sending import request

_FLOOD_S = 25.0


def _dense_page() -> bytes:
    """Small print on all of a large page."""
    page = Image.new("RGB", (1_900, 1_900), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(13)
    for row in range(115):
        words = " ".join(f"{(row * 37 + place * 101) % 9973:04d} lorem" for place in range(30))
        pen.text((6, 4 + row * 16.4), words, fill="black", font=font)
    buffer = io.BytesIO()
    page.save(buffer, "PNG")
    return buffer.getvalue()


def _small_print(word: str) -> bytes:
    picture = Image.new("RGB", (200, 60), "white")
    ImageDraw.Draw(picture).text((10, 20), word, fill="black")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


async def _dense(course: Course) -> None:
    asked = {"question": "what does it say?", "deadline_ms": "3000"}
    page = ("page.png", _dense_page(), "image/png")
    for turn in range(3):
        await course.send(course.post("/answer", data=asked, files={"image": page}))
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
                asked = {"question": f"how high is tower {place}-{turn}?", "deadline_ms": 20_000}
                began = time.monotonic()
                try:
                    status = (await client.post(f"{course.target.url}/answer", json=asked)).status_code
                except httpx.HTTPError:
                    status = 0
                course.count(status, time.monotonic() - began)
                if status != 200:
                    await asyncio.sleep(0.2)

        await asyncio.gather(*(caller(place) for place in range(60)))


KILLERS = (
    Attack("dense-page", "a page of small print, asked three times at 3 s", _dense),
    Attack("flood", "60 callers of another tenant for 25 s", _flood),
)
