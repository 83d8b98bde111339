"""The file that an operator writes (`deploy/placement/l40s.yaml`): one place for every budget of a node.

Whatever is wrong with it is one sentence that names the file, the entry and the value.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from chassis.startup import WrongSettings
from services.speech.presets import HEARS, SPEAKS
from services.speech.presets import PRESETS as SPEECH_PRESETS
from services.speech.presets import Preset as SpeechPreset
from services.vlm.presets import PRESETS, Preset

DEFAULT_FILE = Path(__file__).parents[2] / "deploy/placement/l40s.yaml"
MAX_BYTES = 64 * 2**10
POCKET = "pocket"
ENGINES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "domain_router": (POCKET, "blip2"),
        "cropper": (POCKET, "grounding_dino"),
        "image_search": (POCKET, "clip", "remote"),
        "text_search": (POCKET, "bge", "remote"),
        "reranker": (POCKET, "cascade", "remote"),
        "verifier": (POCKET, "white_box"),
        "ocr": (POCKET,),
        "reader": (POCKET, "extractive"),
    }
)
"""What the services can be run with. Pocket engines know no card."""
SERVICES = tuple(ENGINES)
WITHOUT_MODEL = ("verifier", "ocr")
"""No engine of these knows a card or a batch."""
AUTO, CPU = "auto", "cpu"


def _where(value: Any) -> Any:
    if value in (AUTO, CPU) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError(f"must be the index of a card, {AUTO} or {CPU}")


Where = Annotated[int | str, BeforeValidator(_where)]
Positive = Annotated[float, Field(gt=0, le=10_000)]
Amount = Annotated[float, Field(ge=0, le=10_000)]
Rate = Annotated[float, Field(ge=1, le=1_000_000)]
Count = Annotated[int, Field(ge=1, le=64)]
Share = Annotated[float, Field(gt=0, le=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Node(_Entry):
    """The machine. Memory in GB (10^9 bytes) a card; `tflops`: dense, as the maker says.

    `fp8_tflops` is left out for a card that does not compute in fp8 (A100): it takes its bf16 rate.
    `headroom_gb` of each card is given to nobody; `context_gb`: what CUDA takes for each process on a card.
    `burst_ms`: expected GPU milliseconds of the small models' work on a card at once.
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
    def _has_room(self) -> "Node":
        if self.usable_gb <= 0:
            raise ValueError(
                f"has no room: headroom_gb is {self.headroom_gb:g} of memory_gb {self.memory_gb:g}"
            )
        return self

    @property
    def usable_gb(self) -> float:
        """Of a card."""
        return self.memory_gb - self.headroom_gb


class Service(_Entry):
    """A model service. `concurrency`: calls that it takes at once; `batch`: items in one forward pass.

    `share` of the card replaces what follows from weights and workspace. All replicas are on one card.
    """

    engine: str = Field(pattern=r"^[a-z0-9_]+$")
    gpu: Where = AUTO
    weights_gb: Amount = 0.0
    workspace_gb: Amount = 0.0
    replicas: Count = 1
    concurrency: int = Field(default=4, ge=1, le=1024)
    batch: int | None = Field(default=None, ge=1, le=1024)
    share: Share | None = None

    @property
    def on_card(self) -> bool:
        """Whether it uses a card at all."""
        return self.gpu != CPU

    @property
    def own_gb(self) -> float:
        """Weights and workspace of one replica."""
        return self.weights_gb + self.workspace_gb

    @model_validator(mode="after")
    def _has_a_size(self) -> "Service":
        if self.on_card and self.weights_gb == 0:
            raise ValueError("needs weights_gb: it is on a card")
        if not self.on_card and (self.own_gb or self.share):
            raise ValueError("is on the CPU and cannot have weights_gb, workspace_gb or share")
        return self


class Vlm(_Entry):
    """The vision-language model; its sizes are the preset's. `sequences`: at most so many at once."""

    preset: str
    gpu: Where = AUTO
    replicas: Count = 1
    sequences: int | None = Field(default=None, ge=1, le=1024)
    share: Share | None = None

    @field_validator("preset")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in PRESETS:
            raise ValueError(f"is not a preset; there are {', '.join(PRESETS)}")
        return name

    @model_validator(mode="after")
    def _placeable(self) -> "Vlm":
        if self.gpu == CPU:
            raise ValueError("must be on a card: the gpu cannot be cpu")
        if self.replicas > 1 and self.gpu != AUTO:
            raise ValueError("has several replicas, each on a card of its own: the gpu must be auto")
        return self

    @property
    def chosen(self) -> Preset:
        """What the preset's name stands for."""
        return PRESETS[self.preset]


class Voice(_Entry):
    """A server that hears or speaks; its sizes are the preset's. It is one process."""

    preset: str
    gpu: Where = AUTO

    @field_validator("preset")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in SPEECH_PRESETS:
            raise ValueError(f"is not a preset; there are {', '.join(SPEECH_PRESETS)}")
        return name

    @model_validator(mode="after")
    def _where_it_can_be(self) -> "Voice":
        if self.on_card != self.chosen.on_card:
            what = "needs a card" if self.chosen.on_card else "runs on the CPU, set its gpu to cpu"
            raise ValueError(f"cannot be there: {self.preset} {what}")
        return self

    @property
    def chosen(self) -> SpeechPreset:
        """What the preset's name stands for."""
        return SPEECH_PRESETS[self.preset]

    @property
    def on_card(self) -> bool:
        """Whether it uses a card at all."""
        return self.gpu != CPU

    @property
    def own_gb(self) -> float:
        """Of the card."""
        return self.chosen.memory_gb

    @property
    def replicas(self) -> int:
        """Always one."""
        return 1

    @property
    def share(self) -> None:
        """What follows from its size."""
        return None


class Traffic(_Entry):
    """Which share of the questions takes which route."""

    direct: Amount
    verify: Amount
    rag: Amount

    @model_validator(mode="after")
    def _whole(self) -> "Traffic":
        if not math.isclose(self.direct + self.verify + self.rag, 1.0, abs_tol=1e-6):
            raise ValueError("must add up to 1")
        return self


class PlacementFile(_Entry):
    """The whole file. `latencies`: a packaged table of the gateway's, by name.

    `voice`: `stt` hears and `tts` speaks; a server that does both stands there once.
    """

    node: Node
    latencies: Literal["l40s", "pocket"] = "l40s"
    traffic: Traffic
    vlm: Vlm
    services: dict[str, Service]
    voice: dict[str, Voice] = {}

    @property
    def placed(self) -> Mapping[str, Service | Voice]:
        """All but the model server."""
        return {**self.services, **self.voice}

    @field_validator("voice")
    @classmethod
    def _in_their_roles(cls, voice: dict[str, Voice]) -> dict[str, Voice]:
        for role, each in voice.items():
            if role not in (HEARS, SPEAKS):
                raise ValueError(f"has {role}; there are {HEARS} and {SPEAKS}")
            if role not in each.chosen.roles:
                raise ValueError(f"has {each.preset} as {role}, which it cannot be")
        return voice

    @field_validator("services")
    @classmethod
    def _all_of_them(cls, services: dict[str, Service]) -> dict[str, Service]:
        for name in services:
            if name not in SERVICES:
                raise ValueError(f"has {name}, which is no service; there are {', '.join(SERVICES)}")
        for name in SERVICES:
            if name not in services:
                raise ValueError(f"lacks {name}")
        return {name: services[name] for name in SERVICES}

    @model_validator(mode="after")
    def _cards_are_there(self) -> "PlacementFile":
        last = self.node.cards - 1
        for entry, gpu in self.pinned().items():
            if gpu > last:
                raise ValueError(f"{entry}.gpu is {gpu}; the node's cards are 0 to {last}")
        return self

    @model_validator(mode="after")
    def _shares_suffice(self) -> "PlacementFile":
        for name, service in self.services.items():
            if service.share is None:
                continue
            given = service.share * self.node.memory_gb
            if given < service.own_gb:
                raise ValueError(
                    f"services.{name}.share is {service.share}, {given:.1f} GB of a card; "
                    f"its weights and workspace are {service.own_gb:.1f} GB"
                )
        return self

    @model_validator(mode="after")
    def _engines_can_do_it(self) -> "PlacementFile":
        for name, service in self.services.items():
            if service.engine not in ENGINES[name]:
                known = " or ".join(ENGINES[name])
                raise ValueError(f"services.{name}.engine is {service.engine!r}; it must be {known}")
            if name in WITHOUT_MODEL and service.batch is not None:
                raise ValueError(f"services.{name} works on one item at a time and cannot have batch")
            if service.on_card and (name in WITHOUT_MODEL or service.engine == POCKET):
                what = name if name in WITHOUT_MODEL else "the engine pocket"
                raise ValueError(
                    f"services.{name}.gpu is {service.gpu!r}; {what} runs on the CPU, set it to cpu"
                )
        return self

    def pinned(self) -> dict[str, int]:
        """Entry -> card, of those that are not left to the packing."""
        entries: dict[str, Service | Vlm | Voice] = {
            f"services.{name}": each for name, each in self.services.items()
        }
        entries |= {f"voice.{name}": each for name, each in self.voice.items()}
        entries["vlm"] = self.vlm
        return {name: entry.gpu for name, entry in entries.items() if isinstance(entry.gpu, int)}


def read(
    path: Path, *, cards: int | None = None, preset: str | None = None, voice: bool = False
) -> PlacementFile:
    """The checked file; `cards` and `preset` replace what it says, and `voice` is left out unless asked for.

    Raises `WrongSettings`, one sentence.
    """
    content = _content(path)
    if cards is not None and isinstance(content.get("node"), dict):
        content["node"]["cards"] = cards
    if preset is not None and isinstance(content.get("vlm"), dict):
        content["vlm"]["preset"] = preset
    try:
        file = PlacementFile.model_validate(content)
    except ValidationError as error:
        raise WrongSettings(f"{path}: {_first(error)}.") from error
    return file if voice else file.model_copy(update={"voice": {}})


def _content(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise WrongSettings(f"{path} cannot be read: {error.strerror}.") from error
    if len(text) > MAX_BYTES:
        raise WrongSettings(f"{path} is larger than {MAX_BYTES >> 10} KiB; a placement file never is.")
    try:
        content = yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise WrongSettings(f"{path}, line {line}: {error.problem or 'not YAML'}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise WrongSettings(f"{path} is not YAML.") from error
    if not isinstance(content, dict):
        raise WrongSettings(f"{path} must hold entries (node, traffic, vlm, services), not {content!r:.40}.")
    return content


class _Loader(yaml.SafeLoader):
    """Safe, and without what hides mistakes: a key twice, an alias, a merge."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Aliases are refused before they are followed."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(None, None, "aliases are not read here", event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A key that stands twice would silently be its last value."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                raise yaml.MarkedYAMLError(None, None, "a key must be a word", key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(None, None, f"{key.value} stands here twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _first(error: ValidationError) -> str:
    """The first fault: entry, value and what it should be."""
    first = error.errors(include_url=False)[0]
    entry = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"{entry} is missing"
    if first["type"] == "extra_forbidden":
        return f"{entry} is not known"
    said = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("model_type", "dict_type"):
        said = "must hold entries"
    if " should " in said:
        said = f"must {said.partition(' should ')[2]}"
    if isinstance(first["input"], dict | BaseModel):
        return f"{entry} {said}" if entry else said
    if said.startswith("is "):
        return f"{entry}: {first['input']!r:.60} {said}"
    return f"{entry} is {first['input']!r:.60}; it {said}"
