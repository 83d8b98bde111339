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
    """`services`: card of each small model, None on the CPU. `vlm`: the card of each replica."""

    cards: int
    services: Mapping[str, int | None]
    vlm: tuple[int, ...]

    def on(self, card: int) -> list[str]:
        """Return the small models of a card."""
        return [name for name, place in self.services.items() if place == card]


class DoesNotFit(WrongSettings):
    """The cards are too few or too small."""


def pack(file: PlacementFile, cards: int) -> Layout:
    """Place everything: small models first on the cards without a model server. Raises `DoesNotFit`."""
    left = [file.node.usable_gb] * cards
    placed: dict[str, int | None] = {}
    pinned = {name: each.gpu for name, each in file.placed.items() if isinstance(each.gpu, int)}
    for name, card in pinned.items():
        placed[name] = _take(left, service_gb(file, name), [card])
    vlm = _place_vlm(file, left)
    order = [*(card for card in range(cards) if card not in vlm), *reversed(vlm)]
    waiting = [name for name, each in file.placed.items() if each.on_card and name not in pinned]
    for name in sorted(waiting, key=lambda name: -service_gb(file, name)):
        placed[name] = _take(left, service_gb(file, name), order)
    missing = -min(left)
    if missing > _ROUNDING:
        raise DoesNotFit(
            f"GPU {left.index(min(left))} has {file.node.usable_gb:.1f} GB without its headroom, "
            f"{missing:.1f} GB too little"
        )
    return Layout(cards, {name: placed.get(name) for name in file.placed}, vlm)


def _place_vlm(file: PlacementFile, left: list[float]) -> tuple[int, ...]:
    """Give each replica a card and the least that it needs; later it gets what the others leave."""
    node, vlm = file.node, file.vlm
    if vlm.replicas > len(left):
        raise DoesNotFit("vlm.replicas is more than there are cards")
    share = share_for(least_gb(vlm.chosen), node) if vlm.share is None else vlm.share
    cards: list[int] = []
    for _ in range(vlm.replicas):
        where = [vlm.gpu] if isinstance(vlm.gpu, int) else range(len(left))
        free = [card for card in where if card not in cards]
        cards.append(_take(left, share * node.memory_gb + node.context_gb, free))
    return tuple(cards)


def _take(left: list[float], gb: float, order: Sequence[int]) -> int:
    """Take `gb` of the first card of `order` that has room, or of the one that has most left."""
    fits = (card for card in order if gb <= left[card] + _ROUNDING)
    card = next(fits, max(order, key=lambda card: left[card]))
    left[card] -= gb
    return card
