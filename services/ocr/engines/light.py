"""Dim photos: stretch the light before text is searched."""

import cv2
import numpy as np
from numpy.typing import NDArray

BGR = NDArray[np.uint8]

_DIM = 40.0  # mean luminance (0..255) below which text detection starts to lose lines
_TARGET = 110.0
_STRONGEST_GAMMA = 0.35


def brightened(photo: BGR) -> BGR:
    """The photo itself, or a gamma-corrected, slightly smoothed one when it is dim. (height, width, 3).

    Smoothing undoes the sensor noise that the correction blows up.
    """
    mean = float(cv2.cvtColor(photo, cv2.COLOR_BGR2GRAY).mean())
    if mean >= _DIM:
        return photo
    gamma = np.log(_TARGET / 255.0) / np.log(max(mean, 1.0) / 255.0)
    exponent = max(_STRONGEST_GAMMA, float(gamma))
    table = (255.0 * (np.arange(256) / 255.0) ** exponent).round().astype(np.uint8)
    return np.asarray(cv2.GaussianBlur(cv2.LUT(photo, table), (3, 3), 0), dtype=np.uint8)
