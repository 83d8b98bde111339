"""Entity selection by rule: the model's name, image search and print, in each combination."""

import pytest

from gateway.llm.selection import NAMED_BY_MODEL, select_entity
from gateway.state import Entity, PhotoText, Query, Turn
from tests.unit.gateway.llm.stage import ASK, FOLLOW_UP, PHOTO, draft, printed

SILENT = PhotoText()
FIAT = Entity("Fiat 500", 0.7, (("maker", "Fiat"), ("type", "car")))
MINI = Entity("Mini Cooper", 0.8, (("type", "car"),))


BEAGLE = Entity("Beagle", 0.71, (("type", "dog"),))
SURE = Entity("Mini Cooper", 0.95)
UNLIKELY = Entity("Mini Cooper", 0.3)
PANDA = Entity("Fiat Panda", NAMED_BY_MODEL)
NEW_PHOTO = Query("What is this?", PHOTO, True, (Turn("?", "A Fiat 500.", False, Entity("Fiat 500", 0.9)),))
NAMED = Query("How long is the Fiat 500?", PHOTO)
CASES = {
    "the model's candidate beats a likelier one": (ASK, "Fiat 500", [MINI, FIAT], SILENT, FIAT),
    "an article in the name": (ASK, "the Fiat 500", [FIAT], SILENT, FIAT),
    "capitals in the name": (ASK, "FIAT 500", [FIAT], SILENT, FIAT),
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
    "a follow-up that names the same": (FOLLOW_UP, "Fiat 500", [], SILENT, FOLLOW_UP.remembered),
    "a new photo drops the remembered entity": (NEW_PHOTO, None, [], SILENT, None),
    "nothing to go by": (ASK, None, [], SILENT, None),
}


@pytest.mark.parametrize(("ask", "named", "candidates", "text", "chosen"), CASES.values(), ids=CASES)
def test_the_entity_is_selected(
    ask: Query, named: str | None, candidates: list[Entity], text: PhotoText, chosen: Entity | None
) -> None:
    assert select_entity(ask, draft(entity=named), candidates, text) == chosen
