"""What is asked about: the thing in view, a thing named, a thing spoken of, or another one altogether."""

import pytest

from gateway.reasoning.pocket.asking import topics
from gateway.state import PhotoText
from tests.unit.reasoning.pocket.desk import (
    BASILICA,
    answered,
    ask,
    drafted,
    line,
    page,
    selected,
    sign,
    thing,
    turn,
)

pytestmark = pytest.mark.anyio

CHURCH = thing(BASILICA, 0.97, country="France", architect="Jean Morel")
NOVEL = thing("The Glass Harbour", 0.95, author="Ines Valdern", pages="288 pages")


@pytest.mark.parametrize(
    "question",
    [
        "Who designed this?",
        "Who designed this church?",
        "who designed the building in the photo?",
        "Who designed it?",
        "Who was the architect?",
        "what is the country of origin?",
        "Which country?",
    ],
)
async def test_a_question_that_points_or_names_nothing_is_about_the_thing_in_view(question: str) -> None:
    assert await selected(ask(question), CHURCH) == CHURCH


@pytest.mark.parametrize(
    "question",
    [
        "Where does the gold in the parliamentary mace come from?",
        "When was the park beside it opened?",
        "How tall is the statue next to this building?",
        "What is the parliamentary mace made of?",
        "When did the Ottoman Empire fall?",
        'Who wrote "the salt road"?',
    ],
)
async def test_a_recognised_thing_is_left_out_of_questions_about_another(question: str) -> None:
    entity = await selected(ask(question), CHURCH)
    assert entity is None or entity.name != CHURCH.name


@pytest.mark.parametrize(
    "question",
    ["Where does the gold in the parliamentary mace come from?", "When was the park beside it opened?"],
)
async def test_its_attributes_answer_no_question_about_another_thing(question: str) -> None:
    reply = await answered(ask(question), entity=CHURCH)
    assert reply.answer is None
    assert reply.quotes == ()


async def test_pages_answer_for_a_thing_in_view_only_where_it_is_known_or_their_title_is_printed_on_it() -> (
    None
):
    menu = page("The chef of the restaurant is Walter Brandt.", "The Olive Barge")
    question = ask("who is the chef of this restaurant?")
    assert (await answered(question, menu)).answer is None
    assert (await answered(question, menu, printed=sign("HOUSE OF LANTERNS", "Soup 4.50"))).answer is None
    assert (await answered(question, menu, printed=sign("The Olive Barge", "Soup 4.50"))).answer
    assert (await answered(ask("who is the chef of the Olive Barge?"), menu)).answer


async def test_a_described_subject_that_the_thing_is_known_for_is_the_thing_s() -> None:
    bell = thing(BASILICA, 0.97, great_bell="Odette")
    assert await selected(ask("When was the great bell cast?"), bell) == bell


async def test_a_thing_that_the_question_names_is_looked_up_by_its_name() -> None:
    question = ask("How long is the Merrow Viaduct?")
    draft = await drafted(question)
    assert "How long is the Merrow Viaduct?" in draft.sub_queries
    entity = await selected(question, CHURCH)
    assert entity is not None
    assert entity.name == "Merrow Viaduct"


async def test_a_name_beside_a_pointer_is_part_of_the_question_not_its_subject() -> None:
    assert await selected(ask("Is this by Jean Morel?"), CHURCH) == CHURCH
    assert await selected(ask("How far is it to Seoul?"), CHURCH) == CHURCH


async def test_the_thing_s_name_is_put_where_the_question_points() -> None:
    assert "who wrote {entity}?" in (await drafted(ask("who wrote this book?"))).sub_queries
    assert "how old is {entity}?" in (await drafted(ask("how old is it?"))).sub_queries


async def test_the_kind_of_thing_is_what_the_question_calls_it() -> None:
    assert (await drafted(ask("who wrote this red book?"))).object_label == "red book"
    assert (await drafted(ask("when does this museum open?"))).object_label == "museum"
    assert (await drafted(ask("when was this built?"))).object_label is None


async def test_a_follow_up_goes_on_about_the_thing_spoken_of() -> None:
    before = turn("What is this?", f"{CHURCH.name}.", CHURCH)
    assert await selected(ask("and who designed it?", before)) == CHURCH
    assert await selected(ask("how tall?", before, photo=False)) == CHURCH


async def test_she_is_the_person_just_named_and_it_still_the_book() -> None:
    before = turn("Who wrote this?", "Ines Valdern.", NOVEL)
    person = await selected(ask("and when was she born?", before))
    assert person is not None
    assert person.name == "Ines Valdern"
    assert await selected(ask("how many pages does it have?", before)) == NOVEL
    born = page("Ines Valdern was born on 4 May 1961.", "Ines Valdern")
    reply = await answered(ask("and when was she born?", before), born, entity=person)
    assert reply.answer == "4 May 1961."


async def test_there_is_the_place_just_named() -> None:
    before = turn("Where does it stand?", "Colmar.", CHURCH)
    place = await selected(ask("how many people live there?", before))
    assert place is not None
    assert place.name == "Colmar"
    assert await selected(ask("how many towers are there?", before)) == CHURCH


async def test_the_name_of_an_attribute_is_no_name_of_a_thing() -> None:
    before = turn("Which style is it known for?", "Style: Gothic.", CHURCH)
    assert topics([before], answers_first=True) == ("Gothic", CHURCH.name)


async def test_a_new_photo_shows_what_this_is_now() -> None:
    before = turn("Who wrote this?", "Ines Valdern.", NOVEL)
    assert await selected(ask("and who designed this?", before, new=True), CHURCH) == CHURCH


async def test_a_follow_up_without_a_verb_repeats_the_question_before() -> None:
    before = turn("How tall is the Merrow Viaduct?", "88 metres.")
    draft = await drafted(ask("and the Shard?", before, photo=False))
    assert draft.sub_queries[0] == "How tall is the Shard?"
    assert (await drafted(ask("what about this one?", before, new=True))).sub_queries[0] == before.question


async def test_noise_names_nothing() -> None:
    noise = PhotoText((line("十十十", height=0.1, width=0.6, score=0.82), line("LA|ALA|AIAIA1A", 0.4, 0.1)))
    assert await selected(ask("what is this?"), printed=noise) is None
    assert await selected(ask("what is this?"), thing(BASILICA, 0.6), printed=noise) == thing(BASILICA, 0.6)
    assert (await drafted(ask("what is this called?"), noise)).answer is None


async def test_a_street_sign_in_passing_does_not_rename_what_was_recognised() -> None:
    passing = PhotoText(
        (line("RUE DES LILAS", height=0.025, width=0.12), line("K.G. CLARKE", 0.5, 0.03, 0.11))
    )
    doubtful = thing(BASILICA, 0.62)
    assert await selected(ask("what is this?"), doubtful, printed=passing) == doubtful
    assert await selected(ask("what is this?"), printed=passing) is None


async def test_large_print_does_not_overrule_a_sure_match() -> None:
    banner = sign("SUMMER FESTIVAL TICKETS")
    assert await selected(ask("who designed this?"), CHURCH, printed=banner) == CHURCH


async def test_large_print_overrules_a_doubtful_match_that_it_contradicts() -> None:
    cover, other = sign("THE GLASS HARBOUR"), thing("Gardens of Iron", 0.7)
    entity = await selected(ask("who wrote this?"), other, printed=cover)
    assert entity is not None
    assert entity.name == "The Glass Harbour"
    assert entity.probability < 0.8


async def test_the_candidate_that_is_printed_wins_over_a_likelier_one() -> None:
    cover, printed = sign("THE GLASS HARBOUR"), thing("The Glass Harbour", 0.6, author="Ines Valdern")
    assert await selected(ask("who wrote this?"), thing("Iron", 0.7), printed, printed=cover) == printed


async def test_a_web_address_is_no_name() -> None:
    assert await selected(ask("what is this?"), printed=sign("www.photo-555.com")) is None
