"""The whole plan of a node: a card for each process, and the model server's sizes."""

from dataclasses import dataclass

from capacity.memory import VlmSizes, least_gb, service_gb, service_share, vlm_sizes
from capacity.node_file import PlacementFile
from capacity.packing import VLM, DoesNotFit, Layout, pack
from services.vlm.presets import PRESETS


@dataclass(frozen=True, slots=True)
class Proposal:
    """All processes with their cards and sizes. The gateway admits one question a vLLM sequence."""

    file: PlacementFile
    deadline_ms: int
    layout: Layout
    vlm: VlmSizes

    @property
    def vlm_sequences(self) -> int:
        """Sequences of all replicas together."""
        return self.vlm.sequences * self.file.vlm.replicas

    def parts(self, card: int) -> dict[str, float]:
        """Return the GB of a card by process, then of CUDA contexts, headroom and free memory."""
        node, names = self.file.node, self.layout.on(card)
        parts = {VLM: self.vlm.share * node.memory_gb} if card in self.layout.vlm else {}
        contexts = len(parts) * node.context_gb
        for name in names:
            own = node.context_gb * self.file.placed[name].replicas
            parts[name] = service_gb(self.file, name) - own
            contexts += own
        parts |= {"CUDA contexts": contexts, "headroom": node.headroom_gb}
        return parts | {"free": max(0.0, node.memory_gb - sum(parts.values()))}

    def memory_mib(self, service: str) -> int:
        """Return one replica's part of its card."""
        return int(service_share(self.file, service) * self.file.node.memory_gb * 1e9 / 2**20)


def propose(file: PlacementFile, cards: int, deadline_ms: int) -> Proposal:
    """Place everything and size the model server. Raises `WrongSettings`, `DoesNotFit`."""
    file.require_cards(cards)
    least, given = least_gb(file.vlm.chosen), (file.vlm.share or 1) * file.node.memory_gb
    if file.vlm.share is not None and given < least:
        raise DoesNotFit(f"vlm.share is {given:.1f} GB; {file.vlm.preset} needs {least:.1f} GB to start.")
    try:
        layout = pack(file, cards)
    except DoesNotFit as error:
        raise DoesNotFit(
            f"{file.vlm.preset} and the services do not fit: {error}{_help(file, cards)}."
        ) from error
    left_gb = min(
        file.node.usable_gb - file.node.context_gb - sum(service_gb(file, name) for name in layout.on(card))
        for card in layout.vlm
    )  # on the fullest card: all replicas are started alike
    return Proposal(file, deadline_ms, layout, vlm_sizes(file, left_gb))


def _help(file: PlacementFile, cards: int) -> str:
    """Return the presets and the count of cards that would fit, if any."""
    others = {
        preset: file.model_copy(update={"vlm": file.vlm.model_copy(update={"preset": preset})})
        for preset in PRESETS
    }
    fitting = [preset for preset, changed in others.items() if _fits(changed, cards)]
    if _fits(file, cards + 1):
        fitting.append(f"{cards + 1} cards")
    return f"; {' or '.join(fitting)} would fit" if fitting else ""


def _fits(file: PlacementFile, cards: int) -> bool:
    try:
        pack(file, cards)
    except DoesNotFit:
        return False
    return True
