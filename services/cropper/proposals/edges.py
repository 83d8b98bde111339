"""What all proposals look at: the photo at a working size, its gradients, and edge maps of its channels."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from services.cropper.engine import RGB

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating[Any]]

WORKING_SIDE = 640
WEAK_EDGE_PERCENTILE = 75
BRIGHT = 200.0


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """`scale`: working pixels per photo pixel; `gradient` (H, W, 2): the steepest channel's, x and y."""

    scale: float
    channels: tuple[Bytes, ...]
    gradient: Floats
    weak_edge: float

    @property
    def width(self) -> int:
        """Working pixels."""
        return int(self.gradient.shape[1])

    @property
    def height(self) -> int:
        """Working pixels."""
        return int(self.gradient.shape[0])


def look(photo: RGB) -> View:
    """Scale the photo down and take luminance and the two colour channels of CIELAB."""
    height, width = photo.shape[:2]
    scale = min(1.0, WORKING_SIDE / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = np.asarray(cv2.resize(photo, size, interpolation=cv2.INTER_AREA), np.uint8)
    lab = np.asarray(cv2.cvtColor(cv2.medianBlur(_brightened(small), 5), cv2.COLOR_RGB2LAB), np.uint8)
    channels = tuple(np.ascontiguousarray(lab[..., index]) for index in range(3))
    gradient = _steepest(channels)
    strength = np.linalg.norm(gradient, axis=2)
    return View(scale, channels, gradient, max(12.0, float(np.percentile(strength, WEAK_EDGE_PERCENTILE))))


def edge_maps(view: View) -> list[Bytes]:
    """Binary edges at two sensitivities for luminance and one for each colour channel, gaps closed."""
    kernel = cv2.getStructuringElement(cv2.MORPH_RECT, (3, 3))
    maps = []
    for index, channel in enumerate(view.channels):
        typical = float(np.median(cv2.absdiff(channel, cv2.blur(channel, (9, 9))))) + 4
        for factor in (4.0, 10.0) if index == 0 else (3.0,):
            edges = cv2.Canny(channel, factor * typical, 2.5 * factor * typical, L2gradient=True)
            maps.append(np.asarray(cv2.dilate(edges, kernel), np.uint8))
    return maps


def _brightened(small: RGB) -> RGB:
    """Dim photos stretched to the full range, so that one set of thresholds does for all."""
    top = float(np.percentile(small[::4, ::4], 99))
    if top >= BRIGHT:
        return small
    table = np.clip(np.arange(256) * (BRIGHT / max(top, 16.0)), 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(small, table), np.uint8)


def _steepest(channels: tuple[Bytes, ...]) -> Floats:
    """The gradient of whichever channel changes most; colour counts double, being flatter by nature."""
    fields = []
    for index, channel in enumerate(channels):
        weight = 1.0 if index == 0 else 2.0
        across = cv2.Sobel(channel, cv2.CV_32F, 1, 0, scale=weight / 4)
        down = cv2.Sobel(channel, cv2.CV_32F, 0, 1, scale=weight / 4)
        fields.append(np.stack([across, down], axis=2))
    stacked = np.stack(fields)
    steepest = (stacked**2).sum(axis=3).argmax(axis=0)
    chosen: Floats = np.take_along_axis(stacked, steepest[None, ..., None], axis=0)[0]
    return chosen
