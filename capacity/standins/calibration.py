"""How fast the node is and how much of it there is; the times are those that planning starts from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from gateway.planning.latencies import Latencies, ModelStage, StageLatency, VlmSpeed, load_latencies
from gateway.planning.stages import stage_of_prompt

VLM = "vlm"

MODEL_SERVICES = (
    "ocr",
    "cropper",
    "image_search",
    "text_search",
    "reranker",
    "domain_router",
    "verifier",
    "reader",
)
SERVICES = (*MODEL_SERVICES, VLM)

_WORKERS = {
    "ocr": 4,  # CPU processes
    "cropper": 2,  # on the card: one batch works while the next is made ready
    "image_search": 2,
    "text_search": 4,
    "reranker": 2,
    "domain_router": 2,
    "verifier": 4,
    "reader": 2,
}
_MEMORY_MIB = {  # weights and workspace of the L40S table; 0 for what runs on the CPU
    "ocr": 0,
    "cropper": 1_900,
    "image_search": 1_400,
    "text_search": 1_000,
    "reranker": 5_100,
    "domain_router": 2_900,
    "verifier": 0,
    "reader": 500,
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """A node's times and sizes.

    `sequences`: vLLM's `max_num_seqs`. `concurrency`: calls a service works on at once; `queue`: how many
    more may wait. `memory_mib`: what each service says it holds on the card; 0: it runs on the CPU.

    `batch_growth`: by how much each further sequence lengthens a decode step. A step reads the weights once
    and each sequence's keys and values: about .34 GB (131 kB a token for 1,000 tokens, and a photo's .21 GB)
    beside 9.25 GB of weights in fp8 or 18.5 GB in bf16, .037 or .018 (the L40S table's sizes).
    `interference`: by how much each small-model job on the same card lengthens it (no MIG; a guess, to be
    replaced by `make bench-gpu`); `beside_vlm`: the services that are on that card.

    `stream_interval`: tokens in one event of the stream, as vLLM's option of that name.
    `openings`: prompts' beginnings that the prefix cache holds. `photo_tokens`: what a photo counts as.
    `holds_schema`: whether it keeps to a JSON schema, as the preset says.
    """

    latencies: Latencies
    speed: VlmSpeed = field(default_factory=VlmSpeed)
    sequences: int = 8
    concurrency: Mapping[str, int] = field(default_factory=lambda: dict(_WORKERS))
    memory_mib: Mapping[str, int] = field(default_factory=lambda: dict(_MEMORY_MIB))
    queue: int = 32
    batch_growth: float = 0.025
    interference: float = 0.3
    beside_vlm: frozenset[str] = frozenset(
        {"cropper", "image_search", "text_search", "reranker", "domain_router", "reader"}
    )
    stream_interval: int = 1
    openings: int = 64
    photo_tokens: int = 1_280
    holds_schema: bool = True
    model: str = "stand-in-vlm"

    @classmethod
    def l40s(cls, speed: VlmSpeed | None = None) -> Self:
        """One L40S with an 11B model in fp8, or another `speed`."""
        chosen = speed or VlmSpeed()
        return cls(load_latencies("l40s", chosen), chosen)

    def scaled(self, factor: float) -> Self:
        """The same node, every time multiplied; 0 for one that is only slow where the machine is.

        Raises `ValueError` for a factor below 0.
        """
        if factor < 0:
            raise ValueError("No time is shorter than none: the factor must be 0 or more.")
        speed = replace(
            self.speed,
            vision_ms=self.speed.vision_ms * factor,
            prefill_ms_per_1k=self.speed.prefill_ms_per_1k * factor,
            decode_ms_per_token=self.speed.decode_ms_per_token * factor,
        )
        stages = {stage: _scaled(latency, factor) for stage, latency in self.latencies.stages.items()}
        services = {name: _scaled(latency, factor) for name, latency in self.latencies.services.items()}
        latencies = replace(self.latencies, stages=stages, services=services, vlm=speed)
        return replace(self, latencies=latencies, speed=speed)

    def service(self, name: str) -> StageLatency:
        """The times of one model service."""
        return self.latencies.service(name)

    def prompt(self, name: str) -> ModelStage | None:
        """The usual reply to a prompt of ours; None for one that is unknown."""
        stage = stage_of_prompt(name)
        return None if stage is None else self.latencies.model_stages[stage]

    def step_ms(self, batch: int, jobs_beside: int) -> float:
        """One decode step of `batch` sequences while small models run `jobs_beside` jobs on the card."""
        alone = self.speed.decode_ms_per_token * (1 + self.batch_growth * (batch - 1))
        return alone * (1 + self.interference * jobs_beside)


def _scaled(latency: StageLatency, factor: float) -> StageLatency:
    return replace(latency, fixed_ms=latency.fixed_ms * factor, item_ms=latency.item_ms * factor)
