"""Stage times on an idle node: the figures that planning starts from, before it has observed any.

A packaged file per kind of node; `loreglass plan` and `bench.node` read the same ones.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict

from chassis.validation import Amount, Count, Switch, read_settings, read_toml
from gateway.planning.stages import Stage

PACKAGED = ("lite", "l40s")
WORKING = tuple(stage for stage in Stage if stage is not Stage.ADMISSION)
"""Waiting to be let in is no work."""
_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Work:
    """The size of a stage's work: photos, chunks or queries (0: nothing); for a model also tokens.

    `extra_prompt_tokens`: beyond the stage's own prompt (evidence). `max_output_tokens`: None: the stage's.
    """

    items: int = 1
    extra_prompt_tokens: int = 0
    max_output_tokens: int | None = None


ONE = Work()


@dataclass(frozen=True, slots=True)
class StageLatency:
    """Median milliseconds of one call: `fixed_ms + item_ms * items`; `sigma` of its log-normal spread."""

    __pydantic_config__ = _STRICT

    fixed_ms: Amount
    item_ms: Amount = 0.0
    sigma: Amount = 0.3

    def median_ms(self, items: int) -> float:
        """Return the median for a call of `items`."""
        return self.fixed_ms + self.item_ms * items


UNLISTED = StageLatency(fixed_ms=2.0)
"""A stage that a table does not list: a rule, which calls neither a service nor a model."""

_SERVICE_STAGES = (
    *(Stage.OCR, Stage.DOMAIN_ROUTER, Stage.IMAGE_SEARCH, Stage.CROPPER),
    *(Stage.TEXT_SEARCH, Stage.WEB_SEARCH, Stage.RERANKER, Stage.VERIFIER),
)
"""A table must list these: no default fits a call of a service."""


@dataclass(frozen=True, slots=True)
class ModelStage:
    """A stage that asks the vision-language model: its usual prompt and reply, in tokens.

    `follows_photo`: an earlier call of the request has already brought the photo, which a server with
    prefix caching does not read again.
    """

    __pydantic_config__ = _STRICT

    prompt_tokens: Count
    output_tokens: Count
    follows_photo: Switch = True
    sigma: Amount = 0.3


@dataclass(frozen=True, slots=True)
class VlmSpeed:
    """The model's times alone on its card: to read a photo, to read 1,000 tokens, to write one."""

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
    """The table of one kind of node. `vlm` None: every stage is read by the lite reasoner.

    `stage_vlms`: the speeds of other models, by the stage that each does. Which of several models has read
    a question's photo is not followed: none of them is taken to have it cached.
    `services`: a call of one that stages of other names ask; what `stages` says of them includes the call.
    """

    __pydantic_config__ = _STRICT

    stages: dict[Stage, StageLatency]
    services: dict[Literal["reader"], StageLatency]
    model_stages: dict[Stage, ModelStage] = field(default_factory=dict)
    vlm: VlmSpeed | None = None
    stage_vlms: dict[Stage, VlmSpeed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add the rules that are not listed. Raises `ValueError` if a service is missing."""
        missing = next((stage for stage in _SERVICE_STAGES if stage not in self.stages), None)
        if missing is not None:
            raise ValueError(f"stages.{missing} is missing")
        object.__setattr__(self, "stages", {**dict.fromkeys(WORKING, UNLISTED), **self.stages})
        if "reader" not in self.services:
            raise ValueError("services.reader is missing")

    def service(self, name: str) -> StageLatency:
        """One call of a model service, in `Services`' names. Raises `ValueError` where there is none such."""
        return self.services["reader"] if name == "reader" else self.stages[Stage(name)]

    def expected_ms(self, stage: Stage, work: Work = ONE) -> float:
        """Return the median on an idle node."""
        model_stage = self.model_stages.get(stage)
        if self.vlm is None or model_stage is None:
            return self.stages[stage].median_ms(work.items)
        most = math.inf if work.max_output_tokens is None else work.max_output_tokens
        return self.model_ms(stage, work, self.vlm, int(min(model_stage.output_tokens, most)))

    def model_ms(self, stage: Stage, work: Work, usual: VlmSpeed, output_tokens: int) -> float:
        """The median of one of `model_stages` whose model writes so much. `usual`: where it has no other."""
        model_stage, speed = self.model_stages[stage], self.stage_vlms.get(stage, usual)
        return speed.median_ms(
            model_stage.prompt_tokens + work.extra_prompt_tokens,
            output_tokens,
            photo_is_cached=model_stage.follows_photo and not self.stage_vlms,
        )


def load_latencies(
    source: str | Path, vlm: VlmSpeed | None = None, stage_vlms: Mapping[Stage, VlmSpeed] | None = None
) -> Latencies:
    """Return the packaged table of that name, or the file. Raises `WrongSettings` if it cannot be used."""
    source = "lite" if source == "pocket" else source  # its earlier name
    path = Path(__file__).with_name(f"{source}.toml") if source in PACKAGED else Path(source)
    name = f"The latency table {source}"
    content = read_toml(path, name)
    return replace(read_settings(Latencies, content, name), vlm=vlm, stage_vlms=dict(stage_vlms or {}))
