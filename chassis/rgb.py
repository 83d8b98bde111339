"""The type of photos in engines, which do without pydantic."""

import numpy as np
from numpy.typing import NDArray

RGB = NDArray[np.uint8]
"""(height, width, 3), 8 bits a channel."""


def probe_picture() -> RGB:
    """Return a coloured pattern for probes: (96, 96, 3)."""
    ramp = np.add.outer(np.arange(96), np.arange(96) * 2)
    return np.asarray(ramp[..., None] * np.array([1, 2, 3]) // 16 % 2 * 255, np.uint8)
