"""axe finds no violations in any state, theme or size."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from contracts.collections import Collections
from gateway.routes import page
from tests.page.browser import DESK, PHONE, Wearer
from tests.page.conftest import Open
from tests.page.test_asking import unsure
from tests.unit.gateway.fakes import FakeServices

NARROW = {"width": 320, "height": 568}
READ = [".question", ".answer", ".advice", ".sure", ".thing", ".source", "#hold-words", "#question"]
"""What a wearer reads in the sun: 7:1, as WCAG's AAA wants it."""


def violations(wearer: Wearer, enhanced: bool = False) -> list[str]:
    """What axe finds, by its rule and the element."""
    options = {"runOnly": ["color-contrast-enhanced"]} if enhanced else {"resultTypes": ["violations"]}
    present = [place for place in READ if wearer.page.locator(place).count()]
    context = {"include": [[place] for place in present]} if enhanced else None
    result = Axe().run(wearer.page, context=context, options=options).response["violations"]
    return [f"{one['id']}: {node['html'][:120]}" for one in result for node in one["nodes"]]


def welcome(wearer: Wearer) -> None:
    expect(wearer.page.get_by_role("heading", name="Look at a thing and ask")).to_be_visible()


def answer(wearer: Wearer) -> None:
    turn = wearer.answer("Who wrote this?")
    for summary in turn.locator("summary").all():
        summary.click()


def open_menu(wearer: Wearer) -> None:
    wearer.page.get_by_role("button", name="More").click()
    expect(wearer.page.get_by_role("dialog")).to_be_visible()


def open_history(wearer: Wearer) -> None:
    wearer.page.get_by_role("button", name="History").click()
    expect(wearer.page.locator("#history-dialog")).to_be_visible()


def open_key_dialog(wearer: Wearer) -> None:
    wearer.page.get_by_role("button", name="Key").click()
    expect(wearer.page.get_by_label("Key", exact=True)).to_be_visible()


def waiting(wearer: Wearer) -> None:
    wearer.context.set_offline(True)
    wearer.ask("Who wrote this?")
    expect(wearer.page.locator("#offline")).to_be_visible()


def check(wearer: Wearer) -> None:
    """Run axe in both themes; at every size nothing may be wider than the window."""
    for theme, size in (("light", PHONE), ("light", NARROW), ("dark", DESK)):
        wearer.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        wearer.page.set_viewport_size(size)  # type: ignore[arg-type]
        wide: int = wearer.page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= size["width"]
        if size is not NARROW:
            assert violations(wearer) == [], (theme, size)
            assert violations(wearer, enhanced=True) == [], theme


def test_axe_finds_nothing_before_and_after_an_answer(open_page: Open) -> None:
    with open_page() as (wearer, _):
        for show in (welcome, Wearer.look, answer, waiting):
            show(wearer)
            check(wearer)


def test_axe_finds_nothing_in_menus(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.answer("Who wrote this?")
        for show in (open_menu, open_history):
            show(wearer)
            check(wearer)
        wearer.page.get_by_role("button", name="Close").click()
        for show in (open_menu, open_key_dialog):
            show(wearer)
            check(wearer)


def test_axe_finds_nothing_in_a_refusal_or_an_empty_index(
    services: FakeServices, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "_LOOK_MS", 60_000)  # on a loaded machine the index may answer late
    services.collections.reply = Collections(collections=[])
    with open_page(services, unsure()) as (wearer, _):
        expect(wearer.page.locator(".empty-index")).to_contain_text("Nothing is indexed yet.")
        check(wearer)
        wearer.answer("Who wrote The Salt Road?")
        check(wearer)


def test_screen_reader_hears_entity_and_answer(open_page: Open) -> None:
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
        assert wearer.page.evaluate("() => heard") == [
            "This is The Salt Road.",
            "The Salt Road has 312 pages.",
        ]


def test_chosen_theme_is_remembered(open_page: Open) -> None:
    with open_page() as (wearer, _):
        paper = "() => getComputedStyle(document.body).backgroundColor"
        light = wearer.page.evaluate(paper)
        open_menu(wearer)
        wearer.page.get_by_text("Dark", exact=True).click()
        dark = wearer.page.evaluate(paper)
        wearer.open("/")
        assert light != dark
        assert wearer.page.evaluate(paper) == dark
