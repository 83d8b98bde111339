"""Photos of the sample with a question each, for the page to offer."""

import base64
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from deploy.photographs import are_installed, write_photographs
from deploy.sample import SAMPLE

_DRAWINGS = {"q0007": "In which year was this game published?"}
_MOST = 4


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
        ][:_MOST]


def _photographs(folder: Path) -> Iterator[tuple[Path, str]]:
    _, talks = write_photographs(folder)
    for talk in talks:
        yield talk.photo, talk.questions[0].text


def _drawings(sample: Path) -> Iterator[tuple[Path, str]]:
    for name, question in _DRAWINGS.items():
        yield sample / "photos" / f"{name}.jpg", question
