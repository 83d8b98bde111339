"""RootSIFT keypoints of one photo, small enough to be kept for every indexed photo.

Sources: D. Lowe, "Distinctive Image Features from Scale-Invariant Keypoints" (IJCV 2004);
R. Arandjelović and A. Zisserman, "Three things everyone should know to improve object retrieval"
(CVPR 2012, section 3: RootSIFT).
"""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

RGB = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating[Any]]
"""float32 throughout, which mypy's numpy plugin cannot follow through arithmetic."""
Bytes = npt.NDArray[np.uint8]

DESCRIPTOR_SIZE = 128
# RootSIFT components rarely pass 0.6, so 1/400 steps use most of a byte.
QUANTISATION = 400.0


@dataclass(frozen=True, slots=True)
class DescribeOptions:
    """`long_side`: pixels the photo is scaled to; `enlarge`: the most a small photo is enlarged."""

    long_side: int = 800
    enlarge: float = 2.0
    keypoints: int = 3000
    contrast_threshold: float = 0.03
    clahe_clip: float = 2.0
    thumbnail_side: int = 256


@dataclass(frozen=True, slots=True, eq=False)
class LocalFeatures:
    """Keypoints by falling contrast, in pixels of the working image of `width` x `height`.

    `points` (n, 2), `sizes` (n,) pixels, `angles` (n,) radians, `descriptors` (n, 128) RootSIFT in steps
    of 1/400; `thumbnail` is the grey photo at a quarter of the detail, to compare surfaces.
    """

    width: int
    height: int
    points: Floats
    sizes: Floats
    angles: Floats
    descriptors: Bytes
    thumbnail: Bytes

    def __len__(self) -> int:
        return len(self.points)

    def strongest(self, count: int) -> "LocalFeatures":
        """The `count` keypoints of highest contrast."""
        return LocalFeatures(
            self.width,
            self.height,
            self.points[:count],
            self.sizes[:count],
            self.angles[:count],
            self.descriptors[:count],
            self.thumbnail,
        )


def describe(photo: RGB, options: DescribeOptions) -> LocalFeatures:
    """Keypoints of an (H, W, 3) photo. Contrast is equalised first, so that dim photos keep theirs."""
    grey = _working_image(photo, options)
    equalised = cv2.createCLAHE(options.clahe_clip, (8, 8)).apply(grey)
    sift = cv2.SIFT.create(nfeatures=options.keypoints, contrastThreshold=options.contrast_threshold)
    keypoints, raw = sift.detectAndCompute(equalised, None)
    thumbnail = _fit(grey, options.thumbnail_side, 1.0)
    height, width = grey.shape
    if raw is None or not keypoints:
        empty = np.zeros(0, np.float32)
        none = np.zeros((0, DESCRIPTOR_SIZE), np.uint8)
        return LocalFeatures(width, height, empty.reshape(0, 2), empty, empty, none, thumbnail)
    responses = np.array([keypoint.response for keypoint in keypoints], np.float32)
    order = np.argsort(-responses, kind="stable")[: options.keypoints]
    points = np.array([keypoint.pt for keypoint in keypoints], np.float32)[order]
    sizes = np.array([keypoint.size for keypoint in keypoints], np.float32)[order]
    angles = np.deg2rad(np.array([keypoint.angle for keypoint in keypoints], np.float32))[order]
    return LocalFeatures(
        width, height, points, sizes, angles, _root_sift(np.asarray(raw, np.float32)[order]), thumbnail
    )


def unit_descriptors(descriptors: Bytes) -> Floats:
    """(n, 128) unit vectors from stored RootSIFT."""
    vectors = descriptors.astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.maximum(norms, 1e-6)
    return vectors


def _root_sift(raw: Floats) -> Bytes:
    shares = raw / np.maximum(raw.sum(axis=1, keepdims=True), 1e-6)
    quantised: Bytes = np.clip(np.rint(np.sqrt(shares) * QUANTISATION), 0, 255).astype(np.uint8)
    return quantised


def _working_image(photo: RGB, options: DescribeOptions) -> Bytes:
    grey: Bytes = np.asarray(cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY), np.uint8)
    return _fit(grey, options.long_side, options.enlarge)


def _fit(grey: Bytes, long_side: int, enlarge: float) -> Bytes:
    height, width = grey.shape
    scale = min(long_side / max(height, width), enlarge)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    fitted: Bytes = np.asarray(cv2.resize(grey, size, interpolation=method), np.uint8)
    return fitted
