"""A trained artefact as one safetensors file: float32 tensors, and what they are, as one entry of metadata.

The format keeps no order among entries, and one training run is to give one file: hence one entry, JSON. Runs
in a bare environment of numpy and safetensors.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from chassis.models.pretrained import WrongWeights

Tensors = dict[str, NDArray[np.float32]]
Artefact = TypeVar("Artefact")


def write_tensors(path: Path, kind: str, about: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    """Write `tensors` with `about`, which says what a file of that `kind` needs to be read again."""
    contiguous = {name: np.ascontiguousarray(values) for name, values in tensors.items()}
    save_file(contiguous, path, {kind: json.dumps(about)})


def read_tensors(
    path: Path, kind: str, version: int, made: Callable[[Mapping[str, Any], Tensors], Artefact]
) -> Artefact:
    """What `made` makes of the file's `about` and tensors.

    `made` raises KeyError, TypeError or ValueError where they do not fit, this `WrongWeights`.
    """
    try:
        with safe_open(path, framework="numpy") as stored:
            written = (stored.metadata() or {}).get(kind)
            if written is None:
                raise WrongWeights(f"{str(path)!r} is no {kind}.")
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise WrongWeights(f"The {kind} {str(path)!r} cannot be read: {error}") from error
    except (TypeError, AttributeError) as error:  # bfloat16 and its like, without ml_dtypes
        raise WrongWeights(f"The {kind} {str(path)!r} is not of float32: {error}.") from error
    others = sorted({str(values.dtype) for values in tensors.values()} - {"float32"})
    if others:
        raise WrongWeights(f"The {kind} {str(path)!r} is not of float32: it holds {', '.join(others)}.")
    try:
        if not all(np.isfinite(values).all() for values in tensors.values()):
            raise ValueError("weights that are no numbers")
        about = json.loads(written)
        if about["version"] != version:
            raise ValueError(f"version {about['version']}")
        return made(about, tensors)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise WrongWeights(f"The {kind} {str(path)!r} is damaged: {error!r}.") from error
