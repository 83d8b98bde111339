"""Layout and accessibility of the page in every state, theme and size.

No text overlaps or is cut off, every control is large enough for a finger, and axe finds no violations.
"""

import pytest
from playwright.sync_api import expect

from contracts.collections import Collections
from gateway.routes import page
from tests.page.browser import Wearer
from tests.page.conftest import Open
from tests.page.geometry import complaints, violations
from tests.page.test_asking import finds, quoting, unsure
from tests.unit.gateway.fakes import FakeServices

READ = [".question", ".answer", ".advice", ".sure", ".thing", ".source", "#hold-words", "#question"]
"""What a wearer reads in the sun: 7:1, as WCAG's AAA wants it."""
NO_CAMERA = """() => {
  navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "NotFoundError"));
}"""
LONG_NAME = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft of " * 2
LONG = (
    "The cathedral stands at the end of a street whose name is as long as this sentence is, and goes on. " * 6
)


def check(wearer: Wearer, state: str) -> None:
    assert complaints(wearer.page) == [], state
    present = [[place] for place in READ if wearer.page.locator(place).count()]
    contrast = {"runOnly": ["color-contrast-enhanced"]}
    for theme in ("light", "dark"):
        wearer.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert violations(wearer.page, contrast, {"include": present}) == [], (state, theme)


def test_page_is_accessible_before_the_first_question(open_page: Open) -> None:
    with open_page() as (wearer, _):
        expect(wearer.page.get_by_role("heading", name="Look at a thing and ask")).to_be_visible()
        check(wearer, "welcome")
        wearer.look()
        check(wearer, "camera")
        wearer.page.get_by_role("button", name="More").click()
        expect(wearer.page.get_by_role("dialog")).to_be_visible()
        check(wearer, "menu")
        wearer.page.get_by_role("button", name="Key").click()
        expect(wearer.page.get_by_label("Key", exact=True)).to_be_visible()
        check(wearer, "key")


def test_page_is_accessible_without_camera_or_index(
    services: FakeServices, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "_LOOK_MS", 60_000)  # on a loaded machine the index may answer late
    services.collections.reply = Collections(collections=[])
    with open_page(services, unsure()) as (wearer, _):
        wearer.page.evaluate(NO_CAMERA)
        wearer.page.get_by_role("button", name="Use the camera").click()
        expect(wearer.page.locator("#no-camera")).to_be_visible()
        expect(wearer.page.locator(".empty-index")).to_contain_text("Nothing is indexed yet.")
        check(wearer, "empty")
        wearer.answer("Who wrote The Salt Road?")
        check(wearer, "empty-refusal")


def test_page_is_accessible_with_long_answers(services: FakeServices, open_page: Open) -> None:
    finds(services, LONG_NAME, LONG)
    with open_page(services, quoting(LONG)) as (wearer, _):
        wearer.look()
        turn = wearer.answer("Who wrote this?")
        check(wearer, "answer")
        for summary in turn.locator("summary").all():
            summary.click()
        check(wearer, "sources")
        wearer.more("History")
        expect(wearer.page.locator("#history-list li")).to_have_count(1)
        check(wearer, "history")
        wearer.page.get_by_role("button", name="Close").click()
        wearer.context.set_offline(True)
        wearer.ask(LONG_NAME)
        expect(wearer.page.locator("#offline")).to_be_visible()
        check(wearer, "waiting")


def test_page_is_accessible_while_a_refusal_is_spoken(services: FakeServices, open_page: Open) -> None:
    with open_page(services, unsure()) as (wearer, _):
        wearer.page.evaluate("() => { speechSynthesis.speak = (said) => said.onstart?.(); }")
        wearer.look()
        wearer.answer("Who wrote this?")
        expect(wearer.page.locator("#stop")).to_be_visible()
        check(wearer, "refusal")


def test_screen_reader_announces_entity_and_answer(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.page.evaluate(
            """() => {
              window.heard = [];
              const status = document.querySelector("[role=status]");
              new MutationObserver(() => heard.push(status.textContent)).observe(status, { childList: true });
            }"""
        )
        wearer.look()
        wearer.answer("Who wrote this?")
        heard = wearer.page.evaluate("() => heard")
    assert heard == ["This is The Salt Road.", "The Salt Road has 312 pages."]


def test_chosen_theme_is_remembered(open_page: Open) -> None:
    with open_page() as (wearer, _):
        paper = "() => getComputedStyle(document.body).backgroundColor"
        light = wearer.page.evaluate(paper)
        wearer.page.get_by_role("button", name="More").click()
        wearer.page.get_by_text("Dark", exact=True).click()
        dark = wearer.page.evaluate(paper)
        wearer.open("/")
        assert light != dark
        assert wearer.page.evaluate(paper) == dark
