"""The whole plan of a node: a card for each process, and the model server's sizes."""

from dataclasses import dataclass

from capacity.memory import VlmSizes, service_gb, service_share, vlm_sizes
from capacity.node_file import PlacementFile
from capacity.packing import VLM, Layout, pack


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


def propose(file: PlacementFile, deadline_ms: int) -> Proposal:
    """Place everything and size the model server. Raises `DoesNotFit`."""
    layout = pack(file)
    others_gb = sum(service_gb(file, name) for name in layout.on(layout.vlm))
    left_gb = file.node.usable_gb - file.node.context_gb - others_gb
    return Proposal(file, deadline_ms, layout, vlm_sizes(file, left_gb))
