"""Choose a card for each process: for the model server first, then for the small models by size.

First-fit decreasing needs at most 11/9 of the fewest cards, and one more (Johnson, 1973).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capacity.memory import least_gb, service_gb, share_for
from capacity.node_file import PlacementFile
from chassis.startup import WrongSettings

VLM = "vlm"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Layout:
    """`services`: card of each small model, None on the CPU. `vlm`: the model server's card."""

    services: Mapping[str, int | None]
    vlm: int

    def on(self, card: int) -> list[str]:
        """Return the small models of a card."""
        return [name for name, place in self.services.items() if place == card]


class DoesNotFit(WrongSettings):
    """The cards are too few or too small."""


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
    """Take `gb` of the first card of `order` that has room, or of the one that has most left."""
    fits = (card for card in order if gb <= left[card] + _ROUNDING)
    card = next(fits, max(order, key=lambda card: left[card]))
    left[card] -= gb
    return card
