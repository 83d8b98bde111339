"""Flat things to look at: covers, labels, posters, paintings, signs. Every design is two seeds.

`layout` decides what a series shares (colours, typeface, ornament, author), `content` what is its own
(title, picture), so that siblings can be drawn on purpose.
"""

from dataclasses import dataclass
from enum import StrEnum

import cv2
import fonts.ttf
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from services.image_search.classical.features import RGB, Floats

Rng = np.random.Generator
Colour = tuple[int, int, int]

ONSETS = "b br c ch d dr f fl g gr h j k kl l m n p pr qu r s sh st t tr v w z"
VOWELS = "a e i o u ai ea ou y"
CODAS = "_ _ _ l m n r s t x nd rk st"
TYPEFACES = tuple(name for name, path in sorted(fonts.ttf.font_files.items()) if "Thin" not in name)


class Kind(StrEnum):
    """Families of designs; SIGN has letters on a plain ground only, PAINTING has no letters."""

    COVER = "cover"
    LABEL = "label"
    POSTER = "poster"
    PAINTING = "painting"
    SIGN = "sign"


ASPECTS = {Kind.COVER: 0.68, Kind.LABEL: 1.2, Kind.POSTER: 0.72, Kind.PAINTING: 1.3, Kind.SIGN: 1.6}


@dataclass(frozen=True, slots=True)
class Design:
    """`shuffled`: the same letters as the unshuffled design, in another order."""

    kind: Kind
    layout: int
    content: int
    shuffled: bool = False


def draw(design: Design, long_side: int = 640) -> RGB:
    """The design seen straight on, in even light."""
    shared = np.random.default_rng([design.layout, 1])
    own = np.random.default_rng([design.layout, design.content, 2])
    aspect = ASPECTS[design.kind] * shared.uniform(0.85, 1.15)
    width, height = (round(long_side * min(1, aspect)), round(long_side / max(1, aspect)))
    palette = [_colour(shared) for _ in range(5)]
    if design.kind is Kind.PAINTING:
        return _paint(own, width, height, 400)
    canvas = _ground(shared, width, height, palette, plain=design.kind is Kind.SIGN)
    if design.kind is not Kind.SIGN:
        _ornament(shared, canvas, palette)
        picture = shared if shared.random() < 0.4 else own
        _picture(picture, canvas, shared.uniform(0.35, 0.5))
    return _letter(design, shared, own, canvas, palette)


def word(rng: Rng) -> str:
    """An invented word of one to three syllables."""
    parts = [choices.split() for choices in (ONSETS, VOWELS, CODAS)]
    return (
        "".join(str(rng.choice(part)) for _ in range(rng.integers(1, 4)) for part in parts)
        .replace("_", "")
        .capitalize()
    )


def shuffle(rng: Rng, text: str) -> str:
    """The same letters in another order, words kept apart."""
    return " ".join("".join(rng.permutation(list(part))) for part in text.split(" "))


def noise(rng: Rng, width: int, height: int, cell: int) -> Floats:
    """Smooth random field in [0, 1] with blobs of about `cell` pixels."""
    grid = rng.random((max(2, height // cell + 2), max(2, width // cell + 2)), dtype=np.float32)
    return np.asarray(cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)


def _colour(rng: Rng) -> Colour:
    red, green, blue = (int(value) for value in rng.integers(20, 240, 3))
    return red, green, blue


def _ground(rng: Rng, width: int, height: int, palette: list[Colour], plain: bool) -> RGB:
    canvas: Floats = np.empty((height, width, 3), np.float32)
    canvas[:] = palette[0]
    if not plain:
        ramp = noise(rng, width, height, max(width, height) // 2)[..., None]
        canvas = canvas * (1 - ramp * 0.6) + np.array(palette[1], np.float32) * ramp * 0.6
    canvas += (noise(rng, width, height, 3)[..., None] - 0.5) * 8
    filled: RGB = np.clip(canvas, 0, 255).astype(np.uint8)
    return filled


def _ornament(rng: Rng, canvas: RGB, palette: list[Colour]) -> None:
    """A border or a band of repeated shapes, as a series has."""
    height, width = canvas.shape[:2]
    step = int(rng.integers(18, 48))
    shape = int(rng.integers(3, 7))
    turn = rng.uniform(0, np.pi)
    for position in range(step, max(width, height), step):
        for centre in ((position, step // 2 + 4), (position, height - step // 2 - 4)):
            _polygon(canvas, centre, step * 0.35, shape, turn, palette[2])
    if rng.random() < 0.5:
        cv2.rectangle(
            canvas, (step, step), (width - step, height - step), palette[3], int(rng.integers(2, 6))
        )


def _polygon(
    canvas: RGB, centre: tuple[int, int], radius: float, sides: int, turn: float, colour: Colour
) -> None:
    angles = turn + np.arange(sides) * 2 * np.pi / sides
    corners = np.c_[np.cos(angles), np.sin(angles)] * radius + centre
    cv2.fillPoly(canvas, [np.rint(corners).astype(np.int32)], colour, cv2.LINE_AA)


def _picture(rng: Rng, canvas: RGB, share: float) -> None:
    """An illustration pasted in the middle: strokes or figures."""
    height, width = canvas.shape[:2]
    tall, wide = int(height * share), int(width * rng.uniform(0.55, 0.85))
    top, left = int((height - tall) * rng.uniform(0.3, 0.7)), (width - wide) // 2
    if rng.random() < 0.5:
        canvas[top : top + tall, left : left + wide] = _paint(rng, wide, tall, 120)
        return
    for _ in range(int(rng.integers(12, 40))):
        centre = (int(rng.integers(left, left + wide)), int(rng.integers(top, top + tall)))
        radius, sides = rng.uniform(8, 60), int(rng.integers(3, 9))
        _polygon(canvas, centre, radius, sides, rng.uniform(0, np.pi), _colour(rng))


def _paint(rng: Rng, width: int, height: int, strokes: int) -> RGB:
    """Brush strokes over a soft ground: texture without letters."""
    canvas = np.empty((height, width, 3), np.float32)
    ground = [np.array(_colour(rng), np.float32) for _ in range(3)]
    field = noise(rng, width, height, max(16, height // 3))[..., None]
    canvas[:] = ground[0] * field + ground[1] * (1 - field)
    painted: RGB = np.clip(canvas, 0, 255).astype(np.uint8)
    flow = noise(rng, width, height, max(16, height // 2)) * 2 * np.pi
    tints = [_colour(rng) for _ in range(9)]
    for _ in range(strokes):
        x, y = int(rng.integers(width)), int(rng.integers(height))
        angle, length = flow[y, x] + rng.normal(0, 0.3), rng.uniform(8, 70)
        end = (int(x + np.cos(angle) * length), int(y + np.sin(angle) * length))
        cv2.line(painted, (x, y), end, tints[rng.integers(9)], int(rng.integers(1, 9)), cv2.LINE_AA)
    grain = (noise(rng, width, height, 2)[..., None] - 0.5) * 24
    grained: RGB = np.clip(painted + grain, 0, 255).astype(np.uint8)
    return grained


def _letter(design: Design, shared: Rng, own: Rng, canvas: RGB, palette: list[Colour]) -> RGB:
    """Title (own) at the top, author (shared) at the bottom; a sign gets four lines of its own."""
    height, width = canvas.shape[:2]
    typeface = str(shared.choice(TYPEFACES))
    ink: Colour = (250, 250, 245) if sum(palette[0]) < 380 else (15, 15, 20)
    page = Image.fromarray(canvas)
    brush = ImageDraw.Draw(page)
    lines = [f"{word(own)} {word(own)}" for _ in range(4 if design.kind is Kind.SIGN else 2)]
    if design.shuffled:
        lines = [shuffle(own, line) for line in lines]
    if design.kind is Kind.SIGN:
        places = [(0.1 + 0.22 * row, 0.16) for row in range(4)]
    else:
        places = [(0.06, 0.1), (0.17, 0.06), (0.88, 0.06)]
        lines.append(f"{word(shared)} {word(shared)}")
    for line, (top, tall) in zip(lines, places, strict=True):
        font = _fitted(typeface, line, width * 0.85, height * tall)
        brush.text((width * 0.08, height * top), line, fill=ink, font=font)
    lettered: RGB = np.asarray(page)
    return lettered


def _fitted(typeface: str, line: str, wide: float, tall: float) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(fonts.ttf.font_files[typeface], max(8, int(tall)))
    length = font.getlength(line)
    return font.font_variant(size=max(8, int(tall * min(1.0, wide / length))))
