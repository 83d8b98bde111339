"""The demo's photographs: some to index, changed views of them to ask about, and examples to show.

They are files of the package scikit-image, which is not imported. Pages and questions: `samples/photographs`.
"""

import base64
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel

from deploy.settings import SAMPLE

_FOLDER = SAMPLE / "photographs"
PAGES = _FOLDER / "pages"
_INDEXED = {
    "Falcon 9 with DSCOVR": "rocket.jpg",
    "Hubble Extreme Deep Field": "hubble_deep_field.jpg",
    "Greek coins of Pompeii": "coins.png",
    "Chelsea the cat": "chelsea.png",
    "Espresso at Pikolo": "coffee.png",
}
"""Name of the thing and file of the package."""
_PRINT = "page.png"
_DRAWINGS = {"q0007": "In which year was this game published?"}
_MOST_EXAMPLES = 4
_MISSING = (
    "The demo's photographs are in the package scikit-image (14 MB). Install it:\n"
    "    {python} -m pip install --no-deps scikit-image==0.26.0\n"
)

Pixels = NDArray[Any]
"""[height, width, 3], uint8, in OpenCV's order of channels."""


@dataclass(frozen=True, slots=True)
class Question:
    """`accepted`: texts that a right answer contains; empty if the pages do not have the answer."""

    text: str
    accepted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    photo: Path
    questions: tuple[Question, ...]


def write_photographs(folder: Path) -> tuple[Path, tuple[Talk, ...]]:
    """Write the photographs; return the folder to index, and the conversations.

    A conversation's photograph has another angle, crop and brightness.
    """
    source = _source()
    indexed, views = folder / "indexed", folder / "asked"
    indexed.mkdir(parents=True, exist_ok=True)
    views.mkdir(parents=True, exist_ok=True)
    for name, file in _INDEXED.items():
        _write(indexed / f"{name}.jpg", _read(source / file))
    views_by_name = {
        "cat.jpg": _change_view(_read(source / "chelsea.png"), lean=0.06, light=0.85),
        "rocket.jpg": _change_view(_read(source / "rocket.jpg"), lean=0.06, light=1.25),
        "sky.jpg": _change_view(_read(source / "hubble_deep_field.jpg"), lean=-0.05, light=0.8),
        "coffee.jpg": _change_view(_read(source / "coffee.png"), lean=0.05, light=0.85),
        "page.jpg": cv2.resize(_read(source / _PRINT), None, fx=3, fy=3, interpolation=cv2.INTER_CUBIC),
    }
    for name, view in views_by_name.items():
        _write(views / name, view)
    talks = json.loads((_FOLDER / "questions.json").read_text("utf-8"))
    return indexed, tuple(
        Talk(
            views / talk["photo"],
            tuple(Question(turn["question"], tuple(turn["accepted"])) for turn in talk["turns"]),
        )
        for talk in talks
    )


class Example(BaseModel):
    """A question about a photo (JPEG, base64)."""

    question: str
    photo: str


def examples_of(sample: Path) -> list[Example]:
    """Return at most four examples: photographs where their package is installed, else drawn. Blocking."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = _photographs(Path(folder)) if sample == SAMPLE and are_installed() else _drawings(sample)
        return [
            Example(question=question, photo=base64.b64encode(photo.read_bytes()).decode())
            for photo, question in pairs
            if photo.is_file()
        ][:_MOST_EXAMPLES]


def _photographs(folder: Path) -> Iterator[tuple[Path, str]]:
    _, talks = write_photographs(folder)
    for talk in talks:
        yield talk.photo, talk.questions[0].text


def _drawings(sample: Path) -> Iterator[tuple[Path, str]]:
    for name, question in _DRAWINGS.items():
        yield sample / "photos" / f"{name}.jpg", question


def are_installed() -> bool:
    """Return whether the package that has the photographs is installed."""
    return find_spec("skimage") is not None


def _source() -> Path:
    """Return the folder of the package's pictures. Exits with instructions if it is not installed."""
    package = find_spec("skimage")
    if package is None or package.origin is None:
        sys.exit(_MISSING.format(python=sys.executable))
    return Path(package.origin).parent / "data"


def _change_view(photo: Pixels, lean: float, light: float) -> Pixels:
    """Return the photograph from another angle, cropped, with another brightness.

    `lean`: how far the upper corners move in, as a share of the width (below 0: the lower ones).
    """
    height, width = photo.shape[:2]
    upper, lower = (lean * width, 0.0) if lean > 0 else (0.0, -lean * width)
    corners = [[0, 0], [width, 0], [width, height], [0, height]]
    moved = [[upper, 0], [width - upper, 0.04 * height], [width - lower, height], [lower, 0.96 * height]]
    turn = cv2.getPerspectiveTransform(np.array(corners, np.float32), np.array(moved, np.float32))
    turned = cv2.warpPerspective(photo, turn, (width, height), borderMode=cv2.BORDER_REPLICATE)
    top, left = height // 12, width // 12
    return cv2.convertScaleAbs(turned[top : height - top, left : width - left], alpha=light)


def _read(file: Path) -> Pixels:
    with Image.open(file) as photo:  # OpenCV would warn about a colour profile
        return np.ascontiguousarray(np.asarray(photo.convert("RGB"))[:, :, ::-1])


def _write(file: Path, photo: Pixels) -> None:
    file.write_bytes(cv2.imencode(".jpg", photo, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes())
