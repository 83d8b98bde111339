"""How long each stage takes on an idle node: the figures that planning starts from, before it has seen any.

A packaged file per kind of node; `loreglass plan`, the stand-in fleet and the simulation read the same ones.
"""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from chassis.startup import WrongSettings
from gateway.budget.stages import Stage

PACKAGED = ("pocket", "l40s")
WORKING = tuple(stage for stage in Stage if stage is not Stage.ADMISSION)
"""Waiting to be let in is no work."""
WITHOUT_STAGE = ("reader",)
"""Services that stages of other names ask: the reader, where no model reads."""


@dataclass(frozen=True, slots=True)
class Work:
    """How much a stage is asked to do: photos, chunks or queries (0: nothing); for a model also tokens.

    `extra_prompt_tokens`: beyond the stage's own prompt (evidence). `max_output_tokens`: None: the stage's.
    """

    items: int = 1
    extra_prompt_tokens: int = 0
    max_output_tokens: int | None = None


ONE = Work()


@dataclass(frozen=True, slots=True)
class StageLatency:
    """Median milliseconds of one call: `fixed_ms + item_ms * items`; `sigma` of its log-normal spread."""

    fixed_ms: float
    item_ms: float = 0.0
    sigma: float = 0.3

    def median_ms(self, items: int) -> float:
        """The median for a call of `items`."""
        return self.fixed_ms + self.item_ms * items


@dataclass(frozen=True, slots=True)
class ModelStage:
    """A stage that asks the vision-language model: its usual prompt and reply, in tokens.

    `follows_photo`: an earlier call of the request has already brought the photo, which a server with
    prefix caching does not read again.
    """

    prompt_tokens: int
    output_tokens: int
    follows_photo: bool = True
    sigma: float = 0.3


@dataclass(frozen=True, slots=True)
class VlmSpeed:
    """What the model costs alone on its card: reading a photo, reading 1,000 tokens, writing one."""

    vision_ms: float = 130.0
    prefill_ms_per_1k: float = 48.0
    decode_ms_per_token: float = 14.7
    prefix_caching: bool = False

    def __post_init__(self) -> None:
        """Raises `ValueError` for times that cannot be."""
        times = (self.vision_ms, self.prefill_ms_per_1k, self.decode_ms_per_token)
        if not all(0 <= ms < math.inf for ms in times):
            raise ValueError("the times of a model must be numbers from 0")

    def median_ms(self, prompt_tokens: int, output_tokens: int, *, photo_is_cached: bool) -> float:
        """One call with a photo."""
        vision = 0.0 if photo_is_cached and self.prefix_caching else self.vision_ms
        prefill = self.prefill_ms_per_1k * prompt_tokens / 1000
        return vision + prefill + self.decode_ms_per_token * output_tokens


@dataclass(frozen=True, slots=True)
class Latencies:
    """The table of one kind of node. `vlm` None: every stage is read by the pocket reasoner.

    `services`: a call of one `WITHOUT_STAGE`; what `stages` says of a stage that asks it includes the call.
    """

    stages: Mapping[Stage, StageLatency]
    model_stages: Mapping[Stage, ModelStage]
    services: Mapping[str, StageLatency]
    vlm: VlmSpeed | None = None

    def service(self, name: str) -> StageLatency:
        """One call of a model service, in `Services`' names. Raises `ValueError` where there is none such."""
        return self.services[name] if name in self.services else self.stages[Stage(name)]

    def expected_ms(self, stage: Stage, work: Work = ONE) -> float:
        """The median on an idle node."""
        model_stage = self.model_stages.get(stage)
        if self.vlm is None or model_stage is None:
            return self.stages[stage].median_ms(work.items)
        most = math.inf if work.max_output_tokens is None else work.max_output_tokens
        return self.vlm.median_ms(
            model_stage.prompt_tokens + work.extra_prompt_tokens,
            int(min(model_stage.output_tokens, most)),
            photo_is_cached=model_stage.follows_photo,
        )


def load_latencies(source: str | Path, vlm: VlmSpeed | None = None) -> Latencies:
    """The packaged table of that name, or the file. Raises `WrongSettings` if it cannot be used."""
    try:
        content = tomllib.loads(_text(source))
        return Latencies(
            stages=_entries(content, "stages", StageLatency, Stage, WORKING),
            model_stages=_entries(content, "model_stages", ModelStage, Stage, ()),
            services=_entries(content, "services", StageLatency, _without_stage, WITHOUT_STAGE),
            vlm=vlm,
        )
    except OSError as error:
        raise WrongSettings(f"The latency table {source} cannot be read.") from error
    except (ValueError, TypeError) as error:
        raise WrongSettings(f"The latency table {source} cannot be used: {error}.") from error


def _text(source: str | Path) -> str:
    if source in PACKAGED:
        return files(__package__).joinpath(f"{source}.toml").read_text("utf-8")
    return Path(source).read_text("utf-8")


def _without_stage(name: str) -> str:
    if name not in WITHOUT_STAGE:
        raise ValueError(f"services.{name} is not known")
    return name


def _entries(
    content: Mapping[str, Any],
    table: str,
    kind: type[Any],
    named: Callable[[str], str],
    needed: tuple[str, ...],
) -> Any:
    """One entry a name, which `named` checks. Raises `ValueError` for an unknown or missing name, and for a
    figure that is none."""
    rows = content.get(table, {})
    if not isinstance(rows, dict):
        raise ValueError(f"{table} must hold entries")
    entries = {named(name): _entry(f"{table}.{name}", row, kind) for name, row in rows.items()}
    missing = [str(name) for name in needed if name not in entries]
    if missing:
        raise ValueError(f"{table}.{missing[0]} is missing")
    return entries


def _entry(name: str, row: Any, kind: type[Any]) -> Any:
    if not isinstance(row, dict):
        raise ValueError(f"{name} must hold entries")
    known = {field.name: field for field in fields(kind)}
    for key, value in row.items():
        if key not in known:
            raise ValueError(f"{name}.{key} is not known")
        if known[key].type is bool:
            if not isinstance(value, bool):
                raise ValueError(f"{name}.{key} must be true or false")
        elif isinstance(value, bool) or not (isinstance(value, int | float) and 0 <= value < math.inf):
            raise ValueError(f"{name}.{key} must be a number from 0")
    for key, field in known.items():
        if key not in row and field.default is MISSING:
            raise ValueError(f"{name}.{key} is missing")
    return kind(**row)
