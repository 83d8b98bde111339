"""What wearers look at and ask: a folder with photos and `asked.jsonl`.

Each line is a conversation: `{"photo": "a.jpg", "turns": ["what is this?", "who made it?"]}`, with
`"impossible": true` if nobody can know, and with a `"mark"` if the photo bears one that is on no other.

    python -m bench.wearers.material --plain FOLDER          # signs, for any deployment
    python -m bench.wearers.material --world samples FOLDER  # the sample's photos and questions
    python -m bench.wearers.material --routes FOLDER         # questions for a gateway on `bench.node`
"""

import argparse
import io
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

INDEX = "asked.jsonl"
PHONE = (1440, 1920)
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
    ("Orchard Hall", "Concert at 20:00"),
    ("Ferry Pier", "Every 25 minutes"),
)
_PLAIN_TURNS = ("what does the sign say?", "and what is written below it?", "what is this place called?")
_NOBODY_KNOWS = "what is the telephone number of whoever painted this?"


class MaterialError(Exception):
    """The folder does not hold what it should; the message says what."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A photo, and what is asked about it, one after the other. `mark`: words that no other photo bears."""

    photo: bytes
    turns: tuple[str, ...]
    impossible: bool = False
    mark: str = ""


def load(folder: Path) -> list[Conversation]:
    """All of a folder's. Raises `MaterialError`."""
    try:
        lines = (folder / INDEX).read_text("utf-8").splitlines()
        found = [_conversation(folder, json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MaterialError(f"{folder.name}: {error}") from error
    if not any(not each.impossible for each in found):
        raise MaterialError(f"{folder.name}: {INDEX} holds no conversation.")
    return found


def _conversation(folder: Path, row: dict[str, object]) -> Conversation:
    turns = row["turns"]
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) for turn in turns):
        raise ValueError("turns must be questions")
    photo = (folder / str(row["photo"])).read_bytes()
    return Conversation(photo, tuple(turns), bool(row.get("impossible", False)), str(row.get("mark", "")))


def plain() -> list[Conversation]:
    """Signs on a wall: something to ask any deployment about."""
    made = []
    for place, lines in enumerate(_SIGNS):
        photo = as_phone_photo(_sign(lines, place), turned=place % 3 == 0)
        turns = _PLAIN_TURNS[: 1 + place % len(_PLAIN_TURNS)]
        made.append(Conversation(photo, turns, mark=lines[0]))
        made.append(Conversation(photo, (_NOBODY_KNOWS,), impossible=True, mark=lines[0]))
    return made


def _sign(lines: Sequence[str], seed: int) -> Image.Image:
    """A wall with grain, so that the JPEG is as large as a photo's, and a sign on it."""
    chance = np.random.default_rng(seed)
    width, height = PHONE
    coarse = chance.integers(90, 170, (height // 32, width // 32, 3), dtype=np.uint8)
    wall = Image.fromarray(coarse).resize(PHONE, Image.Resampling.BICUBIC)
    grain = chance.normal(0, 4, (height, width, 1))
    picture = Image.fromarray(np.clip(np.asarray(wall) + grain, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((140, 620, width - 140, 1220), fill=(245, 244, 238), outline=(30, 40, 60), width=14)
    for text, at_y, size in zip(lines, (790, 1040), (112, 72), strict=True):
        draw.text((width / 2, at_y), text, (20, 28, 48), ImageFont.load_default(size), anchor="mm")
    return picture


def as_phone_photo(picture: Image.Image, turned: bool) -> bytes:
    """A JPEG of `PHONE` pixels; `turned`: lying on its side, with the orientation in its EXIF."""
    upright = ImageOps.pad(picture.convert("RGB"), PHONE, Image.Resampling.BICUBIC, color=(110, 110, 110))
    exif = Image.Exif()
    if turned:
        upright = upright.transpose(Image.Transpose.ROTATE_90)
        exif[_ORIENTATION] = _TURNED
    buffer = io.BytesIO()
    upright.save(buffer, "JPEG", quality=_QUALITY, exif=exif)
    return buffer.getvalue()


def another_shot(jpeg: bytes, chance: random.Random) -> bytes:
    """The same thing photographed again: other pixels, for the price of a copy.

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


def of_world(world: Path) -> Iterator[Conversation]:
    """The photos and questions of a folder like `samples`, and signs that it does not know."""
    from evaluation.data.world import load_world

    loaded = load_world(world)
    for place, each in enumerate((*loaded.single, *loaded.multi)):
        if each.photo is None:
            continue
        with Image.open(each.photo) as picture:
            photo = as_phone_photo(picture, turned=place % 3 == 0)
        impossible = not any(turn.answerable for turn in each.turns)
        yield Conversation(photo, tuple(turn.question for turn in each.turns), impossible)
    yield from (each for each in plain() if not each.impossible)


def of_routes() -> Iterator[Conversation]:
    """Questions for a gateway in front of `bench.node`: half of them looked up, a fifth checked."""
    from bench.node.scene import QUESTIONS
    from contracts.answer import Route

    direct, verify, rag = (QUESTIONS[route] for route in (Route.DIRECT, Route.VERIFY, Route.RAG))
    talks = ((direct,), (rag,), (verify, rag), (rag, direct), (rag, verify), (direct, rag, rag))
    for place, turns in enumerate(talks):
        yield Conversation(as_phone_photo(_sign(_SIGNS[place], place), turned=place % 3 == 0), turns)


def write(conversations: Iterable[Conversation], folder: Path) -> int:
    """As `load` reads them; how many."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for place, each in enumerate(conversations):
        name = f"{place:04}.jpg"
        (folder / name).write_bytes(each.photo)
        rows.append(
            {"photo": name, "turns": list(each.turns), "impossible": each.impossible, "mark": each.mark}
        )
    (folder / INDEX).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return len(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser("python -m bench.wearers.material", description=__doc__)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--plain", action="store_true", help="signs")
    kind.add_argument("--world", type=Path, help="a folder like samples/")
    kind.add_argument("--routes", action="store_true", help="for a gateway in front of bench.node")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    if given.world:
        write(of_world(given.world), given.folder)
    else:
        write(of_routes() if given.routes else plain(), given.folder)


if __name__ == "__main__":
    main()
