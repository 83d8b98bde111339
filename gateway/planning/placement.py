"""The placement of models on cards, as `loreglass plan` wrote it, and the gateway's part in keeping it.

An L40S cannot be cut into slices (no MIG), so a burst of reranking would take the decoder's time: at most
`burst_ms` expected GPU milliseconds of the small models' work are on a card at once, in deadline order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from chassis.resilience.gates import Gate
from chassis.startup import WrongSettings
from chassis.validation import first_fault
from contracts.operations import Info

CPU = "cpu"
_MOST_WAITING = 64  # calls for one card; several for each question in flight
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)

Amount = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class ServiceShare:
    """One service's place: its card (None: the CPU), the memory of one process there, and the expected
    milliseconds that a call of `n` items keeps the card busy: `fixed_ms + item_ms * n`."""

    __pydantic_config__ = _STRICT

    gpu: Annotated[int, Field(ge=0)] | None
    memory_mib: Annotated[int, Field(ge=0)] = 0
    fixed_ms: Amount = 0.0
    item_ms: Amount = 0.0


@dataclass(frozen=True, slots=True)
class PlacementPlan:
    """The whole node as the gateway sees it. `vlm_sequences`: calls that the model server takes at once."""

    __pydantic_config__ = _STRICT

    name: Annotated[str, Field(min_length=1)]
    services: Mapping[str, ServiceShare]
    burst_ms: Annotated[float, Field(gt=0)]
    vlm_sequences: Annotated[int, Field(ge=1)]

    @classmethod
    def parse(cls, text: str) -> "PlacementPlan":
        """Parse the JSON in `LOREGLASS_GATEWAY_PLACEMENT`. Raises `WrongSettings` with one sentence."""
        try:
            return TypeAdapter(cls).validate_json(text, strict=True)
        except ValidationError as error:
            raise WrongSettings(f"The placement plan cannot be used: {first_fault(error)}.") from error

    def to_json(self) -> str:
        """Return the JSON that `parse` reads, without spaces, for environment files."""
        return TypeAdapter(PlacementPlan).dump_json(self).decode()


class Cards:
    """A slot scheduler for each card that small models share: `gates`, by card index."""

    def __init__(self, plan: PlacementPlan) -> None:
        used = {share.gpu for share in plan.services.values() if share.gpu is not None}
        self._plan = plan
        self.gates = {card: Gate(f"gpu{card}", plan.burst_ms, _MOST_WAITING) for card in sorted(used)}

    def slot(self, service: str) -> Gate | None:
        """Return the gate of a call to `service`, weighed by `weight_ms`; None if it needs no card.

        The vision-language model has none: its sequences are counted by a gate of their own.
        """
        share = self._plan.services.get(service)
        return None if share is None or share.gpu is None else self.gates[share.gpu]

    def weight_ms(self, service: str, items: int = 1) -> float:
        """Return the expected milliseconds of its card for a call of `items`; 0 without a card."""
        share = self._plan.services.get(service)
        if share is None or share.gpu is None:
            return 0.0
        return share.fixed_ms + share.item_ms * items


def compare(plan: PlacementPlan, infos: Mapping[str, Info]) -> dict[str, str]:
    """Return a sentence for each service that is not as planned. `infos`: the services' `/info`, by name."""
    differences = {name: _difference(name, plan.services.get(name), info) for name, info in infos.items()}
    return {name: sentence for name, sentence in differences.items() if sentence}


def _difference(name: str, share: ServiceShare | None, info: Info) -> str:
    if share is None or share.gpu is None:
        planned = "has it on the CPU" if share else "does not know it"
        return "" if info.device == CPU else f"{name} runs on {info.device}; the plan {planned}."
    if info.device == CPU:
        return f"{name} runs on the CPU; the plan has it on GPU {share.gpu}."
    if card_index(info.device) != share.gpu:
        return f"{name} runs on {info.device}; the plan has it on GPU {share.gpu}."
    if info.memory_peak_mib > share.memory_mib:
        return (
            f"{name} has held {info.memory_peak_mib} MiB of GPU {share.gpu}; "
            f"its share there is {share.memory_mib} MiB."
        )
    return ""


def card_index(device: str) -> int:
    """Return the card of a torch device name; `cuda` alone is the first."""
    _, _, index = device.partition(":")
    return int(index) if index.isdecimal() else 0
