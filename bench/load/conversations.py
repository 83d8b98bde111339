"""Photos and users' questions about them: a folder's, the sample's, or signs."""

import io
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from bench.node.scene import QUESTIONS
from contracts.answer import Route
from deploy.settings import SAMPLE
from evaluation.data.opening import open_dataset

INDEX = "asked.jsonl"
SIZE = (1440, 1920)
"""Pixels of what a phone's app sends: upright, scaled down from its camera's twelve million."""
_QUALITY = 80
_TURNED, _ORIENTATION = 6, 0x0112
"""EXIF: the camera was held upright, the pixels lie on their side."""
_SIGNS = (
    ("Harbour Museum", "Open daily 10 to 17"),
    ("Platform 4", "Northern Line to Eastwick"),
    ("Bakery Lindholm", "Fresh rye bread 3.40"),
    ("Marten Street", "No parking on Thursdays"),
    ("City Library", "Founded 1887"),
    ("Gate B12", "Boarding closes at 18:35"),
)
_TURNS = ("what does the sign say?", "and what is written below it?", "what is this place called?")
_NOBODY_KNOWS = "what is the telephone number of whoever painted this?"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A photo and its questions in order. `mark`: words that no other photo shows."""

    photo: bytes
    turns: tuple[str, ...]
    impossible: bool = False
    mark: str = ""


def conversations(source: str) -> list[Conversation]:
    """Return those of `signs`, `sample`, `routes` (for a gateway on `bench.node`), or of a folder.

    A line of a folder's `asked.jsonl`: `{"photo": "a.jpg", "turns": ["what is this?", "who made it?"]}`, with
    `"impossible": true` if nobody can know, and with a `"mark"` if the photo bears one that is on no other.
    """
    sources = {"signs": signs, "sample": sample, "routes": routes}
    return list(sources[source]() if source in sources else _folder(Path(source)))


def _folder(folder: Path) -> Iterator[Conversation]:
    for line in (folder / INDEX).read_text("utf-8").splitlines():
        row = json.loads(line)
        photo = (folder / row.pop("photo")).read_bytes()
        yield Conversation(photo, tuple(row.pop("turns")), **row)


def signs() -> Iterator[Conversation]:
    """Return signs on a wall, which any deployment can answer questions about."""
    for place, lines in enumerate(_SIGNS):
        photo = _phone_photo(_sign(lines, place), place)
        yield Conversation(photo, _TURNS[: 1 + place % len(_TURNS)], mark=lines[0])
        yield Conversation(photo, (_NOBODY_KNOWS,), impossible=True, mark=lines[0])


def sample() -> Iterator[Conversation]:
    """Return the photos and questions of `samples`, and signs that are not in its index."""
    for place, each in enumerate(open_dataset(str(SAMPLE)).conversations):
        if each.photo is not None:
            with Image.open(each.photo) as picture:
                photo = _phone_photo(picture, place)
            impossible = not any(turn.answerable for turn in each.turns)
            yield Conversation(photo, tuple(turn.question for turn in each.turns), impossible)
    yield from (each for each in signs() if not each.impossible)


def routes() -> Iterator[Conversation]:
    """Return questions for a gateway in front of `bench.node`: half need a search, a fifth a check."""
    direct, verify, rag = (QUESTIONS[route] for route in (Route.DIRECT, Route.VERIFY, Route.RAG))
    talks = ((direct,), (rag,), (verify, rag), (rag, direct), (rag, verify), (direct, rag, rag))
    for place, (lines, turns) in enumerate(zip(_SIGNS, talks, strict=True)):
        yield Conversation(_phone_photo(_sign(lines, place), place), turns)


def _sign(lines: Sequence[str], seed: int) -> Image.Image:
    """Return a photo of a sign on a wall, with grain so that the JPEG is as large as a real photo's."""
    chance = np.random.default_rng(seed)
    width, height = SIZE
    coarse = chance.integers(90, 170, (height // 32, width // 32, 3), dtype=np.uint8)
    wall = Image.fromarray(coarse).resize(SIZE, Image.Resampling.BICUBIC)
    grain = chance.normal(0, 4, (height, width, 1))
    picture = Image.fromarray(np.clip(np.asarray(wall) + grain, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((140, 620, width - 140, 1220), fill=(245, 244, 238), outline=(30, 40, 60), width=14)
    for text, at_y, size in zip(lines, (790, 1040), (112, 72), strict=True):
        draw.text((width / 2, at_y), text, (20, 28, 48), ImageFont.load_default(size), anchor="mm")
    return picture


def _phone_photo(picture: Image.Image, place: int) -> bytes:
    """Return a JPEG of `SIZE`; every third lies on its side, with the orientation in its EXIF."""
    upright = ImageOps.pad(picture.convert("RGB"), SIZE, Image.Resampling.BICUBIC, color=(110, 110, 110))
    exif = Image.Exif()
    if place % 3 == 0:
        upright = upright.transpose(Image.Transpose.ROTATE_90)
        exif[_ORIENTATION] = _TURNED
    buffer = io.BytesIO()
    upright.save(buffer, "JPEG", quality=_QUALITY, exif=exif)
    return buffer.getvalue()


def another_shot(jpeg: bytes, chance: random.Random) -> bytes:
    """Return another photo of the same thing: other pixels, for the price of a copy.

    A few steps of the first quantisation table are changed by one, which scales the picture's fine detail by
    as little; no cache of photos that goes by content knows it.
    """
    table = jpeg.find(b"\xff\xdb")
    if table < 0 or jpeg[table + 4] >> 4:  # none, or one of 16-bit steps
        return jpeg
    first, changed = table + 5, bytearray(jpeg)
    for place in range(first + 3, first + 28):
        if changed[place] < 255:
            changed[place] += chance.random() < 0.3
    return bytes(changed)
