"""Local features of indexed photos, one file a photo, named by content and shared by all versions.

They are too heavy for a vector store's payload (about 0.4 MB each). Little-endian, after an 8-byte magic:
a header of three uint32 (count, width, height), then points, sizes and angles as float16 pairs and numbers,
descriptors and plainness as bytes.
"""

import hashlib
import struct
import threading
import uuid
from collections import OrderedDict
from pathlib import Path

import numpy as np

from chassis.vectors.files import replace_bytes, sync_folder
from services.image_search.classical.features import (
    DESCRIPTOR_SIZE,
    RGB,
    DescribeOptions,
    LocalFeatures,
)

MAGIC = b"LGFEAT03"
HEADER = struct.Struct("<8s3I")
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

    def __init__(self, folder: Path, keep: int = 256) -> None:
        """`keep`: how many photos' features stay in memory."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._keep = keep
        self._recent: OrderedDict[str, LocalFeatures] = OrderedDict()
        self._lock = threading.Lock()

    def holds(self, key: str) -> bool:
        """Whether features were written under this key."""
        return self._path(key).exists()

    def write(self, key: str, features: LocalFeatures) -> None:
        """Durable when the call returns; a crash leaves the whole file or none."""
        path = self._path(key)
        path.parent.mkdir(exist_ok=True)
        fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        replace_bytes(path, encode(features), fresh)
        sync_folder(self._folder)

    def read(self, key: str) -> LocalFeatures:
        """Raises `FileNotFoundError` and `DamagedFeatures`."""
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
                return self._recent[key]
        features = decode(self._path(key).read_bytes())
        with self._lock:
            self._recent[key] = features
            while len(self._recent) > self._keep:
                self._recent.popitem(last=False)
        return features

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
