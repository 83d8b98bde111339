"""Pictures as arrays, for engines; untrusted input passes `chassis.images` first."""

import numpy as np
from PIL import Image

from chassis.images import ImageLimits, encode_picture, upright_rgb
from chassis.rgb import RGB


def decode_rgb(data: bytes, limits: ImageLimits | None = None, max_side: int | None = None) -> RGB:
    """The upright picture as RGB, scaled down to `max_side` where given.

    Raises `UnsupportedImage`, `CorruptImage` or `ImageTooLarge`. Blocking.
    """
    return np.asarray(upright_rgb(data, limits or ImageLimits(), max_side))


def encode_jpeg(pixels: RGB, quality: int = 92) -> bytes:
    """RGB to JPEG bytes."""
    return encode_picture(Image.fromarray(pixels), quality)
