"""JPEG files with the metadata that phones and glasses leave in them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from evaluation.world.rendering import Pixels

_ORIENTATION, _MAKE, _MODEL, _GPS = 0x0112, 0x010F, 0x0110, 0x8825
# Quarter turns, counter-clockwise, that store an upright picture so that the tag undoes them.
_STORED_TURNS = {1: 0, 3: 2, 6: 1, 8: 3}


def _degrees(value: float) -> tuple[IFDRational, IFDRational, IFDRational]:
    whole = int(value)
    minutes = int((value - whole) * 60)
    seconds = round((value - whole - minutes / 60) * 360_000)
    return IFDRational(whole), IFDRational(minutes), IFDRational(seconds, 100)


def save_jpeg(
    path: Path, picture: Pixels, rng: random.Random, *, orientation: int = 1, gps: bool = False
) -> None:
    """Writes the upright picture, stored turned when `orientation` (1, 3, 6, 8) says so."""
    stored = np.ascontiguousarray(np.rot90(picture, _STORED_TURNS[orientation]))
    exif = Image.Exif()
    if orientation != 1 or gps:
        exif[_MAKE], exif[_MODEL] = "Loreglass", "Wearer 1"
        exif[_ORIENTATION] = orientation
    if gps:
        exif[_GPS] = {
            1: "N", 2: _degrees(rng.uniform(40, 60)), 3: "E", 4: _degrees(rng.uniform(2, 28)),
        }  # fmt: skip
    Image.fromarray(stored).save(path, "JPEG", quality=rng.randint(84, 93), exif=exif)
