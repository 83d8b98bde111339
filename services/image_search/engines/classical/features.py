"""RootSIFT keypoints of one photo, and the files that keep them, one a photo, named by content.

Sources: D. Lowe, "Distinctive Image Features from Scale-Invariant Keypoints" (IJCV 2004);
R. Arandjelović and A. Zisserman, "Three things everyone should know to improve object retrieval"
(CVPR 2012, section 3: RootSIFT).

The features are too heavy for a vector store's payload (about 0.4 MB each). Files are little-endian: an
8-byte magic, a header of three uint32 (count, width, height), then points, sizes and angles as float16
pairs and numbers, descriptors and plainness as bytes.
"""

import hashlib
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from chassis.files import replace_bytes, sync_folder
from chassis.rgb import RGB

Floats = npt.NDArray[np.floating[Any]]
"""float32 throughout, which mypy's numpy plugin cannot follow through arithmetic."""
Bytes = npt.NDArray[np.uint8]

DESCRIPTOR_SIZE = 128
# RootSIFT components rarely pass 0.6, so 1/400 steps use most of a byte.
QUANTISATION = 400.0
PLAIN_WINDOW = 41
PLAIN_STEEPNESS = 0.08


@dataclass(frozen=True, slots=True)
class DescribeOptions:
    """`long_side`: pixels the photo is scaled to; `enlarge`: the most a small photo is enlarged."""

    long_side: int = 800
    enlarge: float = 2.0
    keypoints: int = 3000
    contrast_threshold: float = 0.03
    clahe_clip: float = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class LocalFeatures:
    """Keypoints by falling contrast, in pixels of the working image of `width` x `height`.

    `points` (n, 2), `sizes` (n,) pixels, `angles` (n,) radians, `descriptors` (n, 128) RootSIFT in steps
    of 1/400; `plainness` (n,) is the share of plain ground around each, in steps of 1/255: print has it
    between its strokes, scenes do not.
    """

    width: int
    height: int
    points: Floats
    sizes: Floats
    angles: Floats
    descriptors: Bytes
    plainness: Bytes

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
            self.plainness[:count],
        )


def describe(photo: RGB, options: DescribeOptions) -> LocalFeatures:
    """Keypoints of an (H, W, 3) photo. Contrast is equalised first, so that dim photos keep theirs."""
    grey = _working_image(photo, options)
    equalised = cv2.createCLAHE(options.clahe_clip, (8, 8)).apply(grey)
    sift = cv2.SIFT.create(nfeatures=options.keypoints, contrastThreshold=options.contrast_threshold)
    keypoints, raw = sift.detectAndCompute(equalised, None)
    responses = np.array([keypoint.response for keypoint in keypoints], np.float32)
    order = np.argsort(-responses, kind="stable")[: options.keypoints]
    points = np.array([keypoint.pt for keypoint in keypoints], np.float32).reshape(-1, 2)[order]
    sizes = np.array([keypoint.size for keypoint in keypoints], np.float32)
    angles = np.deg2rad(np.array([keypoint.angle for keypoint in keypoints], np.float32))
    described = np.zeros((0, DESCRIPTOR_SIZE), np.float32) if raw is None else np.asarray(raw, np.float32)
    columns, rows = points.astype(np.intp).T
    return LocalFeatures(
        width=grey.shape[1],
        height=grey.shape[0],
        points=points,
        sizes=sizes[order],
        angles=angles[order],
        descriptors=_root_sift(described[order]),
        plainness=_plain_ground(grey)[rows, columns],
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


def _plain_ground(grey: Bytes) -> Bytes:
    """Share of pixels around each pixel whose gradient is small beside the steepest one around."""
    soft = cv2.GaussianBlur(grey, (0, 0), 1.5).astype(np.float32)
    steepness = cv2.magnitude(cv2.Sobel(soft, cv2.CV_32F, 1, 0), cv2.Sobel(soft, cv2.CV_32F, 0, 1))
    window = (PLAIN_WINDOW, PLAIN_WINDOW)
    steepest = cv2.blur(cv2.dilate(steepness, np.ones(window, np.uint8)), window)
    plain = np.asarray(steepness) < PLAIN_STEEPNESS * np.asarray(steepest)
    return np.asarray(np.rint(255 * np.asarray(cv2.blur(plain.astype(np.float32), window))), np.uint8)


def _working_image(photo: RGB, options: DescribeOptions) -> Bytes:
    grey = cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY)
    height, width = grey.shape
    scale = min(options.long_side / max(height, width), options.enlarge)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    fitted: Bytes = np.asarray(cv2.resize(grey, size, interpolation=method), np.uint8)
    return fitted


MAGIC = b"LGFEAT03"
HEADER = struct.Struct("<8s3I")
_MOST_IN_MEMORY = 256
"""Photos whose features stay in memory, 0.4 MB each."""
# Half precision keeps positions to a quarter of a pixel below 1024.
HALF = np.dtype("<f2")


class DamagedFeatures(Exception):
    """A file does not hold what its header promises."""


def content_key(photo: RGB, options: DescribeOptions) -> str:
    """Name of the features of a photo described in a certain way."""
    digest = hashlib.blake2b(digest_size=20)
    digest.update(repr((MAGIC, options, photo.shape)).encode())
    digest.update(np.ascontiguousarray(photo).data)
    return digest.hexdigest()


class FeatureFolder:
    """The files, with the most recently used ones kept in memory. Safe from several threads."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._recent = lru_cache(_MOST_IN_MEMORY)(lambda key: decode(self._path(key).read_bytes()))

    def holds(self, key: str) -> bool:
        """Return whether features were written under this key."""
        return self._path(key).exists()

    def write(self, key: str, features: LocalFeatures) -> None:
        """Durable when the call returns; a crash leaves the whole file or none."""
        path = self._path(key)
        path.parent.mkdir(exist_ok=True)
        replace_bytes(path, encode(features))
        sync_folder(self._folder)

    def read(self, key: str) -> LocalFeatures:
        """Raises `FileNotFoundError` and `DamagedFeatures`."""
        return self._recent(key)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.features"


def encode(features: LocalFeatures) -> bytes:
    """The bytes of a file."""
    header = HEADER.pack(MAGIC, len(features), features.width, features.height)
    numbers = (features.points, features.sizes, features.angles)
    halves = b"".join(np.asarray(part, HALF).tobytes() for part in numbers)
    return header + halves + features.descriptors.tobytes() + features.plainness.tobytes()


def decode(data: bytes) -> LocalFeatures:
    """Features from the bytes of a file. Raises `DamagedFeatures`."""
    if len(data) < HEADER.size:
        raise DamagedFeatures("shorter than a header")
    magic, count, width, height = HEADER.unpack_from(data)
    halves = HEADER.size + 4 * count * HALF.itemsize
    expected = halves + count * (DESCRIPTOR_SIZE + 1)
    if magic != MAGIC or len(data) != expected:
        raise DamagedFeatures("not a whole file of features")
    numbers = np.frombuffer(data, HALF, 4 * count, HEADER.size).astype(np.float32)
    descriptors = np.frombuffer(data, np.uint8, count * DESCRIPTOR_SIZE, halves)
    plainness = np.frombuffer(data, np.uint8, count, halves + count * DESCRIPTOR_SIZE)
    return LocalFeatures(
        width=width,
        height=height,
        points=numbers[: 2 * count].reshape(count, 2),
        sizes=numbers[2 * count : 3 * count],
        angles=numbers[3 * count :],
        descriptors=descriptors.reshape(count, DESCRIPTOR_SIZE),
        plainness=plainness,
    )
