"""The photo and the request bodies that the benchmarks send; the same bytes in every run."""

import io
from functools import cache
from typing import Any

import httpx
import numpy as np
from PIL import Image

from bench.generator import Body

_BOUNDARY = "loreglass-bench-f3a9"


@cache
def photo(width: int = 1280, height: int = 960) -> bytes:
    """A JPEG; at this size of about 170 kB, as a phone's camera app sends after scaling."""
    chance = np.random.default_rng(0)
    coarse = chance.integers(0, 256, (height // 24, width // 24, 3), dtype=np.uint8)
    picture = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def multipart(fields: dict[str, str], jpeg: bytes | None = None, part: str = "image") -> Body:
    """A form as browsers send it, the photo in `part`."""
    parts: list[tuple[str, Any]] = [(name, (None, value)) for name, value in fields.items()]
    if jpeg is not None:
        parts.append((part, ("photo.jpg", jpeg, "image/jpeg")))
    kind = f"multipart/form-data; boundary={_BOUNDARY}"
    request = httpx.Request("POST", "http://gateway", files=parts, headers={"Content-Type": kind})
    return Body(request.read(), kind)
