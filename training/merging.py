"""A LoRA merged into its base model: a folder that vLLM serves, with the name of its preset.

vLLM loads no LoRA for Mllama, so that a served model is a merged one (BlackPearl, section 3.3). Only the
weights are written anew; every other file is the base model's own, byte for byte, because the server of a
preset may be older than the transformers here and would misread what these write.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from services.vlm.presets import PRESETS, TRAINED_FOR
from training.config import ModelSettings, WrongConfig
from training.models import local_files

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".index.json")


class CannotMerge(Exception):
    """The adapter does not fit the base model, or the folder is taken; the message says which."""


def preset_of(model: ModelSettings, named: str = "") -> str:
    """The preset that serves it: the one that is named, the config's, or that of the same hub id.

    Raises `WrongConfig` where there is none.
    """
    by_id = {preset.model: preset.name for preset in PRESETS.values()}
    name = named or model.preset or by_id.get(model.weights, "")
    if name not in PRESETS:
        known = ", ".join(sorted(PRESETS))
        raise WrongConfig(f"Which preset serves {model.weights}? Name one by --preset: {known}.")
    return name


def merge(model: ModelSettings, adapter: Path, out: Path, preset: str, told: dict[str, Any]) -> None:
    """Write the merged model to `out`, a new folder. `told`: where it is from, kept beside the preset.

    Raises `CannotMerge` and `WrongConfig`.
    """
    if out.exists():
        raise CannotMerge(f"{out} is there already: choose another folder.")
    if not all((adapter / name).exists() for name in ("adapter_config.json", "adapter_model.safetensors")):
        raise CannotMerge(f"{adapter} holds no adapter: the training has not ended.")
    base = local_files(model.weights)
    half = out.with_name(f".{out.name}.partial")
    shutil.rmtree(half, ignore_errors=True)
    merged = _merged(base, adapter)
    merged.save_pretrained(half)
    _require_the_same_tensors(base, half)
    for path in base.iterdir():
        if path.is_file() and not path.name.endswith(_WEIGHTS):
            shutil.copyfile(path, half / path.name)
    for written in half.glob("*.safetensors"):
        written.chmod(0o644)  # safetensors lets nobody else read, and a server may be somebody else
    (half / TRAINED_FOR).write_text(json.dumps({"preset": preset, **told}, indent=1) + "\n", "utf-8")
    half.rename(out)


def _merged(base: Path, adapter: Path) -> Any:
    """In the type that the base's weights are stored in, on the processor: it needs no card."""
    from peft import PeftModel
    from transformers import AutoModelForImageTextToText

    try:
        model = AutoModelForImageTextToText.from_pretrained(base, dtype="auto")
        return PeftModel.from_pretrained(model, str(adapter)).merge_and_unload(safe_merge=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise CannotMerge(f"{adapter} does not fit {base}: {str(error).splitlines()[0]}") from error


def _require_the_same_tensors(base: Path, merged: Path) -> None:
    """A server finds weights by name, and takes what it does not find for noise, if it starts at all."""
    before, after = tensors(base), tensors(merged)
    if before and before != after:
        different = sorted(before.items() ^ after.items())
        raise CannotMerge(f"The merged weights are not named or shaped as the base's: {different[0]}.")


def tensors(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of all tensors in the folder's safetensors files, by name."""
    from safetensors import safe_open

    found: dict[str, tuple[int, ...]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(str(path), framework="pt") as file:
            found |= {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    return found
