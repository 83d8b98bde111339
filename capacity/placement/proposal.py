"""The whole plan of a node: the better of the two packings, and the limits that follow from it."""

from dataclasses import dataclass

from capacity.placement.demand import Demand, Expectation, busy_ms, demands, mixed, per_second
from capacity.placement.memory import VlmMemory, least_gb, service_share, share_of, small_gb, vlm_memory
from capacity.placement.node_file import PlacementFile
from capacity.placement.packing import VLM, DoesNotFit, Layout, Manner, pack
from services.vlm.presets import PRESETS

DEADLINE_SHARE = 2 / 3
"""Of the deadline, what the mean question may take under full load: some take longer."""
_MOST_IN_FLIGHT = 256


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of a card, GB, for its picture."""

    name: str
    gb: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """What runs where, and how much is let in. `expected` by route, at `in_flight`; `mix`: all traffic."""

    file: PlacementFile
    deadline_ms: int
    layout: Layout
    vlm: VlmMemory
    in_flight: int
    expected: tuple[Expectation, ...]
    mix: Expectation

    @property
    def vlm_sequences(self) -> int:
        """Of all replicas together."""
        return self.vlm.sequences * self.file.vlm.replicas

    def slices(self, card: int) -> list[Slice]:
        """How a card is cut, contexts and headroom last; what is over is free."""
        node = self.file.node
        small = self.layout.on(card)
        processes = sum(self.file.placed[name].replicas for name in small)
        parts = []
        if card in self.layout.vlm:
            processes += 1
            parts.append(Slice(VLM, share_of(self.vlm.share, node)))
        for name in small:
            parts.append(
                Slice(name, small_gb(self.file, name) - node.context_gb * self.file.placed[name].replicas)
            )
        parts.append(Slice("CUDA contexts", processes * node.context_gb))
        parts.append(Slice("headroom", node.headroom_gb))
        return [part for part in parts if part.gb > 0]

    def memory_mib(self, service: str) -> int:
        """Of its card, one replica: each reports its own."""
        return int(share_of(service_share(self.file, service), self.file.node) * 1e9 / 2**20)


def propose(file: PlacementFile, cards: int, deadline_ms: int) -> Proposal:
    """The packing with the most questions a second; beside the model server where both are equal.

    Raises `DoesNotFit` with one sentence that says what would help.
    """
    for entry, gpu in file.pinned().items():
        if gpu >= cards:
            raise DoesNotFit(f"{entry}.gpu is {gpu}; with {_cards(cards)} the last is GPU {cards - 1}.", 0.0)
    _require_share(file)
    found: list[Proposal] = []
    refused: list[DoesNotFit] = []
    for manner in Manner:
        try:
            found.append(_proposal(file, pack(file, cards, manner), deadline_ms))
        except DoesNotFit as error:
            refused.append(error)
    if not found:
        least = min(refused, key=lambda error: error.missing_gb)
        raise DoesNotFit(
            f"{file.vlm.preset} and the services do not fit on {_cards(cards)}: {least}{_help(file, cards)}.",
            least.missing_gb,
        )
    return max(found, key=lambda proposal: round(proposal.mix.per_s, 6))


def _require_share(file: PlacementFile) -> None:
    """A share of the model server's that was asked for must let it start."""
    share, least = file.vlm.share, least_gb(file.vlm.chosen)
    if share is not None and share_of(share, file.node) < least:
        raise DoesNotFit(
            f"vlm.share is {share:g}, {share_of(share, file.node):.1f} GB of a card, and {file.vlm.preset} "
            f"needs {least:.1f} GB to start.",
            least - share_of(share, file.node),
        )


def _proposal(file: PlacementFile, layout: Layout, deadline_ms: int) -> Proposal:
    each = demands(file)
    mean = mixed(file, each)
    most = file.vlm.sequences or file.vlm.chosen.most_sequences
    room = _vlm_memory(file, layout, most).sequences
    in_flight = _in_flight(file, layout, mean, room, deadline_ms)
    vlm = _vlm_memory(file, layout, min(room, -(-in_flight // file.vlm.replicas)))
    return Proposal(
        file,
        deadline_ms,
        layout,
        vlm,
        in_flight,
        tuple(_expectation(file, layout, name, demand, in_flight, vlm) for name, demand in each.items()),
        _expectation(file, layout, "all traffic", mean, in_flight, vlm),
    )


def _vlm_memory(file: PlacementFile, layout: Layout, sequences: int) -> VlmMemory:
    """On the fullest of its cards: all replicas are started alike."""
    left = min(
        file.node.usable_gb - file.node.context_gb - sum(small_gb(file, name) for name in layout.on(card))
        for card in layout.vlm
    )
    return vlm_memory(file.vlm.chosen, left, file.node, sequences, file.vlm.share)


def _in_flight(file: PlacementFile, layout: Layout, mean: Demand, sequences: int, deadline_ms: int) -> int:
    """The most at once that leave the mean question its share of the deadline; at least one a replica."""
    allowed = deadline_ms * DEADLINE_SHARE
    at_once = file.vlm.replicas
    while at_once < _MOST_IN_FLIGHT and busy_ms(file, layout, mean, at_once + 1, sequences) <= allowed:
        at_once += 1
    return at_once


def _expectation(
    file: PlacementFile, layout: Layout, name: str, demand: Demand, in_flight: int, vlm: VlmMemory
) -> Expectation:
    batch = max(1.0, min(in_flight / file.vlm.replicas, float(vlm.sequences)))
    return Expectation(
        name,
        demand.idle_ms,
        busy_ms(file, layout, demand, in_flight, vlm.sequences),
        per_second(file, layout, demand, batch),
        demand.calls,
    )


def _help(file: PlacementFile, cards: int) -> str:
    """The smallest change that would make it fit, if there is one."""
    ways = [
        f"preset {name}" for name in PRESETS if name != file.vlm.preset and _fits(file, cards, preset=name)
    ]
    if _fits(file, cards + 1):
        ways.append(_cards(cards + 1))
    return f"; {' or '.join(ways)} would do" if ways else ""


def _fits(file: PlacementFile, cards: int, preset: str | None = None) -> bool:
    changed = file
    if preset:
        changed = file.model_copy(update={"vlm": file.vlm.model_copy(update={"preset": preset})})
    for manner in Manner:
        try:
            pack(changed, cards, manner)
        except DoesNotFit:
            continue
        return True
    return False


def _cards(count: int) -> str:
    return "1 card" if count == 1 else f"{count} cards"
