"""What the splits' words promise: none is shared, there are enough, and every one can be filled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from string import Formatter

import pytest

from evaluation.world.plan import Split
from evaluation.world.questions.ask import RELATIONS, Reference, described, named, sayable
from evaluation.world.text import Words, gold_answers, is_row, words_of

SPLITS = (Split.DEV, Split.TEST, Split.WILD)
REGISTERS = {"encyclopaedia", "news", "forum", "catalogue", "manual"}
LEAST = 2
"""Templates of pages, and wordings of questions, that every attribute has in every split."""
POINTED = Reference("the thing in front of me", "the thing in front of me", "", "what is on it")


def normalised(template: str) -> str:
    """The template's words, with a mark for every placeholder whatever its name."""
    return " ".join(re.findall(r"[\w’'-]+", re.sub(r"\{\w*\}", " _ ", template).casefold()))


def strings(found: object) -> Iterator[str]:
    """Every string in nested mappings and sequences; keys are names of ours, not words of the world."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, Mapping):
        for each in found.values():
            yield from strings(each)
    elif isinstance(found, tuple | list):
        for each in found:
            yield from strings(each)


def said(split: Split) -> set[str]:
    """Every template of the split, normalised; those of placeholders alone say nothing."""
    found = {normalised(each) for each in strings(words_of(split).model_dump())}
    return {each for each in found if re.search(r"[^\W_]", each)}


def on_pages(words: Words) -> dict[tuple[str, str], set[str]]:
    """The normalised page templates of every kind and attribute, of all registers together."""
    found: dict[tuple[str, str], set[str]] = {}
    for register in words.registers.values():
        for kind, attributes in register.pages.items():
            for attribute, templates in attributes.items():
                found.setdefault((kind, attribute), set()).update(map(normalised, templates))
    return found


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@pytest.mark.parametrize(("one", "other"), list(combinations(SPLITS, 2)))
def test_no_template_and_no_wording_is_shared_between_splits(one: Split, other: Split) -> None:
    assert len(said(one)) > 500
    assert said(one) & said(other) == set()


def test_a_shared_template_would_be_seen_whatever_its_placeholders_are_called() -> None:
    assert normalised("{s} was written by {v}") == normalised("{this} was written, by {x}.")


def test_sample_speaks_as_dev_does() -> None:
    assert words_of(Split.SAMPLE) == words_of(Split.DEV)


@pytest.mark.parametrize("split", SPLITS)
def test_every_attribute_has_enough_page_templates(split: Split) -> None:
    assert {key for key, templates in on_pages(words_of(split)).items() if len(templates) < LEAST} == set()


@pytest.mark.parametrize("split", SPLITS)
def test_every_attribute_has_enough_question_wordings(split: Split) -> None:
    questions = words_of(split).questions
    wordings = {
        (kind, attribute): set(map(normalised, templates))
        for asked in (questions.attributes, questions.compared)
        for kind, attributes in asked.items()
        for attribute, templates in attributes.items()
    } | {("composed", name): set(map(normalised, each)) for name, each in questions.composed.items()}
    assert {key for key, found in wordings.items() if len(found) < LEAST} == set()


@pytest.mark.parametrize("split", [Split.TEST, Split.WILD])
def test_all_splits_say_and_ask_the_same(split: Split) -> None:
    dev, other = words_of(Split.DEV), words_of(split)
    assert set(on_pages(dev)) == set(on_pages(other))
    for part in ("attributes", "compared", "relations", "composed", "deictic", "brief", "shown"):
        ours, theirs = getattr(dev.questions, part), getattr(other.questions, part)
        assert set(ours) == set(theirs), part
        for kind, attributes in ours.items():
            assert not isinstance(attributes, Mapping) or set(attributes) == set(theirs[kind]), (part, kind)
    assert set(dev.elsewhere.works) == set(other.elsewhere.works)
    assert len(dev.elsewhere.rules) == len(other.elsewhere.rules)


def test_every_question_about_one_fact_has_a_gold_answer() -> None:
    asked = words_of(Split.DEV).questions.attributes
    answers = gold_answers()
    assert {kind: set(attributes) for kind, attributes in asked.items()} == {
        kind: set(attributes) for kind, attributes in answers.items()
    }


def test_wild_is_written_in_other_registers_and_each_says_all_of_what_it_speaks_of() -> None:
    registers = words_of(Split.WILD).registers
    assert set(registers) >= REGISTERS
    everything = on_pages(words_of(Split.WILD))
    for name, register in registers.items():
        for kind, attributes in register.pages.items():
            assert set(attributes) == {a for k, a in everything if k == kind}, (name, kind)
    kinds = {kind for kind, _ in everything}
    assert all(sum(kind in register.pages for register in registers.values()) >= 2 for kind in kinds)


@pytest.mark.parametrize("split", SPLITS)
def test_page_templates_name_the_value_and_either_the_subject_or_a_label(split: Split) -> None:
    for register in words_of(split).registers.values():
        for template in strings(register.model_dump()["pages"]):
            used = placeholders(template)
            assert used <= {"s", "p", "v", "a"}, template
            assert "v" in used, template
            assert is_row(template) or used & {"s", "p"}, template


@pytest.mark.parametrize("split", SPLITS)
def test_every_attribute_can_be_asked_by_pointing_and_by_every_way_of_referring(split: Split) -> None:
    questions = words_of(split).questions
    linked = {"person", "company", "museum", "venue", "store"}
    for kind, attributes in questions.attributes.items():
        ways = [named("she"), named("it"), named("Ada Berg"), described("the author of it")]
        for (attribute, templates), way in product(attributes.items(), ways if kind in linked else [POINTED]):
            assert any(sayable(template, way) for template in templates), (kind, attribute, way)


@pytest.mark.parametrize("split", SPLITS)
def test_people_are_never_asked_about_as_a_subject_where_an_object_belongs(split: Split) -> None:
    about_people = words_of(split).questions.attributes["person"]
    wrong = re.compile(r"\b(of|to|by|with|for|marry|married) \{this\}")
    assert not [each for each in strings(about_people) if wrong.search(each) and "to be {this}" not in each]


@pytest.mark.parametrize("split", SPLITS)
def test_every_relation_that_is_followed_can_be_described(split: Split) -> None:
    relations = words_of(split).questions.relations
    assert {(kind, relation) for kind, each in relations.items() for relation in each} == set(RELATIONS)
