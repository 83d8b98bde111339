"""How alike two photos of a flat thing look once one is laid over the other.

Keypoints alone are fooled by things that share a layout or a typeface; the areas between them are not.
"""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from services.image_search.classical.features import Floats, LocalFeatures

BLOCK_PX = 12
FLAT_CONTRAST = 6.0
"""Standard deviation in grey levels below which a block says nothing."""

ALIKE = 0.5
UNALIKE = 0.2
HULL_GROWTH = 1.25


@dataclass(frozen=True, slots=True)
class Agreement:
    """`blocks`: textured blocks compared; `alike`, `unalike`: shares of them with high, low correlation."""

    blocks: int = 0
    alike: float = 0.0
    unalike: float = 0.0


def agreement(query: LocalFeatures, item: LocalFeatures, homography: Floats, spots: Floats) -> Agreement:
    """Correlation of small blocks around the matched `spots` (n, 2) of the item.

    `homography` takes working-image pixels of the item to those of the query.
    """
    height, width = item.thumbnail.shape
    shrink_item = np.diag([item.width / width, item.height / height, 1.0])
    query_height, query_width = query.thumbnail.shape
    shrink_query = np.diag([query_width / query.width, query_height / query.height, 1.0])
    to_query = shrink_query @ homography @ shrink_item
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    seen = cv2.warpPerspective(query.thumbnail, to_query, (width, height), flags=flags)
    everything = np.full(query.thumbnail.shape, 255, np.uint8)
    inside = cv2.warpPerspective(everything, to_query, (width, height), flags=flags)
    area = _hull_mask(spots * np.array([width / item.width, height / item.height], np.float32), width, height)
    usable = (np.asarray(inside) == 255) & (area > 0)
    blur = cv2.GaussianBlur(item.thumbnail, (0, 0), 1.0).astype(np.float32)
    laid = cv2.GaussianBlur(seen, (0, 0), 1.0).astype(np.float32)
    return _compare(blur, laid, usable)


def _hull_mask(spots: Floats, width: int, height: int) -> npt.NDArray[np.uint8]:
    hull = cv2.convexHull(spots.astype(np.float32)).reshape(-1, 2)
    centre = hull.mean(axis=0)
    grown = np.rint(centre + (hull - centre) * HULL_GROWTH).astype(np.int32)
    mask = np.zeros((height, width), np.uint8)
    cv2.fillConvexPoly(mask, grown, 255)
    return mask


def _compare(item: Floats, seen: Floats, usable: npt.NDArray[np.bool_]) -> Agreement:
    rows, columns = item.shape[0] // BLOCK_PX, item.shape[1] // BLOCK_PX
    if not rows or not columns:
        return Agreement()
    first, second = _blocks(item, rows, columns), _blocks(seen, rows, columns)
    whole = _blocks(usable.astype(np.float32), rows, columns).min(axis=1) > 0
    first = first - first.mean(axis=1, keepdims=True)
    second = second - second.mean(axis=1, keepdims=True)
    contrast, other = first.std(axis=1), second.std(axis=1)
    textured = whole & (contrast > FLAT_CONTRAST)
    count = int(textured.sum())
    if not count:
        return Agreement()
    scale = np.maximum(contrast * other, 1.0)
    correlation = ((first * second).mean(axis=1) / scale)[textured]
    return Agreement(count, float((correlation > ALIKE).mean()), float((correlation < UNALIKE).mean()))


def _blocks(image: Floats, rows: int, columns: int) -> Floats:
    """(rows * columns, BLOCK_PX²)."""
    cut = image[: rows * BLOCK_PX, : columns * BLOCK_PX]
    tiles = cut.reshape(rows, BLOCK_PX, columns, BLOCK_PX).transpose(0, 2, 1, 3)
    return tiles.reshape(rows * columns, BLOCK_PX * BLOCK_PX)
