"""Passages of pages as evidence."""

from gateway.clients.services import Passage
from gateway.steps.conclusion import cite
from gateway.steps.evidence import page_evidence


def texts(text: str) -> list[str]:
    return [item.text for item in page_evidence(Passage(text, "A page", "https://a.example", None))]


def test_a_word_without_end_is_cut_and_the_words_around_it_stay() -> None:
    (only,) = texts(f"The tower {'x' * 10_000} was built in 1987.")
    assert only == f"The tower {'x' * 200} was built in 1987."


def test_long_addresses_stay_whole() -> None:
    address = "https://a.example/" + "path/" * 30
    assert texts(f"See {address} for more.") == [f"See {address} for more."]


def test_a_page_without_words_is_no_evidence() -> None:
    assert texts(" \n ") == []


def test_a_citation_names_the_page_and_section_of_its_quote() -> None:
    opening = " ".join(f"Fact {number} of the dome is this." for number in range(40))
    text = f"{opening}\npage 2 › Opening hours\nIt opens at nine.\npage 3\nAdults pay five pounds."
    sections = ("page 2 › Opening hours", "page 3")
    evidence = list(page_evidence(Passage(text, "Visiting St Paul's", "file:visit.pdf", None, sections)))
    titles = {
        quote: cite(next(each for each in evidence if quote in each.text), quote).title
        for quote in ("Fact 1 of", "opens at nine", "five pounds")
    }
    assert titles == {
        "Fact 1 of": "Visiting St Paul's",
        "opens at nine": "Visiting St Paul's, page 2, Opening hours",
        "five pounds": "Visiting St Paul's, page 3",
    }


def test_a_chunk_that_begins_inside_a_section_knows_it() -> None:
    facts = " ".join(f"Fact {number} of the dome is this." for number in range(60))
    evidence = list(page_evidence(Passage(f"History\n{facts}", "Dome", "file:a.pdf", None, ("History",))))
    assert len(evidence) > 2
    assert {each.section_at(0) for each in evidence[1:]} == {"History"}
