"""Pictures with known text for the ocr tests."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

RGB = NDArray[np.uint8]


def page(lines: Sequence[tuple[int, int, str]], size: tuple[int, int] = (720, 960), height: int = 40) -> RGB:
    """Dark text on paper; `lines`: (left, top, text) in pixels."""
    picture = Image.new("RGB", size, (236, 230, 214))
    draw = ImageDraw.Draw(picture)
    for left, top, text in lines:
        draw.text((left, top), text, fill=(30, 24, 40), font_size=height)
    return np.asarray(picture)


def squeezed(text: str) -> str:
    """Letters and digits only: spaces are the recogniser's guess."""
    return "".join(filter(str.isalnum, text.casefold()))
