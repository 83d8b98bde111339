"""A value read off a photo, and the lines that can be relied on for it."""

from dataclasses import dataclass

from gateway.reasoning.extractive.photo import READABLE, proper_case
from gateway.state import PhotoText, TextLine


@dataclass(frozen=True, slots=True)
class Read:
    """A value read off the photo, the lines it stands on, and how sure the reading is (0..1)."""

    value: str
    lines: tuple[TextLine, ...]
    sure: float


def clear(photo_text: PhotoText) -> list[TextLine]:
    """Lines that can be relied on."""
    return [line for line in photo_text.lines if line.score >= READABLE]


def sureness(lines: tuple[TextLine, ...], base: float) -> float:
    """`base` lowered by the least certain line."""
    return base * min(line.score for line in lines)


def shown(line: TextLine) -> str:
    """The line as a name: without stray marks, in proper case."""
    return proper_case(line.text.strip(" .,:;|·-"))
