"""Pictures as arrays, for engines; what is read from strangers passes `chassis.images` first."""

import numpy as np
from PIL import Image

from chassis.images import ImageLimits, encode_picture, upright_rgb
from chassis.rgb import RGB


def decode_rgb(data: bytes, limits: ImageLimits | None = None, max_side: int | None = None) -> RGB:
    """The upright picture as RGB, scaled down to `max_side` where given.

    Raises `UnsupportedImage`, `CorruptImage` or `ImageTooLarge`. Blocking.
    """
    return np.asarray(upright_rgb(data, limits or ImageLimits(), max_side))


def probe_picture() -> RGB:
    """Return a coloured pattern for probes: (96, 96, 3)."""
    ramp = np.add.outer(np.arange(96), np.arange(96) * 2)
    return np.asarray(ramp[..., None] * np.array([1, 2, 3]) // 16 % 2 * 255, np.uint8)


def encode_jpeg(pixels: RGB, quality: int = 92) -> bytes:
    """RGB to JPEG bytes."""
    return encode_picture(Image.fromarray(pixels), quality)
