"""Order of the queue: shares of priorities, turns of tenants, deadlines within."""

from collections import Counter
from itertools import count, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chassis.resilience.fair_queue import Claim, Entry, FairQueue

SHARES = {"interactive": 8, "standard": 3, "background": 1}
INTERACTIVE, STANDARD, BACKGROUND = SHARES
NUMBERS = count()

RANK = st.sampled_from(list(SHARES))
ENTRIES = st.lists(st.tuples(st.integers(0, 20), st.sampled_from("abc"), RANK), min_size=1, max_size=40)


def entry(due_at: float, tenant: str = "a", rank: str = INTERACTIVE) -> Entry:
    return Entry(due_at, next(NUMBERS), (rank, tenant))


def queue_of(*entries: Entry) -> FairQueue[Entry]:
    queue = FairQueue[Entry](SHARES)
    for each in entries:
        queue.add(each)
    return queue


def serve_one(queue: FairQueue[Entry]) -> Entry:
    """The next gets its place and gives it back."""
    served = queue.first()
    assert served is not None
    queue.take(served)
    queue.release(served.claim)
    return served


def test_priorities_get_eight_three_and_one_of_twelve_places() -> None:
    queue = queue_of(*(entry(number, "a", rank) for rank in SHARES for number in range(24)))
    served = [serve_one(queue).claim[0] for _ in range(24)]
    assert served[0] == INTERACTIVE
    for twelve in (served[:12], served[12:]):
        assert Counter(twelve) == SHARES


def test_idle_priority_saves_no_turns() -> None:
    queue = queue_of(*(entry(number, "a", BACKGROUND) for number in range(30)))
    for _ in range(10):
        serve_one(queue)
    for number in range(30):
        queue.add(entry(number, "a", INTERACTIVE))
    served = [serve_one(queue).claim[0] for _ in range(30)]
    assert [turn for turn, rank in enumerate(served) if rank == BACKGROUND] == [9, 18, 27]


def test_tenant_that_holds_fewest_places_is_next() -> None:
    queue = queue_of(*(entry(number, tenant) for tenant in "ab" for number in range(6)))
    for _ in range(3):
        queue.hold((INTERACTIVE, "a"))
    tenants = []
    for _ in range(5):
        first = queue.first()
        assert first is not None
        queue.take(first)
        tenants.append(first.claim[1])
    assert tenants[:3] == ["b", "b", "b"]
    assert sorted(tenants[3:]) == ["a", "b"]


def test_new_tenants_do_not_overtake_one_that_waits() -> None:
    """Each newcomer holds nothing and comes with an earlier deadline."""
    queue = queue_of(entry(0, "waits"), entry(1_000, "waits"))
    assert serve_one(queue).claim[1] == "waits"
    names = (f"newcomer {number}" for number in count())
    for name in islice(names, 5):
        queue.add(entry(1, name))
    served = []
    for name in islice(names, 20):
        served.append(serve_one(queue).claim[1])
        queue.add(entry(1, name))
    assert served.index("waits") <= 6


@given(ENTRIES)
def test_entries_of_a_tenant_are_served_by_deadline(arrivals: list[tuple[int, str, str]]) -> None:
    queue = queue_of(*(entry(*each) for each in arrivals))
    served = [serve_one(queue) for _ in arrivals]
    assert queue.first() is None
    assert len(queue) == 0
    for rank in SHARES:
        for tenant in "abc":
            own = [each for each in served if each.claim == (rank, tenant)]
            assert own == sorted(own)


@settings(max_examples=50)
@given(st.integers(1, 4), st.integers(1, 5))
def test_waiting_time_is_bounded_by_the_share(places: int, tenants: int) -> None:
    names = [f"tenant {number}" for number in range(tenants)]
    waiting = [entry(0, name, rank) for name in names for rank in SHARES]
    queue = queue_of(*waiting)
    held: list[Claim] = []
    served: set[Entry] = set()
    for _ in range(places + 12 * tenants):
        if len(held) == places:
            queue.release(held.pop(0))
        first = queue.first()
        assert first is not None
        queue.take(first)
        held.append(first.claim)
        served.add(first)
        queue.add(entry(1, first.claim[1], first.claim[0]))
    assert served >= set(waiting)


@pytest.mark.parametrize(
    ("newcomer", "turn", "held"),
    [
        (entry(99), 11, 0),
        (entry(0), 1, 0),
        (entry(99, "quiet"), 2, 0),
        (entry(99, "quiet"), 4, 2),
        (entry(99, "a", STANDARD), 1 + 8 / 3, 0),
        (entry(99, "a", BACKGROUND), 9, 0),
    ],
)
def test_expected_turn_depends_on_deadline_tenant_priority_and_held_places(
    newcomer: Entry, turn: float, held: int
) -> None:
    queue = queue_of(*(entry(number + 1) for number in range(10)))
    for _ in range(held):
        queue.hold(newcomer.claim)
    assert queue.places_until(newcomer) == pytest.approx(turn)


@given(ENTRIES, st.integers(0, 30))
def test_shortened_queue_keeps_the_share_of_every_priority(
    arrivals: list[tuple[int, str, str]], room: int
) -> None:
    queue = queue_of(*(entry(*each) for each in arrivals))
    while len(queue) > room:
        queue.remove(queue.worst(room))
    left = Counter(serve_one(queue).claim[0] for _ in range(len(queue)))
    came = Counter(rank for _, _, rank in arrivals)
    for rank in SHARES:
        assert left[rank] >= min(came[rank], room // 12 * SHARES[rank])
        assert left[rank] >= min(came[rank], room // 3, 1)
