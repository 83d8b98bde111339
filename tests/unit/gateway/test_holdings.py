"""Whose things go when a store is full: never those of a tenant that holds little."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gateway.serving.holdings import Allowance, Holdings


def test_a_flood_pushes_out_its_own_and_nobody_elses() -> None:
    holdings = Holdings[str](Allowance(count=10))
    assert holdings.add("quiet", "mine", 1) == []
    gone = [key for number in range(1_010) for key in holdings.add("noisy", f"flood {number}", 1)]
    assert gone == [f"flood {number}" for number in range(1_001)]


def test_beyond_its_own_allowance_a_tenant_gives_its_oldest_although_there_is_room() -> None:
    holdings = Holdings[int](Allowance(), lambda _: Allowance(count=2, size=10))
    assert [holdings.add("acme", number, 4) for number in (1, 2, 3)] == [[], [], [1]]
    holdings.use("acme", 2)
    assert holdings.add("acme", 4, 7) == [3, 2]
    assert holdings.add("acme", 5, 99) == [4]  # what has just come stays
    assert holdings.size == 99


def test_what_is_held_again_counts_once() -> None:
    holdings = Holdings[int](Allowance(size=10))
    for _ in range(5):
        assert holdings.add("acme", 1, 6) == []
    holdings.remove("acme", 1)
    holdings.remove("acme", 1)
    assert holdings.size == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40)), max_size=60))
def test_it_stays_within_its_bounds_and_who_holds_less_than_a_share_loses_nothing(
    came: list[tuple[str, int]],
) -> None:
    holdings, held = Holdings[int](Allowance(9, 150)), dict[int, tuple[str, int]]()
    for number, (tenant, size) in enumerate(came):
        held[number] = tenant, size
        counts, sizes = Counter(name for name, _ in held.values()), Counter[str]()
        for name, each in held.values():
            sizes[name] += each
        for key in holdings.add(tenant, number, size):
            owner, _ = held.pop(key)
            assert counts[owner] > 3 or sizes[owner] > 50
        assert len(held) <= 9
        assert holdings.size == sum(each for _, each in held.values()) <= 150
