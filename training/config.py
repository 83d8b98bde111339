"""Settings of a training, from YAML: a preset by name, or a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chassis.validation import first_fault

PRESETS = Path(__file__).with_name("presets")


class WrongConfig(Exception):
    """Settings are wrong; the message says which, and why."""


class Settings(BaseModel):
    """Frozen; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LoraSettings(Settings):
    """Defaults are BlackPearl's (section 4.1), which Wiki-PRF uses too (section 4.1).

    `target_modules`: names in the language model; neither paper gives them.
    """

    rank: int = Field(default=64, ge=1, le=1024)
    alpha: int = Field(default=128, ge=1)
    dropout: float = Field(default=0.05, ge=0, lt=1)
    target_modules: tuple[str, ...] = Field(
        default=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"), min_length=1
    )


class ModelSettings(Settings):
    """The model that is trained. `weights`: a hub id or a folder; `preset`: what serves it (`services/vlm`).

    `quantised`: the frozen weights in four bits (QLoRA); `gradient_checkpointing`: less memory, a third more
    time; `attention`: as transformers names it; `max_pixels`: of a photo, where the processor takes that.
    """

    weights: str = Field(min_length=1)
    preset: str = ""
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    quantised: bool = False
    gradient_checkpointing: bool = True
    attention: str = "sdpa"
    max_pixels: int | None = Field(default=None, ge=1)


class RunSettings(Settings):
    """Settings of every training by gradient steps.

    `batch_size`: samples (of GRPO: completions) a step, over all cards; `device_batch_size`: of them at once
    on a card, the rest is accumulated. `warmup`: share of the steps. `checkpoint_every`, `log_every`: steps.
    `most_steps`: stop after these, whatever `epochs` says.
    `held_out`: at most so many samples of the held-out part are replied to, before and after; 0: none.
    """

    epochs: float = Field(gt=0)
    learning_rate: float = Field(gt=0)
    warmup: float = Field(default=0.0, ge=0, lt=1)
    schedule: Literal["linear", "cosine", "constant", "constant_with_warmup"] = "cosine"
    optimiser: str = "adamw_torch"
    batch_size: int = Field(default=64, ge=1)
    device_batch_size: int = Field(default=1, ge=1)
    seed: int = 0
    most_steps: int | None = Field(default=None, ge=1)
    checkpoint_every: int = Field(default=50, ge=1)
    log_every: int = Field(default=1, ge=1)
    held_out: int = Field(default=200, ge=0)
    cards: int = Field(default=1, ge=1)


Model = TypeVar("Model", bound=BaseModel)


def load_config(
    name: str, kind: type[Model], overrides: Sequence[str] | None = None, data: Sequence[Path] | None = None
) -> Model:
    """Load a preset by name, or a file. `overrides`: such as `lora.rank=8`; `data`: folders instead of the
    file's. Raises `WrongConfig`.
    """
    path = _file(name)
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise WrongConfig(f"{path} cannot be read as YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(content, dict):
        raise WrongConfig(f"{path} holds no settings.")
    if data:
        content["data"] = list(data)
    for override in overrides or ():
        _put(content, override)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise WrongConfig(f"{path.name}: {first_fault(error)}.") from error


def dump_config(config: Settings) -> str:
    """Return all settings as YAML that `load_config` reads."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def _file(name: str) -> Path:
    if name in preset_names():
        return PRESETS / f"{name}.yaml"
    if Path(name).is_file():
        return Path(name)
    raise WrongConfig(f"{name} is no file and no preset. Presets: {', '.join(preset_names()) or 'none'}.")


def _put(settings: dict[str, Any], override: str) -> None:
    name, equals, value = override.partition("=")
    if not equals:
        raise WrongConfig(f"{override} is no setting: write name=value.")
    *folders, last = name.strip().split(".")
    for folder in folders:
        settings = settings.setdefault(folder, {})
        if not isinstance(settings, dict):
            raise WrongConfig(f"{name}: {folder} holds no settings of its own.")
    try:
        settings[last] = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise WrongConfig(f"{name}: {value} is no YAML.") from error
