"""How much a quadrilateral looks like the outline of a thing."""

import numpy as np

from services.cropper.proposals.edges import Floats, View
from services.cropper.proposals.geometry import Quads, areas

SAMPLES_A_SIDE = 24
OFFSETS = np.arange(-3, 4, dtype=np.float32)
ALIGNED = 0.8
CORNER_SHARE = 0.06


def outline_scores(view: View, quads: Quads) -> Floats:
    """(n,) in 0..1 for (n, 4, 2): edges along all four sides, the weakest side above all, and size.

    Samples outside the photo count half: a thing cut off by the frame still is a thing.
    """
    if not len(quads):
        return np.zeros(0, np.float32)
    support = _side_support(view, quads)
    frame = view.width * view.height
    crossed = areas(quads) / frame
    size = np.clip(np.sqrt(crossed) / 0.5, 0.25, 1.0)
    whole = np.where(crossed > 0.93, 0.5, 1.0)
    sides = 0.5 * support.mean(axis=1) + 0.5 * np.sort(support, axis=1)[:, :2].mean(axis=1)
    scores: Floats = (sides * (0.6 + 0.4 * size) * whole).astype(np.float32)
    return scores


def _side_support(view: View, quads: Quads) -> Floats:
    """(n, 4): share of each side's samples with an edge along the side."""
    starts, ends = quads, np.roll(quads, -1, axis=1)
    along = ends - starts
    lengths = np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-6)
    normals = np.stack([-along[..., 1], along[..., 0]], axis=2) / lengths
    places = np.linspace(CORNER_SHARE, 1 - CORNER_SHARE, SAMPLES_A_SIDE, dtype=np.float32)
    samples = starts[:, :, None] + along[:, :, None] * places[None, None, :, None]
    shifted = samples[:, :, :, None] + normals[:, :, None, None] * OFFSETS[None, None, None, :, None]
    columns = np.rint(shifted[..., 0]).astype(np.int32)
    rows = np.rint(shifted[..., 1]).astype(np.int32)
    outside = (columns < 1) | (rows < 1) | (columns >= view.width - 1) | (rows >= view.height - 1)
    columns, rows = np.clip(columns, 0, view.width - 1), np.clip(rows, 0, view.height - 1)
    gradient = view.gradient[rows, columns]
    strength = np.linalg.norm(gradient, axis=-1)
    across = np.abs((gradient * normals[:, :, None, None]).sum(axis=-1))
    edge = (strength > view.weak_edge) & (across > ALIGNED * strength)
    hit = np.where(outside.any(axis=3), 0.5, edge.any(axis=3))
    support: Floats = hit.mean(axis=2).astype(np.float32)
    return support
