"""No violation of axe's rules in any state, light and dark, on a phone and a desk; contrast for sunlight."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from contracts.collections import Collections
from tests.page.browser import DESK, PHONE, Wearer
from tests.page.conftest import Open
from tests.page.test_asking import unsure
from tests.unit.gateway.fakes import FakeServices

NARROW = {"width": 320, "height": 568}
READ = [".question", ".answer", ".advice", ".sure", ".thing", ".source", "#hold-words", "#question"]
"""What a wearer reads in the sun: 7:1, as WCAG's AAA wants it."""
Show = Callable[[Wearer], None]


def violations(wearer: Wearer, enhanced: bool = False) -> list[str]:
    """What axe finds, by its rule and the element."""
    options = {"runOnly": ["color-contrast-enhanced"]} if enhanced else {"resultTypes": ["violations"]}
    present = [place for place in READ if wearer.page.locator(place).count()]
    context = {"include": [[place] for place in present]} if enhanced else None
    found = Axe().run(wearer.page, context=context, options=options).response["violations"]
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]


def welcome(wearer: Wearer) -> None:
    expect(wearer.page.get_by_role("heading", name="Look at a thing and ask")).to_be_visible()


def answered(wearer: Wearer) -> None:
    wearer.look()
    turn = wearer.answer("Who wrote this?")
    for summary in turn.locator("summary").all():
        summary.click()


def menu(wearer: Wearer) -> None:
    wearer.page.get_by_role("button", name="More").click()
    expect(wearer.page.get_by_role("dialog")).to_be_visible()


def key_dialog(wearer: Wearer) -> None:
    menu(wearer)
    wearer.page.get_by_role("button", name="Key").click()
    expect(wearer.page.get_by_label("Key", exact=True)).to_be_visible()


def waiting(wearer: Wearer) -> None:
    wearer.context.set_offline(True)
    wearer.ask("Who wrote this?")
    expect(wearer.page.locator("#offline")).to_be_visible()


def look_closely(wearer: Wearer) -> None:
    """Every theme at every size."""
    for theme in ("light", "dark"):
        for size in (PHONE, DESK, NARROW):
            wearer.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
            wearer.page.set_viewport_size(size)  # type: ignore[arg-type]
            assert violations(wearer) == [], (theme, size)
            wide: int = wearer.page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= size["width"]
        assert violations(wearer, enhanced=True) == [], theme


@pytest.mark.parametrize("show", [welcome, Wearer.look, answered, menu, key_dialog, waiting])
def test_axe_finds_nothing(open_page: Open, show: Show) -> None:
    with open_page() as (wearer, _):
        show(wearer)
        look_closely(wearer)


def test_axe_finds_nothing_in_a_refusal(open_page: Open) -> None:
    with open_page(reasoner=unsure()) as (wearer, _):
        wearer.answer("Who wrote The Salt Road?")
        look_closely(wearer)


def test_axe_finds_nothing_where_nothing_is_indexed(services: FakeServices, open_page: Open) -> None:
    services.collections.reply = Collections(collections=[])
    with open_page(services) as (wearer, _):
        expect(wearer.page.locator(".empty-index")).to_be_visible()
        look_closely(wearer)


def test_axe_would_find_something(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.page.evaluate("() => document.getElementById('send').removeAttribute('aria-label')")
        assert any(found.startswith("button-name") for found in violations(wearer))


def test_a_screen_reader_hears_what_the_thing_is_and_the_answer(open_page: Open) -> None:
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


def test_the_theme_that_is_chosen_stays(open_page: Open) -> None:
    with open_page() as (wearer, _):
        paper = "() => getComputedStyle(document.body).backgroundColor"
        light = wearer.page.evaluate(paper)
        menu(wearer)
        wearer.page.get_by_text("Dark", exact=True).click()
        dark = wearer.page.evaluate(paper)
        wearer.open("/")
        assert light != dark
        assert wearer.page.evaluate(paper) == dark
