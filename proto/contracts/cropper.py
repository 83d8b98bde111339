"""cropper: regions worth a closer look. `POST /v1/crop`, multipart `image`, `labels`*, `max_regions`."""

from enum import StrEnum

from pydantic import Base64Bytes

from contracts.geometry import Box, Point
from contracts.message import Message


class RegionKind(StrEnum):
    """How a region was found."""

    QUADRILATERAL = "quadrilateral"
    TEXT = "text"
    DETECTION = "detection"


class Region(Message):
    """One region, best first. `image` is its rectified JPEG; `flags`: `small`, `touches_edge`."""

    kind: RegionKind
    label: str | None = None
    score: float
    box: Box
    quadrilateral: list[Point]
    flags: list[str] = []
    image: Base64Bytes


class CropReply(Message):
    """Regions, best first, flagged ones last; may be empty: callers keep the full photo as the fallback."""

    regions: list[Region]
    width: int
    height: int
