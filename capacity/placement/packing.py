"""Which card everything is on: the model server first, then the small models by size, where they first fit.

First-fit decreasing never needs more than 11/9 of the fewest cards, and one more (Johnson, 1973).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from capacity.placement.memory import least_gb, share_for, share_of, small_gb
from capacity.placement.node_file import PlacementFile
from chassis.startup import WrongSettings

VLM = "vlm"
_ROUNDING = 1e-9


class Manner(StrEnum):
    """Where small models are put first: on the model server's card, or on those that it leaves free."""

    BESIDE = "beside"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Layout:
    """`services`: card of each small model, None on the CPU. `vlm`: the card of each replica."""

    cards: int
    services: Mapping[str, int | None]
    vlm: tuple[int, ...]

    def on(self, card: int) -> list[str]:
        """The small models of a card."""
        return [name for name, place in self.services.items() if place == card]


class DoesNotFit(WrongSettings):
    """The cards are too few or too small. `missing_gb`: how much is, on the card that lacks most."""

    def __init__(self, sentence: str, missing_gb: float) -> None:
        super().__init__(sentence)
        self.missing_gb = missing_gb


def pack(file: PlacementFile, cards: int, manner: Manner) -> Layout:
    """A place for everything. Raises `DoesNotFit`."""
    room = _Room(file.node.usable_gb, cards)
    pinned = {name: each.gpu for name, each in file.placed.items() if isinstance(each.gpu, int)}
    for name, card in pinned.items():
        room.take(small_gb(file, name), [card])
    vlm = _place_vlm(file, room)
    free = [card for card in range(cards) if card not in vlm]
    order = [*free, *reversed(vlm)] if manner is Manner.APART else [*vlm, *free]
    placed: dict[str, int | None] = dict(pinned)
    waiting = [name for name, each in file.placed.items() if each.on_card and name not in pinned]
    for name in sorted(waiting, key=lambda name: -small_gb(file, name)):
        placed[name] = room.take(small_gb(file, name), order)
    room.require()
    return Layout(cards, {name: placed.get(name) for name in file.placed}, vlm)


def _place_vlm(file: PlacementFile, room: "_Room") -> tuple[int, ...]:
    """A card for each replica, with the least that it needs; later it gets what the others leave."""
    node, asked = file.node, file.vlm
    share = share_for(least_gb(asked.chosen), node) if asked.share is None else asked.share
    least = share_of(share, node)  # in thousandths of the card, as vLLM will be told
    if asked.replicas > len(room.left):
        raise DoesNotFit("vlm has more replicas than there are cards", least)
    places: list[int] = []
    for _ in range(asked.replicas):
        where = [asked.gpu] if isinstance(asked.gpu, int) else range(len(room.left))
        places.append(room.take(least + node.context_gb, [card for card in where if card not in places]))
    return tuple(places)


class _Room:
    """What is left of each card, GB; less than nothing where more was put than it holds."""

    def __init__(self, each: float, cards: int) -> None:
        self.each = each
        self.left = [each] * cards

    def take(self, gb: float, order: Sequence[int]) -> int:
        """The first card of `order` with room for it, or the one that has the most."""
        card = next((card for card in order if gb <= self.left[card] + _ROUNDING), None)
        if card is None:
            card = max(order, key=lambda card: self.left[card])
        self.left[card] -= gb
        return card

    def require(self) -> None:
        """Raises `DoesNotFit` for the card that lacks most."""
        worst = min(range(len(self.left)), key=lambda card: self.left[card])
        missing = -self.left[worst]
        if missing > _ROUNDING:
            raise DoesNotFit(
                f"GPU {worst} would hold {self.each + missing:.1f} GB and has {self.each:.1f} GB beside its "
                f"headroom: {missing:.1f} GB too little",
                missing,
            )
