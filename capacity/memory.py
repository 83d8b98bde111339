"""How much of a card each process gets, and how the model server uses its part. GB are 10^9 bytes."""

import math
from dataclasses import dataclass

from capacity.node_file import Node, PlacementFile
from services.vlm.presets import USUAL_CONTEXT, Preset

_STEP = 1024
_TEXT_TOKENS = 4096  # the gateway's longest prompt without its photo, and the reply


@dataclass(frozen=True, slots=True)
class VlmSizes:
    """vLLM's options: `--gpu-memory-utilization`, `--max-model-len`, `--max-num-seqs`."""

    share: float
    context: int
    sequences: int


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
    """Return the memory that vLLM needs to start: it must hold one sequence of the whole context."""
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
    room = int(free / preset.sequence_gb(usual / 2) + 1e-9)
    sequences = max(1, min(room, preset.most_sequences, file.vlm.sequences or preset.sequences))
    wanted = max(sequences * preset.sequence_gb(usual), preset.sequence_gb(context))
    return VlmSizes(min(most, share_for(preset.resident_gb + wanted, node)), context, sequences)
