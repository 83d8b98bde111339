"""Entity selection by rule: the model's name, image search and print, in each combination."""

import pytest

from gateway.llm.selection import NAMED_BY_MODEL, select_entity
from gateway.state import Entity, PhotoText, Query, Turn
from tests.unit.gateway.llm.stage import ASK, FOLLOW_UP, PHOTO, draft, printed

SILENT = PhotoText()
FIAT = Entity("Fiat 500", 0.7, (("maker", "Fiat"), ("type", "car")))
MINI = Entity("Mini Cooper", 0.8, (("type", "car"),))


def test_the_candidate_that_the_model_named_is_chosen_over_a_likelier_one() -> None:
    assert select_entity(ASK, draft(entity="Fiat 500"), [MINI, FIAT], SILENT) == FIAT


@pytest.mark.parametrize("named", ["the Fiat 500", "FIAT 500", "Fiat 500 (2007)"])
def test_small_differences_in_a_name_do_not_matter(named: str) -> None:
    assert select_entity(ASK, draft(entity=named), [FIAT], SILENT) == FIAT


def test_a_maker_is_not_its_model() -> None:
    chosen = select_entity(ASK, draft(entity="Fiat"), [Entity("Fiat 500", 0.6)], SILENT)
    assert chosen == Entity("Fiat", NAMED_BY_MODEL)


def test_the_model_s_own_name_stands_where_no_candidate_is_proven() -> None:
    assert select_entity(ASK, draft(entity="Fiat Panda"), [MINI], SILENT) == Entity(
        "Fiat Panda", NAMED_BY_MODEL
    )


def test_print_in_the_photo_overrules_the_model() -> None:
    chosen = select_entity(ASK, draft(entity="Fiat Panda"), [FIAT, MINI], printed("Fiat 500", "Lounge"))
    assert chosen == FIAT


def test_an_all_but_certain_candidate_overrules_the_model() -> None:
    sure = Entity("Mini Cooper", 0.95)
    assert select_entity(ASK, draft(entity="Fiat Panda"), [sure], SILENT) == sure


def test_print_contradicts_a_candidate() -> None:
    assert select_entity(ASK, draft(), [MINI], printed("Welcome to Fiat of Turin")) is None


def test_without_a_name_the_likeliest_candidate_is_chosen() -> None:
    assert select_entity(ASK, draft(), [FIAT, MINI], SILENT) == MINI


def test_among_near_equals_the_kind_asked_about_decides() -> None:
    dog = Entity("Beagle", 0.71, (("type", "dog"),))
    assert select_entity(ASK, draft(object_label="car"), [dog, FIAT], SILENT) == FIAT


def test_an_unlikely_candidate_is_none() -> None:
    assert select_entity(ASK, draft(), [Entity("Mini Cooper", 0.3)], SILENT) is None


def test_what_the_asker_named_is_certain_and_keeps_what_is_known_of_it() -> None:
    ask = Query("How long is the Fiat 500?", PHOTO)
    chosen = select_entity(ask, draft(entity="Fiat 500"), [FIAT], SILENT)
    assert chosen == Entity("Fiat 500", 1.0, FIAT.attributes)
    assert select_entity(ask, draft(entity="Fiat 500"), [], SILENT) == Entity("Fiat 500", 1.0)


def test_a_follow_up_is_about_what_was_talked_of() -> None:
    assert select_entity(FOLLOW_UP, draft(), [], SILENT) == FOLLOW_UP.remembered
    assert select_entity(FOLLOW_UP, draft(entity="Fiat 500"), [], SILENT) == FOLLOW_UP.remembered


def test_a_new_photo_is_not_about_what_was_talked_of() -> None:
    ask = Query("What is this?", PHOTO, True, (Turn("?", "A Fiat 500.", False, Entity("Fiat 500", 0.9)),))
    assert select_entity(ask, draft(), [], SILENT) is None


def test_nothing_to_go_by_is_none() -> None:
    assert select_entity(ASK, draft(), [], SILENT) is None
