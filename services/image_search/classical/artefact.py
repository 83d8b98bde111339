"""The trained numbers of the engine: one .npz without pickles."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from services.image_search.classical.calibration import GEOMETRY, PRINT, Calibration, Logistic
from services.image_search.classical.features import Floats
from services.image_search.classical.vlad import VladModel

DEFAULT_ARTEFACT = Path(__file__).parent.parent / "engines" / "pocket.npz"
FORMAT = 1
SIGNALS = (*GEOMETRY, *PRINT)


class UnusableArtefact(Exception):
    """The file is not an artefact that this code can use."""


@dataclass(frozen=True, slots=True, eq=False)
class Artefact:
    """What training learns: how to encode a photo and how to weigh evidence."""

    vlad: VladModel
    calibration: Calibration


def save(artefact: Artefact, path: Path) -> None:
    """Write the artefact; the PCA basis goes to one byte a number, which costs no recall."""
    vlad = artefact.vlad
    steps = np.abs(vlad.basis).max(axis=1, keepdims=True) / 127
    np.savez_compressed(
        path,
        format=np.int64(FORMAT),
        signals=np.array(SIGNALS),
        mean=vlad.mean.astype(np.float16),
        reduce=vlad.reduce.astype(np.float16),
        words=vlad.words.astype(np.float16),
        centre=vlad.centre.astype(np.float16),
        basis=np.rint(vlad.basis / steps).astype(np.int8),
        basis_steps=steps.astype(np.float32),
        geometry=_packed(artefact.calibration.geometry),
        whole_print=_packed(artefact.calibration.whole_print),
        rivalry=np.float32(artefact.calibration.rivalry),
    )


def load(path: Path = DEFAULT_ARTEFACT) -> Artefact:
    """Read an artefact. Raises `UnusableArtefact` for one of another format."""
    with np.load(path, allow_pickle=False) as stored:
        if int(stored["format"]) != FORMAT or tuple(stored["signals"]) != SIGNALS:
            raise UnusableArtefact(f"{path.name} was trained for other code; run the training again")
        floats = {name: stored[name].astype(np.float32) for name in ("mean", "reduce", "words", "centre")}
        basis = stored["basis"].astype(np.float32) * stored["basis_steps"]
        calibration = Calibration(
            geometry=_unpacked(stored["geometry"]),
            whole_print=_unpacked(stored["whole_print"]),
            rivalry=float(stored["rivalry"]),
        )
    return Artefact(VladModel(**floats, basis=basis), calibration)


def _packed(model: Logistic) -> Floats:
    """Weights, then the bias."""
    return np.append(model.weights, model.bias).astype(np.float32)


def _unpacked(numbers: Floats) -> Logistic:
    return Logistic(numbers[:-1].astype(np.float32), float(numbers[-1]))
