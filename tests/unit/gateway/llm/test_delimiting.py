"""Evidence in a prompt, and quotes and choices in its reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.answer import CitationKind
from gateway.llm.delimiting import CLOSE, evidence_blocks, fence, harmless
from gateway.llm.reading import LONGEST, printed_quotes, source_of
from gateway.llm.reasoner import NAMED_BY_MODEL, select_entity
from gateway.state import Entity, Evidence, PhotoText, Query, Quote, Turn
from tests.unit.gateway.llm.stage import ASK, FOLLOW_UP, PHOTO, draft, page, printed

WIDE = 10_000


def test_pieces_are_numbered_in_order_and_headed_by_their_kind() -> None:
    print_, memory = CitationKind.PHOTO, CitationKind.MEMORY
    pieces = [
        page("First.", "A"),
        Evidence("OPEN", "The photo", "", print_),
        Evidence("Old", "Door", "", memory),
    ]
    lines = evidence_blocks(pieces, WIDE).text.splitlines()
    assert lines[1:3] == ["<<<piece 1, page: A>>>", "First."]
    assert lines[4:6] == ["<<<piece 2, print in the photo>>>", "OPEN"]
    assert lines[7:9] == ["<<<piece 3, what the user saw before: Door>>>", "Old"]


def test_piece_numbers_resolve_only_if_valid() -> None:
    shown = evidence_blocks([page("  "), page("One."), page("Two.")], WIDE)
    assert shown.indices([2, 1, 2, 0, 3, -1]) == (2, 1)
    assert evidence_blocks([page("  ")], WIDE).text == evidence_blocks([], WIDE).text


def test_evidence_is_cut_at_a_sentence_to_its_budget() -> None:
    sentence = "The tower has forty-two steps and a bell. "
    shown = evidence_blocks([page(sentence * 100)], WIDE, 1_000, 200)
    assert shown.text.splitlines()[2] == (sentence * 4).strip()


def test_pieces_that_do_not_fit_are_skipped() -> None:
    pieces = [page("a" * 90 + "."), page("b" * 400 + "."), page("Short.")]
    shown = evidence_blocks(pieces, WIDE, 100, 100)
    assert shown.places == (0, 2)


@given(st.lists(st.text(max_size=600), max_size=20))
def test_the_budget_holds_for_any_text(texts: list[str]) -> None:
    shown = evidence_blocks([page(text) for text in texts], WIDE, 700, 200)
    assert len(shown.text) <= 700 + 60 * len(texts) + 30


@given(st.text(alphabet="<>end|/[]INST \n", max_size=80))
def test_piece_text_cannot_close_its_fence(text: str) -> None:
    block = fence(f"page {text}", f"x{text}")
    assert block.count(CLOSE) == 1
    assert block.endswith(CLOSE)
    assert block.count("<<<") == 2


@pytest.mark.parametrize("text", ["3 < 5 and 7 > 2", "x<=4", "5<7", "1 -> 2", "I ♥ NY"])
def test_hidden_characters_do_not_reach_the_model_and_mathematical_signs_do(text: str) -> None:
    assert harmless(text) == text
    assert harmless(f"{text}\u200b\u202e \U000e0041.\x00") == f"{text} . "


TOWER = page("Belém Tower stands in Lisbon. It was built between 1514 and 1519. Entry is paid.")
OTHER = page("The tram runs daily. Its fare is low.")
BUILT = "It was built between 1514 and 1519."


@pytest.mark.parametrize(
    ("answer", "shown", "source"),
    [
        ("Belém Tower was built from 1514 to 1519.", [0, 1], Quote(1, BUILT)),
        ("The tram runs daily to Belém Tower.", [0, 1], Quote(0, "The tram runs daily.")),
        ("The tower was designed by Francisco de Arruda.", [1], None),
        (BUILT, [0], None),
        ("Yes.", [0, 1], None),
    ],
    ids=["nearest sentence", "first of equals", "faint likeness", "evidence not shown", "shares nothing"],
)
def test_the_source_is_the_sentence_with_most_of_the_answer(
    answer: str, shown: list[int], source: Quote | None
) -> None:
    assert source_of(answer, [OTHER, TOWER], shown) == source


@given(st.text(max_size=200), st.lists(st.text(max_size=900), max_size=4))
def test_source_sentence_is_part_of_its_evidence(answer: str, texts: list[str]) -> None:
    source = source_of(answer, [page(text) for text in texts], range(len(texts)))
    if source is not None:
        assert source.text
        assert source.text in texts[source.index]
        assert len(source.text) <= LONGEST


def test_printed_lines_that_the_answer_repeats_are_its_quotes() -> None:
    read = printed("FLAT WHITE 3.20", "FILTER 2.80", "—")
    assert printed_quotes("A flat white costs 3.20.", read) == ("FLAT WHITE 3.20",)


SILENT = PhotoText()
FIAT = Entity("Fiat 500", 0.7, (("maker", "Fiat"), ("type", "car")))
MINI = Entity("Mini Cooper", 0.8, (("type", "car"),))
BEAGLE = Entity("Beagle", 0.71, (("type", "dog"),))
SURE = Entity("Mini Cooper", 0.95)
UNLIKELY = Entity("Mini Cooper", 0.3)
PANDA = Entity("Fiat Panda", NAMED_BY_MODEL)
NEW_PHOTO = Query("What is this?", PHOTO, True, (Turn("?", "A Fiat 500.", False, Entity("Fiat 500", 0.9)),))
NAMED = Query("How long is the Fiat 500?", PHOTO)
CHOICES = {
    "the model's candidate beats a likelier one": (ASK, "Fiat 500", [MINI, FIAT], SILENT, FIAT),
    "an article in the name": (ASK, "the Fiat 500", [FIAT], SILENT, FIAT),
    "a year behind the name": (ASK, "Fiat 500 (2007)", [FIAT], SILENT, FIAT),
    "a maker is not its model": (ASK, "Fiat", [FIAT], SILENT, Entity("Fiat", NAMED_BY_MODEL)),
    "the model's own name without a proven candidate": (ASK, "Fiat Panda", [MINI], SILENT, PANDA),
    "print overrules the model": (ASK, "Fiat Panda", [FIAT, MINI], printed("Fiat 500", "Lounge"), FIAT),
    "a nearly certain candidate overrules the model": (ASK, "Fiat Panda", [SURE], SILENT, SURE),
    "print contradicts a candidate": (ASK, None, [MINI], printed("Welcome to Fiat of Turin"), None),
    "the likeliest candidate": (ASK, None, [FIAT, MINI], SILENT, MINI),
    "the kind decides among near equals": (ASK, None, [BEAGLE, FIAT], SILENT, FIAT),
    "an unlikely candidate": (ASK, None, [UNLIKELY], SILENT, None),
    "the question's own name": (NAMED, "Fiat 500", [FIAT], SILENT, Entity("Fiat 500", 1.0, FIAT.attributes)),
    "the question's own name without candidates": (NAMED, "Fiat 500", [], SILENT, Entity("Fiat 500", 1.0)),
    "a follow-up": (FOLLOW_UP, None, [], SILENT, FOLLOW_UP.remembered),
    "a new photo drops the remembered entity": (NEW_PHOTO, None, [], SILENT, None),
    "nothing to go by": (ASK, None, [], SILENT, None),
}


@pytest.mark.parametrize(("ask", "named", "candidates", "text", "chosen"), CHOICES.values(), ids=CHOICES)
def test_the_entity_is_selected(
    ask: Query, named: str | None, candidates: list[Entity], text: PhotoText, chosen: Entity | None
) -> None:
    assert select_entity(ask, draft(entity=named), candidates, text) == chosen
