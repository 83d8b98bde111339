"""Cut pages into self-contained passages of limited length."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from chassis.tokens import count_tokens
from corpus.chunking import ChunkLimits, cut_page
from corpus.pages import Block, BlockKind, Page
from tests.unit.corpus.formats.documents import passages


def heading(text: str, level: int = 2) -> Block:
    return Block(BlockKind.HEADING, (text,), level)


def paragraph(*sentences: str) -> Block:
    return Block(BlockKind.PARAGRAPH, (" ".join(sentences),))


def page(*blocks: Block) -> Page:
    return Page("https://a.example/b", "The mill", blocks)


def test_a_short_page_is_one_passage_with_its_headings() -> None:
    river, fire = paragraph("It stands by the river."), paragraph("It burned in 1820.")
    hours = Block(BlockKind.LIST, ("Closed on Monday", "Free on Friday"))
    history = (heading("History"), heading("Fire", 3), fire)
    assert passages(page(heading("The mill", 1), river, *history, heading("Today"), hours)) == [
        "It stands by the river.\nHistory › Fire\nIt burned in 1820.\nToday\nClosed on Monday\nFree on Friday"
    ]


def test_every_passage_of_a_cut_section_names_its_headings() -> None:
    sentences = [f"Fact number {number} of the mill is this." for number in range(30)]
    chunks = passages(page(heading("History"), paragraph(*sentences)), ChunkLimits(most=64, overlap=12))
    assert len(chunks) > 3
    assert all(chunk.startswith("History\n") for chunk in chunks)


def test_a_cut_section_repeats_the_sentence_before_the_cut() -> None:
    sentences = [f"Fact {number} is short." for number in range(40)]
    chunks = passages(page(paragraph(*sentences)), ChunkLimits(most=50, overlap=8))
    for before, after in itertools.pairwise(chunks):
        assert after.startswith(before.rsplit(". ", 1)[-1])


def test_sections_do_not_overlap() -> None:
    first, second = paragraph(*["One more word here."] * 9), paragraph(*["Another word there."] * 9)
    chunks = passages(page(heading("A"), first, heading("B"), second), ChunkLimits(most=50, overlap=10))
    assert chunks[1].startswith("B\nAnother")


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=80)
LINES = st.lists(WORDS | st.sampled_from([".", "mill.", "東京タワー"]), min_size=1, max_size=60).map(" ".join)
BLOCKS = st.one_of(
    st.builds(heading, LINES, st.integers(1, 6)),
    st.builds(paragraph, LINES),
    st.builds(Block, st.just(BlockKind.LIST), st.lists(LINES, min_size=1, max_size=4).map(tuple)),
)


@given(st.lists(BLOCKS, max_size=8))
def test_passages_are_bounded_and_keep_every_word(blocks: list[Block]) -> None:
    limits = ChunkLimits(most=60, overlap=10)
    chunks = passages(page(*blocks), limits)
    assert all(0 < count_tokens(chunk) <= limits.most for chunk in chunks)
    text = "".join("".join(chunks).split())
    for block in blocks:
        if block.kind is not BlockKind.HEADING:
            for line in block.lines:
                assert all(word[:60] in text for word in line.split())


def test_tokens_are_estimated_from_above() -> None:
    assert count_tokens("The mill burned, in 1820.") == 7
    assert count_tokens("incomprehensibilities") == 4
    assert count_tokens("東京タワー") == 5


def test_a_passage_names_the_pages_and_sections_of_its_text() -> None:
    blocks = [
        Block(BlockKind.PARAGRAPH, ("It stands by the river.",), page=1),
        Block(BlockKind.HEADING, ("Opening hours",), 2, 1),
        Block(BlockKind.PARAGRAPH, ("Nine to five.",), page=1),
        Block(BlockKind.PARAGRAPH, ("Closed on Monday.",), page=2),
    ]
    [passage] = cut_page(page(*blocks))
    assert passage.text == (
        "page 1\nIt stands by the river.\npage 1 › Opening hours\nNine to five."
        "\npage 2 › Opening hours\nClosed on Monday."
    )
    assert passage.sections == ("page 1", "page 1 › Opening hours", "page 2 › Opening hours")
