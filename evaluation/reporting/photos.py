"""Photos of failures, small enough to travel inside a page."""

import io
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

LONGEST_SIDE = 480
_MOST_PIXELS = 80_000_000
_QUALITY = 72


class NoPhoto(Exception):
    """It cannot be shown; the message says why."""


def small_photo(folder: Path, photo: str) -> bytes:
    """A JPEG of at most 480 pixels a side, upright, with nothing of the file but what is seen.

    `photo`: relative to the run's folder, or where else it lies. Raises `NoPhoto`.
    """
    if not photo:
        raise NoPhoto("The question was asked without a photo.")
    try:
        with Image.open(folder / photo) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                raise NoPhoto("The photo is too large to be shown.")
            opened.draft("RGB", (2 * LONGEST_SIDE, 2 * LONGEST_SIDE))
            upright = ImageOps.exif_transpose(opened).convert("RGB")
            upright.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
            upright.info.clear()
            held = io.BytesIO()
            upright.save(held, "JPEG", quality=_QUALITY, optimize=True)
            return held.getvalue()
    except FileNotFoundError as error:
        raise NoPhoto("The photo is no longer where it was when the question was asked.") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise NoPhoto("The photo is too large to be shown.") from error
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise NoPhoto("The photo's file cannot be read as a picture.") from error
