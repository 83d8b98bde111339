"""Read and check the file that describes a node (`deploy/placement/l40s.yaml`).

An error is one sentence that names the file, the entry and the value.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from chassis.startup import WrongSettings
from chassis.validation import read_settings
from services.speech.presets import HEARS, SPEAKS
from services.speech.presets import PRESETS as SPEECH_PRESETS
from services.speech.presets import Preset as SpeechPreset
from services.vlm.presets import EMBEDDING, PRESETS, RERANKER, RETRIEVERS, Preset

DEFAULT_FILE = Path(__file__).parents[1] / "deploy/placement/l40s.yaml"
SERVICES = (
    *("domain_router", "cropper", "image_search", "text_search", "reranker", "verifier", "ocr", "reader"),
)
ON_CPU = ("pocket", "builtin", "bm25", "web")
"""Engines that never use a card."""
SEEING: Mapping[str, Preset] = MappingProxyType({"text_search": EMBEDDING, "reranker": RERANKER})
"""Services whose `remote` engine may have a preset of `services/vlm/presets.py`."""
WITHOUT_MODEL = ("verifier", "ocr")
"""Services that use neither a card nor batches, whatever their engine."""
AUTO, CPU = "auto", "cpu"


def _check_gpu(value: Any) -> Any:
    if value in (AUTO, CPU) or (type(value) is int and value >= 0):
        return value
    raise ValueError(f"{value!r:.60} is neither the index of a card nor {AUTO} or {CPU}")


Gpu = Annotated[int | str, BeforeValidator(_check_gpu)]
Positive = Annotated[float, Field(gt=0, le=10_000)]
Amount = Annotated[float, Field(ge=0, le=10_000)]
Rate = Annotated[float, Field(ge=1, le=1_000_000)]
Count = Annotated[int, Field(ge=1, le=64)]
Many = Annotated[int, Field(ge=1, le=1024)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Node(_Entry):
    """The machine. Memory is in GB (10^9 bytes) a card; `tflops` are the maker's dense figures.

    Leave `fp8_tflops` out for a card without fp8 (A100): bf16's rate is used. `headroom_gb` of each card
    stays free; each process on a card takes `context_gb` for CUDA. `burst_ms`: expected GPU milliseconds of
    the small models' work on a card at once.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")
    cards: Count = 1
    memory_gb: Positive
    bandwidth_gb_s: Rate
    bf16_tflops: Rate
    fp8_tflops: Rate | None = None
    headroom_gb: Amount = 1.0
    context_gb: Amount = 0.5
    burst_ms: Rate = 100.0

    @model_validator(mode="after")
    def _check_headroom(self) -> Self:
        if self.usable_gb <= 0:
            raise ValueError(f"headroom_gb {self.headroom_gb:g} is all of memory_gb {self.memory_gb:g}")
        return self

    @property
    def usable_gb(self) -> float:
        """Return the memory of a card without its headroom."""
        return self.memory_gb - self.headroom_gb


class Service(_Entry):
    """A model service. `concurrency`: calls at once; `batch`: items in one forward pass.

    `preset`: what vLLM serves on the card for its engine `remote`; its memory is the preset's.
    """

    engine: str
    preset: str = ""
    gpu: Gpu = AUTO
    weights_gb: Amount = 0.0
    workspace_gb: Amount = 0.0
    concurrency: Many = 4
    batch: Many | None = None

    @property
    def on_card(self) -> bool:
        return self.gpu != CPU

    @property
    def own_gb(self) -> float:
        """Return weights and workspace."""
        return RETRIEVERS[self.preset].memory_gb if self.preset else self.weights_gb + self.workspace_gb

    @model_validator(mode="after")
    def _check_memory(self) -> Self:
        if self.preset and self.preset not in RETRIEVERS:
            raise ValueError(f"unknown preset {self.preset!r}; use one of {', '.join(RETRIEVERS)}")
        if self.on_card and (self.weights_gb == 0) != bool(self.preset):
            raise ValueError("a service on a card needs weights_gb, or a preset without it")
        if not self.on_card and self.own_gb:
            raise ValueError("a service on the CPU cannot have weights_gb, workspace_gb or preset")
        return self


class Vlm(_Entry):
    """The vision-language model. `sequences`: at most so many at once; default: the preset's."""

    preset: str
    gpu: Gpu = AUTO
    replicas: Literal[1] = 1  # files of older versions have it
    sequences: Many | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.preset not in PRESETS:
            raise ValueError(f"unknown preset {self.preset!r}; use one of {', '.join(PRESETS)}")
        if self.gpu == CPU:
            raise ValueError("the model server needs a card: gpu cannot be cpu")
        return self

    @property
    def chosen(self) -> Preset:
        return PRESETS[self.preset]


class Voice(_Entry):
    """A server for speech recognition or synthesis; its memory is the preset's."""

    preset: str
    gpu: Gpu = AUTO

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.preset not in SPEECH_PRESETS:
            raise ValueError(f"unknown preset {self.preset!r}; use one of {', '.join(SPEECH_PRESETS)}")
        if self.chosen.on_card == (self.gpu == CPU):
            raise ValueError(f"{self.preset} {'needs a card' if self.gpu == CPU else 'needs gpu: cpu'}")
        return self

    @property
    def chosen(self) -> SpeechPreset:
        return SPEECH_PRESETS[self.preset]

    @property
    def as_service(self) -> Service:
        """Return the memory that the server needs on a card."""
        return Service(engine=self.preset, gpu=self.gpu, weights_gb=self.chosen.memory_gb)


class PlacementFile(_Entry):
    """The whole file. `latencies`: a packaged table of the gateway. `voice`: by role, `stt` and `tts`."""

    node: Node
    latencies: Literal["l40s", "lite", "pocket"] = "l40s"
    vlm: Vlm
    services: dict[str, Service]
    voice: dict[str, Voice] = {}

    @property
    def processes(self) -> Mapping[str, Service]:
        """Return every process but the model server."""
        return {**self.services, **{role: each.as_service for role, each in self.voice.items()}}

    @field_validator("voice")
    @classmethod
    def _check_roles(cls, voice: dict[str, Voice]) -> dict[str, Voice]:
        for role, each in voice.items():
            if role not in (HEARS, SPEAKS) or role != each.chosen.role:
                raise ValueError(f"{each.preset} cannot be {role}; the roles are {HEARS} and {SPEAKS}")
        return voice

    @field_validator("services")
    @classmethod
    def _check_names(cls, services: dict[str, Service]) -> dict[str, Service]:
        if different := sorted(services.keys() ^ set(SERVICES)):
            raise ValueError(f"{different[0]} is missing or unknown; there are {', '.join(SERVICES)}")
        return {name: services[name] for name in SERVICES}

    @model_validator(mode="after")
    def _check_services(self) -> Self:
        for name, each in self.services.items():
            if each.preset and (each.engine != "remote" or SEEING.get(name) != RETRIEVERS[each.preset]):
                fault = f"preset is {each.preset!r}; it is for another service or engine"
            elif name in WITHOUT_MODEL and each.batch is not None:
                fault = "batch must be left out: it has no batches"
            elif each.on_card and (name in WITHOUT_MODEL or each.engine in ON_CPU):
                fault = "gpu must be cpu: it cannot use a card"
            else:
                continue
            raise ValueError(f"services.{name}.{fault}")
        return self

    @model_validator(mode="after")
    def _check_cards(self) -> Self:
        entries = {"vlm": self.vlm.gpu} | {name: each.gpu for name, each in self.processes.items()}
        for name, gpu in entries.items():
            if isinstance(gpu, int) and gpu >= self.node.cards:
                raise ValueError(f"the gpu of {name} is {gpu}; the last card is {self.node.cards - 1}")
        return self


def read(
    path: Path,
    *,
    cards: int | None = None,
    preset: str | None = None,
    sequences: int | None = None,
    voice: bool = False,
) -> PlacementFile:
    """Return the checked file with these values in place of its own. Raises `WrongSettings`.

    `voice` False: without the servers of speech.
    """
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise WrongSettings(f"{path} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise WrongSettings(f"{path} is not YAML: {' '.join(str(error).split())}.") from error
    if isinstance(content, dict):
        content.pop("traffic", None)  # files of older versions have it
        for name, given in (("node", {"cards": cards}), ("vlm", {"preset": preset, "sequences": sequences})):
            if isinstance(content.get(name), dict):
                content[name] |= {key: value for key, value in given.items() if value is not None}
    file = read_settings(PlacementFile, content, str(path))
    return file if voice else file.model_copy(update={"voice": {}})
