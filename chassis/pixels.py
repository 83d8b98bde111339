"""Pictures as arrays, for engines; what is read from strangers passes `chassis.images` first."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from chassis.images import ImageLimits, encoded, upright_rgb

RGB = NDArray[np.uint8]
"""(height, width, 3), 8 bits a channel."""


def decode_rgb(data: bytes, limits: ImageLimits | None = None, max_side: int | None = None) -> RGB:
    """The upright picture as RGB, scaled down to `max_side` where given.

    Raises `UnsupportedImage`, `CorruptImage` or `ImageTooLarge`. Blocking.
    """
    return np.asarray(upright_rgb(data, limits or ImageLimits(), max_side))


def encode_jpeg(pixels: RGB, quality: int = 92) -> bytes:
    """RGB to JPEG bytes."""
    return encoded(Image.fromarray(pixels), quality)
