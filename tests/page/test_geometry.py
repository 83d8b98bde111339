"""At every size, in every state: no text lies on another or is cut, and a finger reaches every control."""

import pytest
from playwright.sync_api import expect

from contracts.answer import CitationKind
from contracts.collections import Collections
from contracts.image_search import ImageSearchReply
from contracts.text_search import TextHit, TextSearchReply
from gateway.routes import page as routes
from gateway.state import Context, Query, Quote, Reply
from tests.page.browser import Wearer
from tests.page.conftest import Open
from tests.page.geometry import all_faults
from tests.page.test_accessibility import open_key_dialog, open_menu, welcome
from tests.page.test_asking import unsure
from tests.unit.gateway.fakes import FakeServices, image_hit
from tests.unit.gateway.reasoners import ScriptedReasoner

NO_CAMERA = """() => {
  navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "NotFoundError"));
}"""
LONG_NAME = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft of " * 2
LONG = (
    "The cathedral stands at the end of a street whose name is as long as this sentence is, and goes on. " * 6
)


def check(wearer: Wearer, state: str) -> None:
    wearer.page.mouse.move(0, 0)
    wearer.page.emulate_media(reduced_motion="reduce")
    assert all_faults(wearer.page) == [], state


def long_services(services: FakeServices) -> ScriptedReasoner:
    """Names and answers as long as they come."""
    hit = TextHit(
        id="1", url="https://a.example/", title=LONG_NAME, snippet=LONG, score=0.9, query_indexes=[0]
    )
    services.text_search.reply = TextSearchReply(hits=[hit], collection="pages")
    services.image_search.reply = ImageSearchReply(hits=[image_hit(LONG_NAME)], collection="images")

    def quote_page(_: Query, context: Context) -> Reply:
        place = next(n for n, each in enumerate(context.evidence) if each.kind is CitationKind.PAGE)
        return Reply(LONG, 0.6, (Quote(place, LONG),))

    return ScriptedReasoner(say=quote_page)


def test_nothing_overlaps_before_the_first_question(open_page: Open) -> None:
    with open_page() as (wearer, _):
        for state, show in (("welcome", welcome), ("camera", Wearer.look), ("menu", open_menu)):
            show(wearer)
            check(wearer, state)
        open_key_dialog(wearer)
        check(wearer, "key")


def test_nothing_overlaps_without_a_camera_or_an_index(
    services: FakeServices, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "_LOOK_MS", 60_000)
    services.collections.reply = Collections(collections=[])
    with open_page(services, unsure()) as (wearer, _):
        wearer.page.evaluate(NO_CAMERA)
        wearer.page.get_by_role("button", name="Use the camera").click()
        expect(wearer.page.locator("#no-camera")).to_be_visible()
        expect(wearer.page.locator(".empty-index")).to_be_visible()
        check(wearer, "empty")
        wearer.answer("Who wrote The Salt Road?")
        check(wearer, "empty-refusal")


def test_nothing_overlaps_around_long_answers(services: FakeServices, open_page: Open) -> None:
    with open_page(services, long_services(services)) as (wearer, _):
        wearer.look()
        turn = wearer.answer("Who wrote this?")
        check(wearer, "answer")
        for summary in turn.locator("summary").all():
            summary.click()
        check(wearer, "sources")
        open_menu(wearer)
        wearer.page.get_by_role("button", name="History").click()
        expect(wearer.page.locator("#history-list li")).to_have_count(1)
        check(wearer, "history")
        wearer.page.get_by_role("button", name="Close").click()
        wearer.context.set_offline(True)
        wearer.ask(LONG_NAME)
        expect(wearer.page.locator("#offline")).to_be_visible()
        check(wearer, "waiting")


def test_nothing_overlaps_while_it_is_spoken_or_refused(services: FakeServices, open_page: Open) -> None:
    with open_page(services, unsure()) as (wearer, _):
        wearer.page.evaluate("() => { speechSynthesis.speak = (said) => said.onstart?.(); }")
        wearer.look()
        wearer.answer("Who wrote this?")
        expect(wearer.page.locator("#stop")).to_be_visible()
        check(wearer, "refusal")
