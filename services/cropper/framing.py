"""What every engine says about a region's place in the photo, in the same terms."""

from services.cropper.engine import RGB, Corners

SMALL = 0.02
"""Of the photo's area: QA-Dragon drops smaller regions; here they are flagged."""

EDGE_MARGIN = 0.006
"""Of the photo's longer side: a region that comes nearer to the frame may go on outside of it."""

LONGEST_SIDE = 1024
"""Of a crop, in pixels."""


def is_small(area: float, photo: RGB) -> bool:
    """Whether so many square pixels are too little of the photo to tell much."""
    return bool(area < SMALL * photo.shape[0] * photo.shape[1])


def touches_edge(corners: Corners, photo: RGB) -> bool:
    """Whether the frame may have cut the thing off."""
    height, width = photo.shape[:2]
    margin = EDGE_MARGIN * max(width, height)
    return any(
        x <= margin or y <= margin or x >= width - 1 - margin or y >= height - 1 - margin for x, y in corners
    )
