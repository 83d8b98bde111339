"""Quotes are verbatim sentences of the evidence, found by what the answer says."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.llm.quoting import LONGEST, printed_quotes, quotes
from gateway.state import Quote
from tests.unit.gateway.llm.stage import page, printed

TOWER = page("Belém Tower stands in Lisbon. It was built between 1514 and 1519. Entry is paid.")
OTHER = page("The tram runs daily. Its fare is low.")


def test_the_sentence_of_a_cited_piece_that_shares_most_with_the_answer_is_quoted() -> None:
    found = quotes("Belém Tower was built from 1514 to 1519.", "", [OTHER, TOWER], [1], [0, 1])
    assert found == (Quote(1, "It was built between 1514 and 1519."),)


def test_the_reason_decides_where_the_answer_does_not() -> None:
    found = quotes("Yes.", "Entry is paid for.", [TOWER], [0], [0])
    assert found == (Quote(0, "Entry is paid."),)


def test_a_cited_piece_that_shares_nothing_is_not_quoted() -> None:
    assert quotes("It weighs 3 kg.", "Piece 1 says so.", [OTHER], [0], [0]) == ()


def test_each_cited_piece_gives_one_quote() -> None:
    found = quotes("The tram runs daily to Belém Tower.", "", [TOWER, OTHER], [0, 1], [0, 1])
    assert [quote.index for quote in found] == [0, 1]


def test_without_citation_the_sentence_that_has_the_answer_is_quoted() -> None:
    found = quotes("It was built between 1514 and 1519.", "", [OTHER, TOWER], [], [0, 1])
    assert found == (Quote(1, "It was built between 1514 and 1519."),)


def test_without_citation_a_faint_likeness_is_not_enough() -> None:
    assert quotes("The tower was designed by Francisco de Arruda.", "", [TOWER], [], [0]) == ()


def test_what_was_not_shown_is_not_quoted() -> None:
    assert quotes("It was built between 1514 and 1519.", "", [OTHER, TOWER], [], [0]) == ()


@given(st.text(max_size=200), st.text(max_size=200), st.lists(st.text(max_size=900), max_size=4))
def test_every_quote_stands_in_its_evidence(answer: str, reason: str, texts: list[str]) -> None:
    evidence = [page(text) for text in texts]
    places = range(len(evidence))
    for cited in ([], list(places)):
        for quote in quotes(answer, reason, evidence, cited, list(places)):
            assert quote.text
            assert quote.text in evidence[quote.index].text
            assert len(quote.text) <= LONGEST


def test_printed_lines_that_the_answer_repeats_are_its_quotes() -> None:
    read = printed("FLAT WHITE 3.20", "FILTER 2.80", "—")
    assert printed_quotes("A flat white costs 3.20.", read) == ("FLAT WHITE 3.20",)
