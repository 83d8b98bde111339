"""Question analysis: many phrasings, their relation, hops, task and target."""

import pytest

from gateway.reasoning.extractive.question import analyse
from gateway.reasoning.extractive.relation import Answer, all_relations
from gateway.reasoning.extractive.targets import TargetKind
from gateway.reasoning.extractive.tasks import Task
from gateway.state import Entity, Turn
from tests.unit.reasoning.reading import ask

RELATIONS = [
    ("Who wrote this book?", "author"),
    ("Could you tell me who the author of this novel is?", "author"),
    ("by whom was this written", "author"),
    ("Who's the publisher of this?", "publisher"),
    ("which publishing house brought this out", "publisher"),
    ("When was this published?", "publication date"),
    ("in what year did this novel first appear", "publication date"),
    ("How many pages does this book have?", "number of pages"),
    ("what's the page count of this", "number of pages"),
    ("How heavy is this laptop?", "weight"),
    ("what does this weigh", "weight"),
    ("How tall is this tower?", "height"),
    ("how much does this cost", "price"),
    ("What would I pay for this jacket?", "price"),
    ("how many calories are in this", "energy"),
    ("How much protein is in this bar?", "protein"),
    ("who makes this phone", "manufacturer"),
    ("Where is this made?", "country of origin"),
    ("When was this company founded?", "founding date"),
    ("who founded this museum", "founder"),
    ("Who painted this?", "painter"),
    ("What medium did the painter use?", "medium"),
    ("Where does this painting hang?", "museum"),
    ("what is this bag made of", "material"),
    ("Who designed this chair?", "designer"),
    ("How many people does this stadium hold?", "number of seats"),
    ("How long does the battery last on this speaker?", "battery life"),
    ("When does this shop close on Fridays?", "opening hours"),
    ("what are the opening times of this place", "opening hours"),
    ("On which day is this museum closed?", "closing day"),
    ("Who is the chef of this restaurant?", "chef"),
    ("what kind of food does this restaurant serve", "cuisine"),
    ("How long is the warranty on this?", "warranty"),
    ("what's the phone number on this sign", "phone number"),
    ("What genre is this novel?", "genre"),
    ("who composed this opera", "composer"),
    ("Who directed this film?", "director"),
    ("how fast is this car", "speed"),
    ("What's the population of this town?", "population"),
    ("how many employees does this firm have", "number of employees"),
    ("What is the resolution of this camera?", "resolution"),
    ("how long should I bake this", "duration"),
    ("Which awards did this win?", "award"),
    ("who translated this", "translator"),
    ("What is the capital of this country?", "capital"),
    ("which languages is it printed in", "language"),
]


@pytest.mark.parametrize(("question", "relation"), RELATIONS)
def test_the_asked_relation_is_understood(question: str, relation: str) -> None:
    found = analyse(ask(question)).relation
    assert found is not None
    assert found.name == relation


HOPS = [
    ("Where was the author of this book born?", "birthplace", ("author",)),
    ("What is the birthplace of this book's author?", "birthplace", ("author",)),
    ("Who founded the company that makes this?", "founder", ("manufacturer",)),
    ("When did the painter of this picture die?", "death date", ("painter",)),
    ("In what year was its publisher founded?", "founding date", ("publisher",)),
    ("Where is the museum that owns this painting located?", "location", ("museum",)),
    ("Who did the person honoured on this plaque marry?", "spouse", ("honoree",)),
    ("what did whoever designed this lamp study", "field of study", ("designer",)),
    ("how many people work for the firm behind this radio", "number of employees", ("manufacturer",)),
]


@pytest.mark.parametrize(("question", "relation", "chain"), HOPS)
def test_nested_relations_become_hops(question: str, relation: str, chain: tuple[str, ...]) -> None:
    found = analyse(ask(question))
    assert found.relation is not None
    assert (found.relation.name, tuple(hop.name for hop in found.chain)) == (relation, chain)


@pytest.mark.parametrize("question", ["Who is the author of this?", "what's the brand of this?"])
def test_what_is_asked_itself_is_no_hop(question: str) -> None:
    assert analyse(ask(question)).chain == ()


TASKS = [
    ("What does this sign say?", Task.READ),
    ("What is this?", Task.IDENTIFY),
    ("what's the title of the book I'm holding", Task.IDENTIFY),
    ("Which has more pages, this or The Silver Tide?", Task.COMPARE),
    ("Is this book longer than The Silver Tide?", Task.COMPARE),
    ("is this cheaper at Corner Market or at Halden Foods", Task.COMPARE),
    ("What other books has this author written?", Task.WORKS),
    ("what else has the artist painted", Task.WORKS),
    ("Can I bring this 250 ml bottle in my carry-on?", Task.RULE),
    ("may a 12-year-old come to this concert", Task.RULE),
    ("Is this shop open on Sunday at 9 pm?", Task.OPEN_AT),
    ("How old was the painter when this was painted?", Task.AGE_AT),
    ("What's the answer to question 3?", Task.WORKSHEET),
    ("how much would three of these cost", Task.MULTIPLY),
    ("Is this by Mira Aldane?", Task.CHECK),
    ("I bought this in May 2021, is it still under warranty in June 2023?", Task.WARRANTY),
    ("How many days will this take me at 30 pages a day?", Task.RATE),
    ("who wrote this", Task.LOOKUP),
]


@pytest.mark.parametrize(("question", "task"), TASKS)
def test_the_task_follows_from_the_wording(question: str, task: Task) -> None:
    assert analyse(ask(question)).task is task


def test_a_pointing_word_means_the_photo_and_a_name_means_itself() -> None:
    assert analyse(ask("Who wrote this?")).target.kind is TargetKind.PHOTO
    named = analyse(ask("Who painted the Mona Lisa?")).target
    assert named.kind is TargetKind.NAMED
    assert named.names == ("Mona Lisa",)


def test_a_pronoun_after_an_earlier_turn_means_the_conversation() -> None:
    earlier = Turn("What is this?", "This is The Salt Road.", False, Entity("The Salt Road", 0.9))
    assert analyse(ask("And how many pages does it have?", earlier)).target.kind is TargetKind.HISTORY


def test_an_elliptic_follow_up_borrows_the_previous_question() -> None:
    earlier = Turn("Who painted this?", "Ada Morven painted it.", False, Entity("Grey Harbour", 0.9))
    found = analyse(ask("And when?", earlier))
    assert found.relation is not None
    assert found.relation.name == "year painted"


def test_politeness_and_asides_do_not_matter() -> None:
    found = analyse(ask("By the way, could you please tell me who wrote this book?"))
    assert found.relation is not None
    assert found.relation.name == "author"


def test_a_relation_that_the_lexicon_lacks_is_made_from_the_question() -> None:
    found = analyse(ask("How many strings does this lute have?"))
    assert found.relation is not None
    assert (found.relation.name, found.relation.answer) == ("strings", Answer.NUMBER)


def test_the_lexicon_is_broad() -> None:
    assert len({relation.name for relation in all_relations()}) >= 80
