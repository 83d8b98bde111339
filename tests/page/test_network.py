"""A bad network: questions wait in the browser, in their order, and each is answered once."""

from typing import Any

from playwright.sync_api import Route, expect

from tests.page.browser import Wearer
from tests.page.conftest import Open
from tests.unit.gateway.fakes import PAGES, FakeServices, Mood
from tests.unit.gateway.reasoners import ScriptedReasoner

TEN = [f"How many pages has part {number} of this book?" for number in range(1, 11)]


def asked(reasoner: ScriptedReasoner) -> list[str]:
    return [query.question for query in reasoner.asked]


def kept_by_the_worker(wearer: Wearer) -> None:
    """Wait until the page is kept for a time without a network."""
    wearer.page.evaluate("async () => { await navigator.serviceWorker.ready; }")


def test_ten_questions_asked_without_a_network_are_answered_once_each_and_in_order(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.look()
        wearer.context.set_offline(True)
        for question in TEN:
            wearer.ask(question)
        expect(wearer.page.locator(".turn[data-status=waiting]")).to_have_count(10)
        expect(wearer.page.locator("#offline")).to_be_visible()
        assert asked(reasoner) == []
        wearer.context.set_offline(False)
        expect(wearer.page.locator(".turn[data-status=done]")).to_have_count(10)
        expect(wearer.page.locator("#offline")).to_be_hidden()
        assert wearer.page.locator(".turn .question").all_inner_texts() == TEN
    assert asked(reasoner) == TEN
    assert [query.photo_is_new for query in reasoner.asked] == [True] + 9 * [False]
    assert len(reasoner.asked[-1].history) == 9


def test_what_waits_is_still_there_when_the_page_is_opened_anew_without_a_network(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        kept_by_the_worker(wearer)
        wearer.context.set_offline(True)
        wearer.ask("Who wrote The Salt Road?")
        expect(wearer.turn()).to_have_attribute("data-status", "waiting")
        wearer.open("/")
        expect(wearer.turn()).to_have_attribute("data-status", "waiting")
        wearer.context.set_offline(False)
        expect(wearer.turn()).to_have_attribute("data-status", "done")
    assert asked(reasoner) == ["Who wrote The Salt Road?"]


def test_an_answer_that_was_lost_on_the_way_is_fetched_again_and_not_made_again(open_page: Open) -> None:
    reasoner, keys = ScriptedReasoner(), []

    def lose_the_first(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) > 1:
            route.continue_()
            return
        assert route.fetch().ok
        route.abort("connectionreset")

    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.page.route("**/answer", lose_the_first)
        wearer.ask("Who wrote The Salt Road?")
        expect(wearer.turn()).to_have_attribute("data-status", "done")
        expect(wearer.turn().locator(".answer")).to_have_text(PAGES)
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert asked(reasoner) == ["Who wrote The Salt Road?"]


def test_a_question_that_waits_can_be_cancelled(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.context.set_offline(True)
        for question in TEN[:3]:
            wearer.ask(question)
        expect(wearer.page.locator(".turn")).to_have_count(3)
        wearer.turn(1).get_by_role("button", name="Cancel").click()
        expect(wearer.page.locator(".turn")).to_have_count(2)
        wearer.context.set_offline(False)
        expect(wearer.page.locator(".turn[data-status=done]")).to_have_count(2)
    assert asked(reasoner) == [TEN[0], TEN[2]]


def test_a_question_that_is_being_answered_can_be_cancelled_and_the_next_one_goes_on(
    services: FakeServices, open_page: Open
) -> None:
    services.verifier.mood = Mood.HELD
    with open_page(services) as (wearer, _):
        wearer.ask(TEN[0])
        expect(wearer.turn()).to_have_attribute("data-status", "asking")
        wearer.turn().get_by_role("button", name="Cancel").click()
        expect(wearer.page.locator(".turn")).to_have_count(0)
        services.verifier.mood = Mood.WORKS
        wearer.answer(TEN[1])


def test_a_busy_gateway_is_asked_again_when_it_said(open_page: Open) -> None:
    reasoner, times = ScriptedReasoner(), []
    problem = (
        '{"type": "urn:loreglass:problem:overloaded", "title": "Busy", "status": 503, "detail": "Full."}'
    )

    def busy_once(route: Route) -> None:
        times.append(wearer.page.evaluate("() => performance.now()"))
        if len(times) > 1:
            route.continue_()
        else:
            headers = {"Retry-After": "2", "Content-Type": "application/problem+json"}
            route.fulfill(status=503, headers=headers, body=problem)

    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.page.route("**/answer", busy_once)
        wearer.ask(TEN[0])
        expect(wearer.turn().locator(".progress")).to_contain_text("Too many people")
        expect(wearer.turn()).to_have_attribute("data-status", "done")
    assert times[1] - times[0] >= 2000
    assert asked(reasoner) == [TEN[0]]


def test_the_worker_keeps_the_page_and_nothing_that_was_asked(open_page: Open) -> None:
    with open_page() as (wearer, _):
        kept_by_the_worker(wearer)
        wearer.open("/")
        wearer.answer("Who wrote The Salt Road?")
        kept: list[str] = wearer.page.evaluate(
            """async () => {
              const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
              const requests = (await Promise.all(caches_.map((cache) => cache.keys()))).flat();
              return requests.map((request) => new URL(request.url).pathname);
            }"""
        )
        assert {"/", "/page/main.js", "/page/style.css"} <= set(kept)
        assert all(path == "/" or path.startswith("/page/") for path in kept)
        assert "/page/setup.json" not in kept


def test_the_page_loads_little_and_nothing_from_elsewhere(open_page: Open) -> None:
    with open_page(window={"service_workers": "block"}) as (wearer, world):
        loaded: list[list[Any]] = wearer.page.evaluate(
            """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
                 .map((entry) => [entry.name, entry.transferSize])"""
        )
    assert len(loaded) > 15
    assert all(address.startswith(world.url) for address, _ in loaded)
    assert sum(size for _, size in loaded) <= 150_000
