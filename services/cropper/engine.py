"""The engine interface, and how every engine describes a region."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from chassis.rgb import RGB, probe_picture

Kind = Literal["quadrilateral", "text", "detection"]
Corners = tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]
"""Pixels of the photo, clockwise from the top left as the thing stands in the photo."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundRegion:
    """One region. `crop` shows it straight on; `small`: under 2 % of the photo; `score` in 0..1."""

    kind: Kind
    label: str | None
    score: float
    corners: Corners
    small: bool
    touches_edge: bool
    crop: RGB


class Cropper(Protocol):
    """Proposes regions; implementations are synchronous, blocking and thread-safe."""

    name: str

    def crop(self, photo: RGB, labels: Sequence[str], limit: int) -> list[FoundRegion]:
        """Return at most `limit` regions, best first. `labels`: what the caller looks for."""
        ...

    def probe(self) -> object:
        """Crop a drawn pattern."""
        return self.crop(probe_picture(), ["card"], 1)


SMALL = 0.02
"""Of the photo's area: QA-Dragon drops smaller regions; here they are flagged."""

EDGE_MARGIN = 0.006
"""Of the photo's longer side: a region that comes nearer to the frame may go on outside of it."""

LONGEST_SIDE = 1024
"""Of a crop, in pixels."""


def is_small(area: float, photo: RGB) -> bool:
    """Return whether an area in square pixels is a small part of the photo."""
    return bool(area < SMALL * photo.shape[0] * photo.shape[1])


def touches_edge(corners: Corners, photo: RGB) -> bool:
    """Return whether the photo's edge may have cut the thing off."""
    height, width = photo.shape[:2]
    margin = EDGE_MARGIN * max(width, height)
    return any(
        x <= margin or y <= margin or x >= width - 1 - margin or y >= height - 1 - margin for x, y in corners
    )
