"""A small image encoder for tests."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from chassis.rgb import RGB
from services.image_search.engine import Floats
from services.image_search.engines.views import Frame, framed_views

CELLS = 4
SIZE = CELLS * CELLS * 3 + 1
FRAME = Frame(32, 32)


def colours(view: RGB) -> Floats:
    """What colours are where in a picture, as a unit vector of SIZE numbers."""
    cells = np.asarray(Image.fromarray(view).resize((CELLS, CELLS), Image.Resampling.BOX), np.float32)
    vector = np.append(cells.ravel() / 127.5 - 1, 0.1)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


PAINTS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220)}


def painted(text: str) -> RGB:
    """A picture all in the colour that the text names."""
    (named,) = (paint for word, paint in PAINTS.items() if word in text.split())
    return np.full((32, 32, 3), named, np.uint8)


class ColourEncoder:
    """`ImageEncoder` by colours; counts its forward passes."""

    def __init__(self, name: str = "colours", ends_above: float = 1.25) -> None:
        self.name = name
        self.size = SIZE
        self.passes: list[int] = []
        self._ends_above = ends_above

    def views(self, photo: RGB) -> list[RGB]:
        """See the protocol."""
        return framed_views(photo, FRAME, self._ends_above)

    def forward(self, views: Sequence[RGB]) -> list[Floats]:
        """See the protocol."""
        self.passes.append(len(views))
        return [colours(view) for view in views]

    def forward_texts(self, texts: Sequence[str]) -> list[Floats]:
        """Of what the texts name."""
        return [colours(painted(text)) for text in texts]
