"""Loading published weights from a folder or hub id by transformers' `from_pretrained`: whole or not at all.

Runs in a bare torch + transformers environment.
"""

import threading
from pathlib import Path
from typing import Any

from chassis.accelerator import Accelerator
from chassis.startup import WrongWeights as WrongWeights

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
