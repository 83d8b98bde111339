"""The vision-language model that is trained: frozen weights, LoRA, processor; and the merge of both.

PEFT's LoRA sits in the linear layers of the language model only, cross-attention included where there is
any; the vision tower stays as it is. torch and transformers are loaded when a function is called.

vLLM loads no LoRA for Mllama, so a served model is a merged one (BlackPearl, section 3.3). Only the weights
are written anew; every other file is the base model's own, byte for byte, because the server of a preset may
be older than the transformers here.
"""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.vlm.presets import PRESETS, TRAINED_FOR
from training.config import LoraSettings, ModelSettings, WrongConfig


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model and its processor."""

    model: Any
    processor: Any

    @property
    def tokenizer(self) -> Any:
        return self.processor.tokenizer


def load(settings: ModelSettings) -> Loaded:
    """Load the base model and its processor. Raises `WrongConfig` if it cannot be loaded."""
    import torch
    from transformers import AutoModelForImageTextToText

    options: dict[str, Any] = {
        "dtype": getattr(torch, settings.dtype),
        "attn_implementation": settings.attention,
    }
    if settings.quantised:
        options["quantization_config"] = four_bits(settings)
    if torch.cuda.is_available():
        options["device_map"] = {"": torch.cuda.current_device()}
    try:
        processor = open_processor(settings)
        model = AutoModelForImageTextToText.from_pretrained(settings.weights, **options)
    except (ImportError, OSError, ValueError) as error:
        raise WrongConfig(f"{settings.weights} cannot be loaded: {str(error).splitlines()[0]}") from error
    return Loaded(model, processor)


def open_processor(settings: ModelSettings) -> Any:
    """Load the model's processor, with `max_pixels` if it is set."""
    from transformers import AutoProcessor

    options = {} if settings.max_pixels is None else {"max_pixels": settings.max_pixels}
    processor = AutoProcessor.from_pretrained(settings.weights, **options)
    if processor.tokenizer.pad_token is None:
        processor.tokenizer.pad_token = processor.tokenizer.eos_token
    return processor


def four_bits(settings: ModelSettings) -> Any:
    """Return QLoRA's quantisation (Dettmers et al. 2023): NF4 with double quantisation."""
    import torch
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=getattr(torch, settings.dtype),
    )


def lora_config(model: Any, settings: LoraSettings) -> Any:
    """Return PEFT's config for layers of the language model. Raises `WrongConfig` for unknown layers."""
    from peft import LoraConfig

    return LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=_pattern(targets(model, settings.target_modules)),
        task_type="CAUSAL_LM",
    )


def with_lora(loaded: Loaded, settings: LoraSettings, seed: int, adapter: Path | None = None) -> Any:
    """Return the model with the LoRA of `adapter`, or with a new one that is initialised by the seed."""
    from peft import PeftModel, get_peft_model
    from transformers import set_seed

    set_seed(seed)
    if adapter is None:
        model = get_peft_model(loaded.model, lora_config(loaded.model, settings))
    else:
        model = PeftModel.from_pretrained(loaded.model, str(adapter), is_trainable=True)
    return without_input_gradients(model)


def without_input_gradients(model: Any) -> Any:
    """Return the model without a backward pass through the frozen vision tower.

    PEFT and TRL give embeddings gradients, which only reentrant checkpointing needs.
    """
    model.get_base_model().disable_input_require_grads()
    return model


def targets(model: Any, names: Sequence[str]) -> list[str]:
    """Return the full names of the language model's linear layers that end in one of `names`.

    Raises `WrongConfig` if one of `names` is not a layer.
    """
    decoder = model.get_decoder()
    (root,) = (name for name, module in model.named_modules() if module is decoder)
    layers = [
        f"{root}.{name}"
        for name, module in decoder.named_modules()
        if name.rpartition(".")[2] in names and hasattr(module, "weight")
    ]
    missing = set(names) - {name.rpartition(".")[2] for name in layers}
    if missing:
        raise WrongConfig(f"lora.target_modules: the language model has no {', '.join(sorted(missing))}.")
    return layers


def _pattern(names: Sequence[str]) -> str:
    """Return one regular expression for all of them, for any layer number. It is stored with the adapter."""
    kinds = dict.fromkeys(re.sub(r"\\\.\d+\\\.", r"\\.\\d+\\.", re.escape(name)) for name in names)
    return f"({'|'.join(kinds)})"


def local_files(weights: str) -> Path:
    """Return the folder of these weights: a local one, or the hub's copy on this machine.

    Raises `WrongConfig` if there is none.
    """
    if Path(weights).is_dir():
        return Path(weights)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(weights))
    except (OSError, ValueError) as error:
        raise WrongConfig(f"{weights} is no folder here, and the hub could not be reached for it.") from error


_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".index.json")


class CannotMerge(Exception):
    """The adapter does not fit the base model, or the folder is taken; the message says which."""


def preset_of(model: ModelSettings, chosen_name: str = "") -> str:
    """Return the preset that serves the model: the chosen one, the config's, or that of the same hub id.

    Raises `WrongConfig` if there is none.
    """
    by_id = {preset.model: preset.name for preset in PRESETS.values()}
    name = chosen_name or model.preset or by_id.get(model.weights, "")
    if name not in PRESETS:
        presets = ", ".join(sorted(PRESETS))
        raise WrongConfig(f"Which preset serves {model.weights}? Name one by --preset: {presets}.")
    return name


def merge(model: ModelSettings, adapter: Path, out: Path, preset: str, origin: dict[str, Any]) -> None:
    """Write the merged model to `out`, a new folder. `origin`: facts that are stored with the preset's name.

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
    for file in half.glob("*.safetensors"):
        file.chmod(0o644)  # safetensors makes files private, and a server may run as another user
    (half / TRAINED_FOR).write_text(json.dumps({"preset": preset, **origin}, indent=1) + "\n", "utf-8")
    half.rename(out)


def _merged(base: Path, adapter: Path) -> Any:
    """Merge on the CPU, in the type that the base's weights are stored in."""
    from peft import PeftModel
    from transformers import AutoModelForImageTextToText

    try:
        model = AutoModelForImageTextToText.from_pretrained(base, dtype="auto")
        return PeftModel.from_pretrained(model, str(adapter)).merge_and_unload(safe_merge=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise CannotMerge(f"{adapter} does not fit {base}: {str(error).splitlines()[0]}") from error


def _require_the_same_tensors(base: Path, merged: Path) -> None:
    """Servers look up weights by name: one that is missing is random, or keeps the server from starting."""
    before, after = tensors(base), tensors(merged)
    if before and before != after:
        different = sorted(before.items() ^ after.items())
        raise CannotMerge(f"The merged weights are not named or shaped as the base's: {different[0]}.")


def tensors(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor in the folder's safetensors files, by name."""
    from safetensors import safe_open

    shapes: dict[str, tuple[int, ...]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(str(path), framework="pt") as file:
            shapes |= {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    return shapes
