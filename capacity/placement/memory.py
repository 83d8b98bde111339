"""How much memory each takes, and what the model server makes of the rest. GB are 10^9 bytes."""

import math
from dataclasses import dataclass

from capacity.placement.node_file import Node, PlacementFile
from services.vlm.presets import USUAL_CONTEXT, Preset

_STEP = 1024
_TEXT_TOKENS = 4096  # the longest prompt of ours without its photo, and the reply
_FEW = 4  # sequences; a shorter context is better than fewer


@dataclass(frozen=True, slots=True)
class VlmMemory:
    """What vLLM is told of its card, and how many sequences that is room for.

    `share` is `--gpu-memory-utilization`, `context` `--max-model-len`, `sequences` `--max-num-seqs`.
    """

    share: float
    context: int
    sequences: int


def share_for(gb: float, node: Node) -> float:
    """Of a card, rounded up to a thousandth."""
    return math.ceil(round(gb / node.memory_gb * 1000, 6)) / 1000


def share_of(share: float, node: Node) -> float:
    """The GB of a share."""
    return share * node.memory_gb


def service_share(file: PlacementFile, name: str) -> float:
    """Of its card, for one replica; 0 on the CPU."""
    service = file.placed[name]
    if not service.on_card:
        return 0.0
    return service.share if service.share is not None else share_for(service.own_gb, file.node)


def small_gb(file: PlacementFile, name: str) -> float:
    """All replicas of a small model with their CUDA contexts; 0 on the CPU."""
    if not file.placed[name].on_card:
        return 0.0
    own = share_of(service_share(file, name), file.node) + file.node.context_gb
    return own * file.placed[name].replicas


def least_context(preset: Preset) -> int:
    """Tokens, below which our own prompts or a photo would be refused."""
    needed = preset.photo_tokens + _TEXT_TOKENS if preset.photo_in_prompt else preset.photo_tokens
    return min(preset.context, math.ceil(max(needed, _TEXT_TOKENS) / _STEP) * _STEP)


def least_gb(preset: Preset) -> float:
    """What vLLM needs to start at all: it refuses a context that not even one sequence has room for."""
    return preset.resident_gb + preset.sequence_gb(least_context(preset))


def vlm_memory(preset: Preset, left_gb: float, node: Node, sequences: int, share: float | None) -> VlmMemory:
    """The best use of `left_gb`: at most `sequences`, each with the usual context where there is room, with
    half of it where not; one of them always with the whole.

    A `share` that was asked for is kept as it is.
    """
    most = _down(left_gb / node.memory_gb) if share is None else share
    given = share_of(most, node)
    context = _context(preset, given)
    taken = max(1, min(_room(preset, given, context), sequences))
    cached = max(taken * preset.sequence_gb(min(context, USUAL_CONTEXT)), preset.sequence_gb(context))
    wanted = preset.resident_gb + cached
    used = min(most, share_for(wanted, node)) if share is None else share
    return VlmMemory(used, context, taken)


def _context(preset: Preset, gb: float) -> int:
    """The longest of which a few fit."""
    least = least_context(preset)
    for context in range(preset.context, least, -_STEP):
        whole = preset.resident_gb + preset.sequence_gb(context)
        if whole <= gb and _room(preset, gb, context) >= min(_FEW, preset.most_sequences):
            return context
    return least


def _room(preset: Preset, gb: float, context: int) -> int:
    """Sequences that fit with half of the usual context; one that grows longer waits (vLLM preempts)."""
    each = preset.sequence_gb(min(context, USUAL_CONTEXT) / 2)
    return min(preset.most_sequences, int((gb - preset.resident_gb) / each + 1e-9))


def _down(share: float) -> float:
    return math.floor(round(share * 1000, 6)) / 1000
