"""What the baselines show of what they found: a prefix of it, never more than the budgets hold."""

from hypothesis import given
from hypothesis import strategies as st

from contracts.answer import CitationKind
from gateway.pipelines.baselines.retrieved import Retrieved
from gateway.state import Entity, Evidence

TEXT = st.text(alphabet=st.sampled_from("ab. \n"), max_size=400)
NAMES = st.lists(st.text(min_size=1, max_size=150), max_size=6)
PIECES = st.lists(st.tuples(TEXT, st.text(max_size=150)), max_size=6)
BUDGET = st.integers(0, 2_000)


def retrieved(names: list[str], records: list[tuple[str, str]], pages: list[tuple[str, str]]) -> Retrieved:
    return Retrieved(
        tuple(Entity(name, 0.9) for name in names),
        tuple(Evidence(text, title, "", CitationKind.IMAGE) for text, title in records),
        tuple(Evidence(text, title, "", CitationKind.PAGE) for text, title in pages),
    )


@given(NAMES, PIECES, PIECES, BUDGET, BUDGET)
def test_no_budget_is_overdrawn_and_the_order_is_kept(
    names: list[str], records: list[tuple[str, str]], pages: list[tuple[str, str]], image: int, web: int
) -> None:
    whole = retrieved(names, records, pages)
    kept = whole.within(image, web)
    assert kept.image_chars <= image
    assert kept.page_chars <= web
    assert kept.things == whole.things[: len(kept.things)]
    for shown, all_of_it in ((kept.records, whole.records), (kept.pages, whole.pages)):
        assert shown[:-1] == all_of_it[: max(0, len(shown) - 1)]
        if shown:
            assert shown[-1].text in all_of_it[len(shown) - 1].text


@given(NAMES, PIECES, PIECES)
def test_a_budget_that_holds_it_all_keeps_it_all(
    names: list[str], records: list[tuple[str, str]], pages: list[tuple[str, str]]
) -> None:
    whole = retrieved(names, records, pages)
    assert whole.within(whole.image_chars, whole.page_chars) == whole


def test_names_go_before_what_is_known_of_them() -> None:
    whole = retrieved(["a" * 90, "b" * 90], [("About a. " * 30, "a"), ("About b.", "b")], [])
    kept = whole.within(400, 0)
    assert [thing.name[0] for thing in kept.things] == ["a", "b"]
    assert len(kept.records) == 1


def test_a_piece_is_cut_at_a_sentence() -> None:
    whole = retrieved(
        [], [], [("One sentence that is long enough to be kept, all of it, as it is. " * 3, "")]
    )
    (piece,) = whole.within(0, 190).pages
    assert piece.text.endswith("as it is.")


def test_of_one_endless_sentence_its_beginning_is_kept() -> None:
    (piece,) = retrieved([], [], [("word " * 100, "")]).within(0, 200).pages
    assert 100 < len(piece.text) <= 160
