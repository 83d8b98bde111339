"""The pocket verifier's judgement."""

import json
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contracts.verifier import CheckName
from services.verifier.engine import Verdict
from services.verifier.engines.pocket import PocketVerifier, load_curve

ENGINE = PocketVerifier()
NAMES = st.sampled_from(["Marlow", "Tarrow", "Lindow", "Penley", "Orlik", "Brandal", "Hollis", "Corvin"])
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
    name = f"{draw(NAMES)} {draw(KINDS)}"
    number, unit = draw(st.integers(2, 999)), draw(st.sampled_from(UNITS))
    verb = draw(st.sampled_from(["is rated at", "is listed with", "comes with", "stands at"]))
    return f"The {name} {verb} {number} {unit}.", name, number, unit


@st.composite
def dated_facts(draw: st.DrawFn) -> tuple[str, str, int, str, int]:
    """(sentence, name, day, month, year)."""
    name = f"{draw(NAMES)} {draw(KINDS)}"
    day, month, year = draw(st.integers(13, 28)), draw(st.sampled_from(MONTHS)), draw(st.integers(1801, 2020))
    verb = draw(st.sampled_from(["was opened on", "was first shown on", "burned down on"]))
    return f"The {name} {verb} {day} {month} {year}.", name, day, month, year


@given(measured_facts())
@settings(max_examples=40, deadline=None)
def test_an_answer_copied_from_the_evidence_is_supported(fact: tuple[str, str, int, str]) -> None:
    sentence, name, _, _ = fact
    verdict = verify("What do you know about it?", sentence, f"Some history first. {sentence}", entity=name)
    assert verdict.probability > 0.6
    assert not failed(verdict)
    assert verdict.span is not None
    assert f"Some history first. {sentence}"[verdict.span.start : verdict.span.end] == sentence


@given(measured_facts(), st.integers(2, 999))
@settings(max_examples=40, deadline=None)
def test_another_number_is_not_supported(fact: tuple[str, str, int, str], other: int) -> None:
    sentence, name, number, _ = fact
    assume(other != number)
    verdict = verify("What is it?", sentence.replace(f" {number} ", f" {other} "), sentence, entity=name)
    assert verdict.probability < 0.35
    assert CheckName.NUMBERS in failed(verdict)


@given(measured_facts(), st.sampled_from(UNITS))
@settings(max_examples=40, deadline=None)
def test_another_unit_is_not_supported(fact: tuple[str, str, int, str], other: str) -> None:
    sentence, name, _, unit = fact
    assume(other != unit)
    verdict = verify("What is it?", sentence.replace(unit, other), sentence, entity=name)
    assert verdict.probability < 0.35
    assert CheckName.NUMBERS in failed(verdict)


@given(dated_facts(), st.integers(1801, 2020), st.sampled_from(MONTHS))
@settings(max_examples=40, deadline=None)
def test_another_date_is_not_supported(
    fact: tuple[str, str, int, str, int], other_year: int, other_month: str
) -> None:
    sentence, name, _, month, year = fact
    assert verify("When was it?", sentence, sentence, entity=name).probability > 0.6
    for changed in (sentence.replace(str(year), str(other_year)), sentence.replace(month, other_month)):
        if changed != sentence:
            verdict = verify("When was it?", changed, sentence, entity=name)
            assert verdict.probability < 0.35
            assert CheckName.DATES in failed(verdict)


@given(measured_facts(), NAMES)
@settings(max_examples=40, deadline=None)
def test_another_entity_is_not_supported(fact: tuple[str, str, int, str], other: str) -> None:
    sentence, name, _, _ = fact
    assume(other not in name)
    changed = sentence.replace(name.split()[0], other)
    verdict = verify("What is it?", changed, sentence, entity=name)
    assert verdict.probability < 0.4
    assert CheckName.ENTITY in failed(verdict)


@given(
    NAMES, KINDS, st.sampled_from(["waterproof", "open on Sundays", "suitable for children", "made of steel"])
)
@settings(max_examples=30, deadline=None)
def test_a_denied_fact_is_not_supported(name: str, kind: str, what: str) -> None:
    sentence, denied = f"The {name} {kind} is {what}.", f"The {name} {kind} is not {what}."
    for answer, evidence in ((sentence, denied), (denied, sentence)):
        verdict = verify("Is it?", answer, evidence, entity=f"{name} {kind}")
        assert verdict.probability < 0.35
        assert CheckName.NEGATION in failed(verdict)
        assert verify("Is it?", answer, answer, entity=f"{name} {kind}").probability > 0.6


@given(
    st.text(max_size=80),
    st.text(max_size=120),
    st.lists(st.text(max_size=120), max_size=3),
    st.none() | st.text(max_size=20),
)
@settings(max_examples=80, deadline=None)
def test_any_text_gets_a_probability_and_a_true_span(
    question: str, answer: str, evidence: list[str], entity: str | None
) -> None:
    verdict = ENGINE.verify(question, answer, evidence, entity)
    assert 0.0 <= verdict.probability <= 1.0
    if verdict.span:
        passage = evidence[verdict.span.evidence_index]
        assert passage[verdict.span.start : verdict.span.end].strip()
    assert all(check.passed is (check.detail == "") for check in verdict.checks)


PRICES = ("The price of Vexo P300 is €249.", "The Vexo P500 is sold for 399 euros.")


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("The Vexo P300 is cheaper than the Vexo P500.", True),
        ("The Vexo P500 is more expensive than the Vexo P300.", True),
        ("The Vexo P500 is cheaper than the Vexo P300.", False),
        ("The Vexo P300 is more expensive than the Vexo P500.", False),
    ],
)
def test_a_comparison_is_checked_with_both_values(answer: str, supported: bool) -> None:
    verdict = verify("Which one is cheaper?", answer, *PRICES, entity="Vexo P300")
    assert (verdict.probability > 0.5) is supported


def test_a_value_of_another_thing_is_not_this_ones() -> None:
    verdict = verify("How much is it?", "It costs 399 euros.", *PRICES, entity="Vexo P300")
    assert verdict.probability < 0.35
    assert CheckName.NUMBERS in failed(verdict)


@pytest.mark.parametrize(("answer", "supported"), [("Yes.", False), ("No.", True)])
def test_a_bare_yes_or_no_takes_its_claim_from_the_question(answer: str, supported: bool) -> None:
    verdict = verify(
        "Is the Tavo One waterproof?", answer, "The Tavo One is not waterproof.", entity="Tavo One"
    )
    assert (verdict.probability > 0.5) is supported


def test_a_sum_of_numbers_in_the_evidence_is_supported_when_one_was_asked_for() -> None:
    menu = "Onion soup €20.50\nPumpkin soup €19\nEspresso €4"
    question = "What do the onion soup and the espresso cost together?"
    right = verify(question, "Together they cost €24.50: onion soup €20.50 and espresso €4.", menu)
    wrong = verify(question, "Together they cost €25.50: onion soup €20.50 and espresso €4.", menu)
    assert right.probability > 0.5 > wrong.probability


def test_one_wrong_sentence_spoils_the_answer() -> None:
    fact = "Orla K7: the camera weighs 560 g and has a 24 megapixel sensor."
    answer = "The Orla K7 weighs 560 g. It has a 45 megapixel sensor."
    assert verify("Tell me about it.", answer, fact, entity="Orla K7").probability < 0.35


def test_what_is_missing_is_named_in_a_sentence() -> None:
    verdict = verify(
        "Who wrote it?", "Peter Voss wrote it.", "Mirela Dunn wrote it.", entity="The Salt Harbour"
    )
    details = {check.name: check.detail for check in verdict.checks}
    assert details[CheckName.ENTITY] == "The evidence does not name The Salt Harbour, Peter, Voss."


def test_without_evidence_nothing_is_supported() -> None:
    verdict = verify("Who wrote it?", "Mirela Dunn.")
    assert (verdict.probability, verdict.span) == (0.0, None)


def test_weights_fitted_on_other_features_are_refused(tmp_path: Path) -> None:
    stale = tmp_path / "weights.json"
    stale.write_text(json.dumps({"intercept": 0.0, "coefficients": {"coverage": 1.0}}))
    with pytest.raises(ValueError, match="other features"):
        load_curve(stale)


def test_a_fact_is_found_among_very_many_passages() -> None:
    crowd = [f"The Salt Harbour, part {n}. The Salt Harbour is read in {n} schools." for n in range(2, 66)]
    crowd[40] += " It has 312 pages."
    right = ENGINE.verify(
        "How many pages has it?", "The Salt Harbour has 312 pages.", crowd, "The Salt Harbour"
    )
    assert right.probability > 0.6
    assert right.span is not None
    assert right.span.evidence_index == 40


def test_a_pronoun_after_the_name_is_enough() -> None:
    passage = "The Salt Harbour is a 1987 novel, reprinted in 1999. It was written in 1985 and has 312 pages."
    assert (
        verify("How long?", "The Salt Harbour has 312 pages.", passage, entity="The Salt Harbour").probability
        > 0.6
    )
    assert verify("When?", "The Salt Harbour was written in 1985.", passage).probability > 0.6
    assert verify("When?", "The Salt Harbour was written in 1999.", passage).probability < 0.5
