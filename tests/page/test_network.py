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


def test_a_page_of_a_hotel_s_network_is_no_answer_and_the_question_is_asked_again(open_page: Open) -> None:
    reasoner, replies = ScriptedReasoner(), ["<html>Your room number?</html>"]

    def hotel(route: Route) -> None:
        if replies:
            route.fulfill(status=200, content_type="text/html", body=replies.pop())
        else:
            route.continue_()

    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.page.route("**/answer", hotel)
        wearer.ask(TEN[0])
        expect(wearer.turn()).to_have_attribute("data-status", "waiting")
        expect(wearer.turn()).to_have_attribute("data-status", "done")
    assert asked(reasoner) == [TEN[0]]


def test_a_full_disk_does_not_keep_a_question_from_its_answer(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.page.evaluate(
            """() => {
              const put = IDBObjectStore.prototype.put;
              IDBObjectStore.prototype.put = function (turn) {
                const request = put.call(this, turn);
                request.addEventListener("success", () => this.transaction.abort());
                return request;
              };
            }"""
        )
        for question in TEN[:2]:
            expect(wearer.answer(question).locator(".answer")).to_have_text(PAGES)


def test_a_question_whose_photo_cannot_be_written_is_given_back(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.look()
        wearer.page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = (resolve) => resolve(null); }")
        wearer.ask(TEN[0])
        expect(wearer.page.get_by_label("Your question")).to_have_value(TEN[0])
        expect(wearer.page.locator("#hint")).to_have_text("That could not be kept. Ask again.")


def test_of_two_windows_one_sends_and_each_shows_and_says_what_was_asked_in_it(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (first, _):
        first.page.route("**/answer", lambda route: route.abort())
        first.ask(TEN[0])
        expect(first.turn().locator(".progress")).to_contain_text("No connection")
        second = Wearer(first.context.new_page(), first.context)
        second.open("/")
        second.ask(TEN[1])
        expect(second.page.locator(".turn[data-status=waiting]")).to_have_count(2)
        first.page.unroute_all()
        for window in (first, second):
            window.page.evaluate("() => window.dispatchEvent(new Event('online'))")
            expect(window.page.locator(".turn[data-status=done]")).to_have_count(2)
            assert window.spoken() == [PAGES]
        second.answer(TEN[2])
    assert asked(reasoner) == TEN[:3]
    assert [len(query.history) for query in reasoner.asked] == [0, 1, 2]


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
        expect(wearer.page.locator("body[data-asking]")).to_have_count(0)
        expect(wearer.page.get_by_label("Your question")).to_be_focused()
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
