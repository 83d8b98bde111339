"""The pocket verifier's judgement of numbers, dates, names, negation and comparisons."""

import json
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contracts.verifier import CheckName
from services.verifier.engine import Verdict
from services.verifier.engines.pocket import PocketVerifier, load_curve

ENGINE = PocketVerifier()
REFUSED, ACCEPTED = 0.35, 0.6
PLACES = st.sampled_from(["Marburg", "Tartu", "Linz", "Perth", "Ostrava", "Bergen", "Halle", "Cork"])
KINDS = st.sampled_from(["Tower", "Hall", "Bridge", "Kettle", "Lamp", "Radio"])
UNITS = ("kg", "km", "euros", "kcal", "hours", "watts")
MONTHS = ("January", "March", "May", "July", "October", "December")


def verify(question: str, answer: str, *evidence: str, entity: str | None = None) -> Verdict:
    return ENGINE.verify(question, answer, evidence, entity)


def failed(verdict: Verdict) -> set[CheckName]:
    return {check.name for check in verdict.checks if not check.passed}


@st.composite
def measured_facts(draw: st.DrawFn) -> tuple[str, str, int, str]:
    """(sentence, name, number, unit)."""
    name = f"{draw(PLACES)} {draw(KINDS)}"
    number, unit = draw(st.integers(2, 999)), draw(st.sampled_from(UNITS))
    verb = draw(st.sampled_from(["is rated at", "is listed with", "comes with", "stands at"]))
    return f"The {name} {verb} {number} {unit}.", name, number, unit


@st.composite
def dated_facts(draw: st.DrawFn) -> tuple[str, str, int, str, int]:
    """(sentence, name, day, month, year)."""
    name = f"{draw(PLACES)} {draw(KINDS)}"
    day, month, year = draw(st.integers(13, 28)), draw(st.sampled_from(MONTHS)), draw(st.integers(1801, 2020))
    verb = draw(st.sampled_from(["was opened on", "was first shown on", "burned down on"]))
    return f"The {name} {verb} {day} {month} {year}.", name, day, month, year


@given(measured_facts())
@settings(max_examples=40)
def test_an_answer_copied_from_the_evidence_is_supported(fact: tuple[str, str, int, str]) -> None:
    sentence, name, _, _ = fact
    verdict = verify("What do you know about it?", sentence, f"Some history first. {sentence}", entity=name)
    assert verdict.probability > ACCEPTED
    assert not failed(verdict)
    assert verdict.span is not None
    assert f"Some history first. {sentence}"[verdict.span.start : verdict.span.end] == sentence


@given(measured_facts(), st.integers(2, 999))
@settings(max_examples=40)
def test_another_number_is_not_supported(fact: tuple[str, str, int, str], other: int) -> None:
    sentence, name, number, _ = fact
    assume(other != number)
    verdict = verify("What is it?", sentence.replace(f" {number} ", f" {other} "), sentence, entity=name)
    assert verdict.probability < REFUSED
    assert CheckName.NUMBERS in failed(verdict)


@given(measured_facts(), st.sampled_from(UNITS))
@settings(max_examples=40)
def test_another_unit_is_not_supported(fact: tuple[str, str, int, str], other: str) -> None:
    sentence, name, _, unit = fact
    assume(other != unit)
    verdict = verify("What is it?", sentence.replace(unit, other), sentence, entity=name)
    assert verdict.probability < REFUSED
    assert CheckName.NUMBERS in failed(verdict)


@given(dated_facts(), st.integers(1801, 2020), st.sampled_from(MONTHS))
@settings(max_examples=40)
def test_another_date_is_not_supported(
    fact: tuple[str, str, int, str, int], other_year: int, other_month: str
) -> None:
    sentence, name, _, month, year = fact
    assert verify("When was it?", sentence, sentence, entity=name).probability > ACCEPTED
    for changed in (sentence.replace(str(year), str(other_year)), sentence.replace(month, other_month)):
        if changed != sentence:
            verdict = verify("When was it?", changed, sentence, entity=name)
            assert verdict.probability < REFUSED
            assert CheckName.DATES in failed(verdict)


@given(measured_facts(), PLACES)
@settings(max_examples=40)
def test_another_thing_is_not_supported(fact: tuple[str, str, int, str], other: str) -> None:
    sentence, name, _, _ = fact
    assume(other not in name)
    changed = sentence.replace(name.split()[0], other)
    verdict = verify("What is it?", changed, sentence, entity=name)
    assert verdict.probability < 0.4
    assert CheckName.ENTITY in failed(verdict)


@given(
    PLACES,
    KINDS,
    st.sampled_from(["waterproof", "open on Sundays", "suitable for children", "made of steel"]),
)
@settings(max_examples=30)
def test_a_denied_fact_is_not_supported(name: str, kind: str, what: str) -> None:
    sentence, denied = f"The {name} {kind} is {what}.", f"The {name} {kind} is not {what}."
    for answer, evidence in ((sentence, denied), (denied, sentence)):
        verdict = verify("Is it?", answer, evidence, entity=f"{name} {kind}")
        assert verdict.probability < REFUSED
        assert CheckName.NEGATION in failed(verdict)
        assert verify("Is it?", answer, answer, entity=f"{name} {kind}").probability > ACCEPTED


@given(
    st.text(max_size=80),
    st.text(max_size=120),
    st.lists(st.text(max_size=120), max_size=3),
    st.none() | st.text(max_size=20),
)
@settings(max_examples=80)
def test_any_text_gets_a_probability_and_a_true_span(
    question: str, answer: str, evidence: list[str], entity: str | None
) -> None:
    verdict = ENGINE.verify(question, answer, evidence, entity)
    assert 0.0 <= verdict.probability <= 1.0
    if verdict.span:
        passage = evidence[verdict.span.evidence_index]
        assert passage[verdict.span.start : verdict.span.end].strip()
    assert all(check.passed is (check.detail == "") for check in verdict.checks)


QUARRY = (
    "Kilsyth Quarry\nKilsyth Quarry is 48 m deep and gave work to 1,200 people. It closed on 3 March 1936."
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How deep is it?", "48 m."),
        ("How deep is it?", "It is 4,800 cm deep."),
        ("How deep is it?", "0.048 km."),
        ("How many people worked there?", "1200 people."),
        ("How many people worked there?", "Twelve hundred people."),
        ("When did it close?", "3 March 1936."),
        ("When did it close?", "Closed 3 March 1936."),
        ("When did it close?", "It closed in March 1936."),
        ("When did it close?", "Kilsyth Quarry closed on March 3rd, 1936."),
        ("When did it close?", "On 1936-03-03."),
    ],
)
def test_a_value_may_be_said_in_other_units_and_spellings_and_less_exactly(
    question: str, answer: str
) -> None:
    verdict = verify(question, answer, QUARRY, entity="Kilsyth Quarry")
    assert verdict.probability > 0.5
    assert not failed(verdict)


@pytest.mark.parametrize(
    ("question", "answer", "check"),
    [
        ("How deep is it?", "48 km.", CheckName.NUMBERS),
        ("How deep is it?", "48 feet.", CheckName.NUMBERS),
        ("How many people worked there?", "2,100 people.", CheckName.NUMBERS),
        ("When did it close?", "3 May 1936.", CheckName.DATES),
        ("When did it close?", "30 March 1936.", CheckName.DATES),
        ("When did it close?", "1963.", CheckName.DATES),
    ],
)
def test_another_value_is_refused(question: str, answer: str, check: CheckName) -> None:
    verdict = verify(question, answer, QUARRY, entity="Kilsyth Quarry")
    assert verdict.probability < REFUSED
    assert check in failed(verdict)


@pytest.mark.parametrize(
    "evidence", ["It closed in 1936.", "It closed in the 1930s.", "It closed in March 1936."]
)
def test_an_answer_is_not_more_exact_than_the_evidence(evidence: str) -> None:
    verdict = verify("When did it close?", "It closed on 3 March 1936.", evidence)
    assert verdict.probability < REFUSED
    assert CheckName.DATES in failed(verdict)


SHOES = ("Aero 2\nThe price of the Aero 2 is €120.", "Aero 4\nThe Aero 4 is sold for 145 euros.")


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("The Aero 2 is cheaper than the Aero 4.", True),
        ("The Aero 4 is more expensive than the Aero 2.", True),
        ("The Aero 4 is cheaper than the Aero 2.", False),
        ("The Aero 2 is more expensive than the Aero 4.", False),
        ("The Aero 2: 120 euros against 145 euros for the Aero 4.", True),
        ("The Aero 4: 145 euros against 120 euros for the Aero 2.", False),
        ("The Aero 2: 145 euros against 120 euros for the Aero 4.", False),
        ("The Aero 2: 120 euros against 154 euros for the Aero 4.", False),
    ],
)
def test_a_comparison_is_checked_with_both_values(answer: str, supported: bool) -> None:
    verdict = verify("Which one is cheaper, the Aero 2 or the Aero 4?", answer, *SHOES, entity="Aero 2")
    assert (verdict.probability > 0.5) is supported


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("The carrot soup: €7.50 against €4.", True),
        ("The lemon sorbet: €4 against €7.50.", False),
        ("The lemon sorbet: €7.50 against €4.", False),
    ],
)
def test_what_is_compared_may_be_in_a_print_without_a_name(answer: str, supported: bool) -> None:
    menu = "Zum Anker\nCarrot soup €7.50\nLemon sorbet €4"
    asked = "Does the carrot soup or the lemon sorbet cost more here?"
    assert (verify(asked, answer, menu, entity="Zum Anker").probability > 0.5) is supported


def test_a_value_of_another_thing_is_not_this_ones() -> None:
    verdict = verify("How much is it?", "It costs 145 euros.", *SHOES, entity="Aero 2")
    assert verdict.probability < REFUSED


def test_a_value_of_a_thing_with_a_longer_name_is_not_this_ones() -> None:
    page = "Aero 4 Trail\nThe Aero 4 Trail costs 170 euros."
    right = verify("How much is it?", "170 euros.", page, entity="Aero 4 Trail")
    wrong = verify("How much is it?", "170 euros.", page, entity="Aero 4")
    assert right.probability > ACCEPTED
    assert wrong.probability < REFUSED


@pytest.mark.parametrize(
    ("answer", "supported"), [("Yes, 100 ml is under 200 ml.", True), ("Yes, 150 ml is under 200 ml.", False)]
)
def test_a_yes_that_weighs_two_values_is_checked_by_the_values(answer: str, supported: bool) -> None:
    verdict = verify("Is it under 200 ml?", answer, "Hand cream\nContents 100 ml", entity="Hand cream")
    assert (verdict.probability > 0.5) is supported


@pytest.mark.parametrize(("answer", "supported"), [("Yes.", False), ("No.", True)])
def test_a_bare_yes_or_no_takes_its_claim_from_the_question(answer: str, supported: bool) -> None:
    page = "The Pebble 2 is not waterproof."
    verdict = verify("Is the Pebble 2 waterproof?", answer, page, entity="Pebble 2")
    assert (verdict.probability > 0.5) is supported


@pytest.mark.parametrize(
    ("sign", "answer", "supported"),
    [
        ("Museum shop\nClosed on Mondays", "No, it is closed on Mondays.", True),
        ("Museum shop\nClosed on Mondays", "Yes, it is open on Mondays.", False),
        ("Museum shop\nOpen on Mondays", "Yes, it is open on Mondays.", True),
        ("Museum shop\nOpen on Mondays", "No, it is closed on Mondays.", False),
    ],
)
def test_closed_is_not_open(sign: str, answer: str, supported: bool) -> None:
    verdict = verify("Is the shop open on Monday?", answer, sign)
    assert (verdict.probability > 0.5) is supported


def test_a_sum_of_numbers_in_the_evidence_is_supported() -> None:
    menu = "Lunch menu\nLentil soup €6.50\nFish pie €14\nCoffee €3"
    question = "What do the soup and the coffee cost together?"
    right = verify(question, "Together they cost €9.50: lentil soup €6.50 and coffee €3.", menu)
    wrong = verify(question, "Together they cost €10.50: lentil soup €6.50 and coffee €3.", menu)
    assert right.probability > 0.5 > wrong.probability


def test_one_wrong_sentence_spoils_the_answer() -> None:
    fact = "Rollei 35: the camera weighs 370 g and has a 40 mm lens."
    answer = "The Rollei 35 weighs 370 g. It has a 50 mm lens."
    assert verify("Tell me about it.", answer, fact, entity="Rollei 35").probability < REFUSED


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("It comes in sand, teal and graphite.", True),
        ("It comes in teal and sand.", True),
        ("It comes in sand, olive and graphite.", False),
    ],
)
def test_every_item_of_a_list_is_looked_up(answer: str, supported: bool) -> None:
    page = "Tivoli radio\nThe radio comes in sand, teal and graphite."
    verdict = verify("Which colours does it come in?", answer, page, entity="Tivoli radio")
    assert (verdict.probability > 0.5) is supported


def test_a_name_is_not_put_together_from_two() -> None:
    page = "The bridge was built by John Fowler with Benjamin Baker."
    assert verify("Who built the bridge?", "John Fowler.", page).probability > 0.5
    for other in ("John Baker.", "Benjamin Fowler.", "Baker John."):
        verdict = verify("Who built the bridge?", f"It was {other}", page)
        assert verdict.probability < REFUSED
        assert CheckName.ENTITY in failed(verdict)


def test_what_is_missing_is_named_in_a_sentence() -> None:
    verdict = verify("Who wrote it?", "Peter Voss wrote it.", "Ann Dunn wrote it.", entity="Sea Roads")
    details = {check.name: check.detail for check in verdict.checks}
    assert details[CheckName.ENTITY] == "The evidence does not name Sea Roads, Peter Voss."


def test_without_evidence_nothing_is_supported() -> None:
    verdict = verify("Who wrote it?", "Ann Dunn.")
    assert (verdict.probability, verdict.span) == (0.0, None)


def test_weights_fitted_on_other_features_are_refused(tmp_path: Path) -> None:
    stale = tmp_path / "weights.json"
    stale.write_text(json.dumps({"intercept": 0.0, "coefficients": {"coverage": 1.0}}))
    with pytest.raises(ValueError, match="other features"):
        load_curve(stale)


def test_a_fact_is_found_among_very_many_passages() -> None:
    crowd = [f"Sea Roads, part {n}. Sea Roads is read in {n} schools." for n in range(2, 66)]
    crowd[40] += " It has 312 pages."
    right = ENGINE.verify("How many pages has it?", "Sea Roads has 312 pages.", crowd, "Sea Roads")
    assert right.probability > ACCEPTED
    assert right.span is not None
    assert right.span.evidence_index == 40


def test_a_pronoun_after_the_name_is_enough() -> None:
    passage = "Sea Roads is a 1987 novel, reprinted in 1999. It was written in 1985 and has 312 pages."
    pages = verify("How many pages has it?", "Sea Roads has 312 pages.", passage, entity="Sea Roads")
    assert pages.probability > ACCEPTED
    written = verify("When was it written?", "It was written in 1985.", passage, entity="Sea Roads")
    assert written.probability > ACCEPTED


def test_hostile_text_is_judged_in_bounded_time() -> None:
    long = "1 against 2 than " * 400
    verdict = ENGINE.verify("Is A longer than B? " * 200, long[:8000], ["a" * 50_000, "3 m. " * 5_000], "A")
    assert verdict.probability < 0.5
