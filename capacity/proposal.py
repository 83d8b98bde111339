"""The plan of a node: a card for each process, and the model server's sizes. GB are 10^9 bytes.

Cards are chosen for the model server first, then for the small models by size. First-fit decreasing needs at
most 11/9 of the fewest cards, and one more (Johnson, 1973).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capacity.node_file import Node, PlacementFile
from chassis.startup import WrongSettings
from services.vlm.presets import USUAL_CONTEXT, Preset

VLM = "vlm"
_STEP = 1024
_TEXT_TOKENS = 4096  # the gateway's longest prompt without its photo, and the reply
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class VlmSizes:
    """vLLM's options: `--gpu-memory-utilization`, `--max-model-len`, `--max-num-seqs`."""

    share: float
    context: int
    sequences: int


@dataclass(frozen=True, slots=True)
class Layout:
    """`services`: card of each small model, None on the CPU. `vlm`: the model server's card."""

    services: Mapping[str, int | None]
    vlm: int

    def on(self, card: int) -> list[str]:
        """Return the small models of a card."""
        return [name for name, place in self.services.items() if place == card]


@dataclass(frozen=True, slots=True)
class Proposal:
    """All processes with their cards and sizes. The gateway admits one question a vLLM sequence."""

    file: PlacementFile
    deadline_ms: int
    layout: Layout
    vlm: VlmSizes

    def parts(self, card: int) -> dict[str, float]:
        """Return the GB of a card by process, then of CUDA contexts, headroom and free memory."""
        node = self.file.node
        parts = {VLM: self.vlm.share * node.memory_gb} if card == self.layout.vlm else {}
        parts |= {name: service_gb(self.file, name) - node.context_gb for name in self.layout.on(card)}
        parts |= {"CUDA contexts": len(parts) * node.context_gb, "headroom": node.headroom_gb}
        return parts | {"free": max(0.0, node.memory_gb - sum(parts.values()))}

    def memory_mib(self, service: str) -> int:
        """Return a service's part of its card."""
        return int(service_share(self.file, service) * self.file.node.memory_gb * 1e9 / 2**20)


class DoesNotFit(WrongSettings):
    """The cards are too few or too small."""


def propose(file: PlacementFile, deadline_ms: int) -> Proposal:
    """Place everything and size the model server. Raises `DoesNotFit`."""
    layout = pack(file)
    others_gb = sum(service_gb(file, name) for name in layout.on(layout.vlm))
    left_gb = file.node.usable_gb - file.node.context_gb - others_gb
    return Proposal(file, deadline_ms, layout, vlm_sizes(file, left_gb))


def pack(file: PlacementFile) -> Layout:
    """Place everything: the model server, then small models, on the cards without it if there are any.

    The model server gets the least that it needs here; later it gets what the others leave.
    Raises `DoesNotFit`.
    """
    cards = file.node.cards
    left = [file.node.usable_gb] * cards
    cards_of: dict[str, int | None] = {}
    pinned = {name: each.gpu for name, each in file.processes.items() if isinstance(each.gpu, int)}
    for name, card in pinned.items():
        cards_of[name] = _take(left, service_gb(file, name), [card])
    least = share_for(least_gb(file.vlm.chosen), file.node) * file.node.memory_gb + file.node.context_gb
    vlm = _take(left, least, [file.vlm.gpu] if isinstance(file.vlm.gpu, int) else range(cards))
    order = [*(card for card in range(cards) if card != vlm), vlm]
    waiting = [name for name, each in file.processes.items() if each.on_card and name not in pinned]
    for name in sorted(waiting, key=lambda name: -service_gb(file, name)):
        cards_of[name] = _take(left, service_gb(file, name), order)
    missing = -min(left)
    if missing > _ROUNDING:
        raise DoesNotFit(
            f"{file.vlm.preset} and the services do not fit: GPU {left.index(min(left))} has"
            f" {file.node.usable_gb:.1f} GB without its headroom, {missing:.1f} GB too little."
            " Try another --preset or more --cards."
        )
    return Layout({name: cards_of.get(name) for name in file.processes}, vlm)


def _take(left: list[float], gb: float, order: Sequence[int]) -> int:
    """Take `gb` of the first card of `order` with enough memory left, else of the one with most left."""
    fits = (card for card in order if gb <= left[card] + _ROUNDING)
    card = next(fits, max(order, key=lambda card: left[card]))
    left[card] -= gb
    return card


def share_for(gb: float, node: Node) -> float:
    """Return the share of a card that holds `gb`, rounded up to a thousandth."""
    return math.ceil(round(gb / node.memory_gb * 1000, 6)) / 1000


def service_share(file: PlacementFile, name: str) -> float:
    """Return the share of a card that a service gets; 0 on the CPU."""
    service = file.processes[name]
    return share_for(service.own_gb, file.node) if service.on_card else 0.0


def service_gb(file: PlacementFile, name: str) -> float:
    """Return the memory of a service with its CUDA context; 0 on the CPU."""
    node = file.node
    on_card = file.processes[name].on_card
    return service_share(file, name) * node.memory_gb + node.context_gb if on_card else 0.0


def least_context(preset: Preset) -> int:
    """Return the tokens without which our own prompts or a photo would be refused."""
    needed = preset.photo_tokens + _TEXT_TOKENS if preset.photo_in_prompt else preset.photo_tokens
    return min(preset.context, math.ceil(max(needed, _TEXT_TOKENS) / _STEP) * _STEP)


def least_gb(preset: Preset) -> float:
    """Return the memory that vLLM needs to start: for one sequence of the whole context."""
    return preset.resident_gb + preset.sequence_gb(least_context(preset))


def vlm_sizes(file: PlacementFile, left_gb: float) -> VlmSizes:
    """Return the longest context and the sequences that fit into `left_gb`, at most those of the file.

    Each sequence gets the usual context if there is room, at least half of it (vLLM preempts a sequence that
    grows longer); one sequence always gets the whole context.
    """
    node, preset = file.node, file.vlm.chosen
    most = math.floor(round(left_gb / node.memory_gb * 1000, 6)) / 1000
    free = most * node.memory_gb - preset.resident_gb
    least = least_context(preset)
    lengths = range(preset.context, least, -_STEP)
    context = next((tokens for tokens in lengths if preset.sequence_gb(tokens) <= free), least)
    usual = min(context, USUAL_CONTEXT)
    fitting = int(free / preset.sequence_gb(usual / 2) + _ROUNDING)
    sequences = max(1, min(fitting, preset.most_sequences, file.vlm.sequences or preset.sequences))
    cache_gb = max(sequences * preset.sequence_gb(usual), preset.sequence_gb(context))
    return VlmSizes(min(most, share_for(preset.resident_gb + cache_gb, node)), context, sequences)
