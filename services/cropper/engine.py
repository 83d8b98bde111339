"""What the routes need from an engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

RGB = npt.NDArray[np.uint8]
"""(height, width, 3)."""

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
        """At most `limit` regions, best first; may be empty. `labels` say what the caller looks for."""
        ...
