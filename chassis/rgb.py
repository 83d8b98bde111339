"""The type of photos in engines, which do without pydantic."""

import numpy as np
from numpy.typing import NDArray

RGB = NDArray[np.uint8]
"""(height, width, 3), 8 bits a channel."""
