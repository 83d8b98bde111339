"""Weights from files, whole or not at all: published ones by transformers' `from_pretrained`, and our own.

A trained part of ours is one safetensors file: float32 tensors, and what they are, as one entry of metadata
in JSON (the format keeps no order among entries, and one training run is to give one file). Runs in a bare
torch + transformers environment.
"""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from chassis.accelerator import Accelerator
from chassis.startup import WrongWeights as WrongWeights

Tensors = dict[str, NDArray[np.float32]]
Artefact = TypeVar("Artefact")

LOADING = threading.Lock()
"""Held while weights are loaded: transformers patches torch meanwhile, for every thread of the process."""


def load_model(model_class: Any, source: str, accelerator: Accelerator) -> Any:
    """The weights at `source` as a `model_class` (of transformers), on the accelerator, ready to infer.

    transformers fills weights that it does not find with random numbers and only warns; here that raises
    `WrongWeights`, as do a missing folder, an unreadable file and another architecture.
    """
    _check_folder(source)
    try:
        _check_kind(model_class, source)
        with LOADING:
            model, report = model_class.from_pretrained(
                source, dtype=accelerator.torch_dtype, output_loading_info=True
            )
    except WrongWeights:
        raise
    except Exception as error:
        raise _unreadable(model_class, source, error) from error
    missing = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    if missing:
        raise WrongWeights(
            f"{source!r} is no {model_class.__name__}: {len(missing)} weights are missing or of another"
            f" shape, {missing[0]} first."
        )
    return model.to(accelerator.device).eval()


def load_part(part_class: Any, source: str, **options: Any) -> Any:
    """A tokenizer or preprocessor at `source`. Raises `WrongWeights` when there is none."""
    _check_folder(source)
    try:
        return part_class.from_pretrained(source, **options)
    except Exception as error:
        raise _unreadable(part_class, source, error) from error


def _check_folder(source: str) -> None:
    """A path that leads nowhere would be taken for a hub id."""
    if source.startswith(("/", ".", "~")) and not Path(source).is_dir():
        raise WrongWeights(f"There is no folder {source!r}.")


def _check_kind(model_class: Any, source: str) -> None:
    """Before gigabytes of random weights are made for a config of another architecture."""
    config_class = getattr(model_class, "config_class", None)
    if config_class is None:  # an Auto class takes any kind
        return
    kind = config_class.get_config_dict(source)[0].get("model_type")
    if kind != config_class.model_type:
        raise WrongWeights(f"{source!r} holds a {kind!r} model; {config_class.model_type!r} is needed.")


def _unreadable(part: Any, source: str, error: Exception) -> WrongWeights:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return WrongWeights(f"{part.__name__} cannot be loaded from {source!r}: {reason}")


def write_tensors(path: Path, kind: str, about: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    """Write `tensors` with `about`, which says what a file of that `kind` needs to be read again."""
    contiguous = {name: np.ascontiguousarray(values) for name, values in tensors.items()}
    save_file(contiguous, path, {kind: json.dumps(about)})


def read_tensors(
    path: Path, kind: str, version: int, made: Callable[[Mapping[str, Any], Tensors], Artefact]
) -> Artefact:
    """Return the result of `made` for the file's `about` and tensors.

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
