"""What the generator says: questions, truth, pages and the image knowledge base."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import pytest

from deploy.demo import KINDS
from evaluation.data.world import load_world
from evaluation.world.generate import Generated, generate
from evaluation.world.infobox import attributes
from evaluation.world.model import Thing
from evaluation.world.plan import Split, plan_for
from evaluation.world.questions.ask import Ask, route_of
from evaluation.world.questions.session import Session
from evaluation.world.text import words_of
from evaluation.world.values import AnswerType
from evaluation.world.writing import session_row, truth_rows, write_texts

DOMAINS = {
    "animal", "book", "food", "general object recognition", "local", "math and science",
    "plants and gardening", "shopping", "sports and games", "style and fashion", "text understanding",
    "vehicle", "other",
}  # fmt: skip
CATEGORIES = {
    "simple-recognition", "simple-knowledge", "multi-hop", "comparison", "aggregation", "reasoning",
}  # fmt: skip
DYNAMISMS = {"static", "slow-changing", "fast-changing", "real-time"}
QUALITIES = {"normal", "low light", "blurred", "truncated", "occluded", "rotated"}
NEEDS = {"photo", "image_kb", "web", "image_kb+web", "history"}


def sessions(made: Generated) -> tuple[Session, ...]:
    return (*made.questions, *made.conversations)


def asks(made: Generated) -> list[Ask]:
    return [turn.ask for session in sessions(made) for turn in session.turns]


def texts(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*"))}


def written(made: Generated, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    write_texts(folder, made.world, made.pages, made.questions, made.conversations)
    return texts(folder)


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    first = written(generate(plan_for(Split.SAMPLE)), tmp_path / "a")
    second = written(generate(plan_for(Split.SAMPLE)), tmp_path / "b")
    assert first == second


def test_another_seed_makes_another_world(sample: Generated) -> None:
    other = generate(plan_for(Split.SAMPLE, seed=991))
    names = {thing.name for thing in sample.world}
    assert len(names & {thing.name for thing in other.world}) < len(names) / 10


@pytest.mark.parametrize("seed", [None, 5])
def test_splits_share_no_entity_whatever_the_seed(seed: int | None) -> None:
    names = [{thing.name for thing in generate(plan_for(split, seed)).world} for split in Split]
    assert all(not one & other for one, other in combinations(names, 2))


@pytest.mark.parametrize("split", [Split.DEV, Split.TEST, Split.WILD])
@pytest.mark.parametrize("seed", [None, 8, 4711])
def test_a_split_has_the_promised_sizes(split: Split, seed: int | None) -> None:
    made = generate(plan_for(split, seed))
    assert len(made.questions) >= 150
    assert len(made.conversations) >= 30
    assert {len(session.turns) for session in made.conversations} == {2, 3, 4, 5, 6}


def test_every_category_is_about_as_frequent_as_planned(dev: Generated) -> None:
    found = [session.turns[0].ask.category.value for session in dev.questions]
    assert set(found) == CATEGORIES
    assert 0.18 <= found.count("simple-recognition") / len(found) <= 0.26
    assert 0.34 <= found.count("simple-knowledge") / len(found) <= 0.42


def test_every_label_is_one_of_the_dataset(dev: Generated) -> None:
    for session in sessions(dev):
        turns = session_row(session)["turns"]
        assert isinstance(turns, dict)
        assert set(turns["domain"]) <= DOMAINS
        assert set(turns["query_category"]) <= CATEGORIES
        assert set(turns["dynamism"]) <= DYNAMISMS
        assert set(turns["image_quality"]) <= QUALITIES
        assert len({len(column) for column in turns.values()}) == 1


def test_every_question_has_its_truth_and_ids_are_unique(dev: Generated) -> None:
    asked = [turn.interaction_id for session in sessions(dev) for turn in session.turns]
    truths = [row for session in sessions(dev) for row in truth_rows(session)]
    assert len(asked) == len(set(asked))
    assert [row["interaction_id"] for row in truths] == asked
    assert {row["needs"] for row in truths} <= NEEDS
    assert all(row["accepted"] for row in truths)


def test_a_right_answer_is_never_forbidden(dev: Generated) -> None:
    for ask in asks(dev):
        accepted = {spelling.lower() for spelling in ask.value.accepted}
        assert not accepted & {wrong.lower() for wrong in (*ask.must_not, *ask.contrast)}


def test_gold_answers_say_an_accepted_spelling(dev: Generated) -> None:
    for ask in asks(dev):
        if ask.value.type is AnswerType.SET:
            assert all(item in ask.answer for item in ask.value.accepted)
        else:
            said = ask.answer.lower()
            assert any(spelling.lower() in said for spelling in ask.value.accepted), ask.answer


def test_a_defect_befalls_between_a_tenth_and_a_third_of_the_photos(dev: Generated) -> None:
    found = [session.shot.quality.value for session in sessions(dev)]
    assert set(found) == QUALITIES
    assert 0.1 <= 1 - found.count("normal") / len(found) <= 0.33


def test_pages_have_distinct_addresses_and_boilerplate(dev: Generated) -> None:
    assert len({page.url for page in dev.pages}) == len(dev.pages)
    assert all("cookie" in page.html and "<nav" in page.html for page in dev.pages)


def test_an_outdated_page_is_older_than_the_page_with_the_truth(dev: Generated) -> None:
    stale = 0
    for thing in dev.world:
        for fact in thing.facts.values():
            pages = [page for page in dev.pages if page.about == thing.key]
            if fact.stale is None or not pages:
                continue
            wrong = [p.last_modified for p in pages if fact.stale.text in p.html]
            right = [p.last_modified for p in pages if fact.value.text in p.html]
            stale += bool(wrong)
            assert not wrong or max(wrong) < max(right)
    assert stale >= 10


def test_what_a_question_needs_is_really_stated(dev: Generated) -> None:
    stated = {page.about for page in dev.pages}
    for ask in asks(dev):
        assert set(ask.pages) <= stated, ask.query


def test_trimming_keeps_what_the_questions_need(sample: Generated) -> None:
    stated = {page.about for page in sample.pages}
    assert len(sample.pages) <= 100
    assert all(set(ask.pages) <= stated for ask in asks(sample))


def _target(made: Generated, ask: Ask) -> Thing:
    return next(t for t in made.world if t.name == ask.entity and (t is ask.subject or t.kind != "plaque"))


def _fragments(made: Generated, kind: str, attribute: str) -> list[str]:
    """What pages say around a value of the attribute, where it is long enough to be telling."""
    registers = words_of(made.world.plan.split).registers.values()
    templates = [t for each in registers for t in each.pages.get(kind, {}).get(attribute, ())]
    return [piece for t in templates for piece in re.split(r"\{\w\}", t) if len(piece) >= 14]


@pytest.mark.parametrize("world", ["dev", "held_out", "sample", "wild"])
def test_what_cannot_be_answered_is_nowhere(world: str, request: pytest.FixtureRequest) -> None:
    made: Generated = request.getfixturevalue(world)
    unanswerable = [ask for ask in asks(made) if not ask.answerable]
    assert unanswerable
    for ask in unanswerable:
        thing = _target(made, ask)
        about = [page.html for page in made.pages if thing.name in page.html]
        fact = thing.fact(ask.attribute)
        if thing is not ask.subject and fact is not None and thing.documented:
            # The fact is known, but nothing leads from the photo to the person.
            unseen = ask.subject.kind == "painting" and not ask.subject.catalogued
            assert unseen or not any(ask.subject.name in html for html in about)
            continue
        assert fact is None or route_of(thing, fact) is None
        assert not thing.catalogued or ask.attribute.replace(" ", "_") not in attributes(thing)
        if not thing.documented:
            assert not about or thing.kind == "painting"
        own = [page.html for page in made.pages if page.about == thing.key]
        assert not any(piece in html for html in own for piece in _fragments(made, thing.kind, ask.attribute))


def test_refusals_are_about_a_tenth_of_the_questions(dev: Generated) -> None:
    share = sum(not session.turns[0].ask.answerable for session in dev.questions) / len(dev.questions)
    assert 0.07 <= share <= 0.11


def test_infoboxes_carry_wiki_markup(dev: Generated) -> None:
    everything = json.dumps([attributes(thing) for thing in dev.world if thing.catalogued])
    for mark in ("[[", "|", "{{convert|", "<br />", "'''", "&nbsp;"):
        assert mark in everything


def test_too_few_entities_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 12"):
        plan_for(Split.DEV, entities=3)


def test_the_sample_has_every_question_that_the_demo_shows(sample: Generated, tmp_path: Path) -> None:
    write_texts(tmp_path, sample.world, sample.pages, sample.questions, sample.conversations)
    (tmp_path / "photos").mkdir()
    for session in sessions(sample):
        (tmp_path / session.shot.name).touch()
    turns = [conversation.turns[0] for conversation in load_world(tmp_path).single]
    assert [sum(map(wanted, turns)) >= count for count, wanted in KINDS] == [True] * len(KINDS)
