"""On a bad network questions are queued in the browser and answered once each, in order."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.page.browser import Wearer
from tests.page.conftest import Open
from tests.unit.gateway.fakes import PAGES, FakeServices, Mood
from tests.unit.gateway.reasoners import ScriptedReasoner

QUESTIONS = [f"How many pages has part {number} of this book?" for number in range(1, 5)]


def questions_of(reasoner: ScriptedReasoner) -> list[str]:
    return [query.question for query in reasoner.queries]


def stop_clock(wearer: Wearer) -> None:
    """Let the page's timers run only when the test says so."""
    wearer.page.clock.install()
    wearer.page.clock.pause_at(datetime.now() + timedelta(minutes=1))


def test_offline_questions_are_answered_once_each_in_order(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.look()
        wearer.context.set_offline(True)
        for question in QUESTIONS:
            wearer.ask(question)
        expect(wearer.page.locator(".turn[data-status=waiting]")).to_have_count(4)
        expect(wearer.page.locator("#offline")).to_be_visible()
        assert questions_of(reasoner) == []
        wearer.context.set_offline(False)
        expect(wearer.page.locator(".turn[data-status=done]")).to_have_count(4)
        expect(wearer.page.locator("#offline")).to_be_hidden()
        assert wearer.page.locator(".turn .question").all_inner_texts() == QUESTIONS
    assert questions_of(reasoner) == QUESTIONS
    assert [query.photo_is_new for query in reasoner.queries] == [True] + 3 * [False]
    assert len(reasoner.queries[-1].history) == 3


def test_lost_reply_is_fetched_again_with_the_same_key(open_page: Open) -> None:
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
    assert questions_of(reasoner) == ["Who wrote The Salt Road?"]


HOTEL = {"status": 200, "content_type": "text/html", "body": "<html>Your room number?</html>"}
BUSY = {
    "status": 503,
    "headers": {"Retry-After": "1", "Content-Type": "application/problem+json"},
    "body": '{"type": "urn:loreglass:problem:overloaded", "title": "Busy", "status": 503, "detail": "Full."}',
}


@pytest.mark.parametrize(
    ("reply", "progress", "early_ms"),
    [(HOTEL, "", 740), (BUSY, "Too many people", 990)],
    ids=["hotel", "busy"],
)
def test_questions_wait_for_a_captive_portal_or_busy_gateway(
    open_page: Open, reply: dict[str, Any], progress: str, early_ms: int
) -> None:
    reasoner, sent = ScriptedReasoner(), 0

    def fail_once(route: Route) -> None:
        nonlocal sent
        sent += 1
        if sent > 1:
            route.continue_()
        else:
            route.fulfill(**reply)

    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.page.route("**/answer", fail_once)
        stop_clock(wearer)
        wearer.ask(QUESTIONS[0])
        expect(wearer.turn()).to_have_attribute("data-status", "waiting")
        expect(wearer.turn().locator(".progress")).to_contain_text(progress)
        expect(wearer.turn().locator(".progress")).not_to_be_empty()
        wearer.page.clock.run_for(early_ms)
        expect(wearer.turn()).to_have_attribute("data-status", "waiting")
        assert sent == 1
        wearer.page.clock.run_for(1000)
        expect(wearer.turn()).to_have_attribute("data-status", "done")
    assert questions_of(reasoner) == [QUESTIONS[0]]


def test_restored_network_retries_a_failing_question_at_once(open_page: Open) -> None:
    failed = False

    def fail_once(route: Route) -> None:
        nonlocal failed
        if failed:
            route.continue_()
            return
        failed = True
        wearer.page.evaluate("() => window.dispatchEvent(new Event('online'))")
        route.abort()

    with open_page() as (wearer, _):
        wearer.page.route("**/answer", fail_once)
        stop_clock(wearer)
        wearer.ask(QUESTIONS[0])
        expect(wearer.turn()).to_have_attribute("data-status", "done")


def test_full_disk_does_not_prevent_an_answer(open_page: Open) -> None:
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
        for question in QUESTIONS[:2]:
            expect(wearer.answer(question).locator(".answer")).to_have_text(PAGES)


def test_browser_windows_share_one_queue(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (first, _):
        first.page.route("**/answer", lambda route: route.abort())
        first.ask(QUESTIONS[0])
        expect(first.turn().locator(".progress")).to_contain_text("You are offline")
        second = Wearer(first.context.new_page(), first.context)
        second.open("/")
        second.ask(QUESTIONS[1])
        expect(second.page.locator(".turn[data-status=waiting]")).to_have_count(2)
        first.page.unroute_all()
        for window in (first, second):
            window.page.evaluate("() => window.dispatchEvent(new Event('online'))")
            expect(window.page.locator(".turn[data-status=done]")).to_have_count(2)
            assert window.spoken() == [PAGES]
        second.answer(QUESTIONS[2])
    assert questions_of(reasoner) == QUESTIONS[:3]
    assert [len(query.history) for query in reasoner.queries] == [0, 1, 2]


def test_question_in_progress_can_be_cancelled(services: FakeServices, open_page: Open) -> None:
    services.verifier.mood = Mood.HELD
    with open_page(services) as (wearer, _):
        wearer.ask(QUESTIONS[0])
        expect(wearer.turn()).to_have_attribute("data-status", "asking")
        wearer.turn().get_by_role("button", name="Cancel").click()
        expect(wearer.page.locator(".turn")).to_have_count(0)
        expect(wearer.page.locator("body[data-asking]")).to_have_count(0)
        expect(wearer.page.get_by_label("Your question")).to_be_focused()
        services.verifier.mood = Mood.WORKS
        wearer.answer(QUESTIONS[1])


def test_a_waiting_question_survives_a_reload_offline_and_no_cache_holds_it(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.page.evaluate("async () => { await navigator.serviceWorker.ready; }")
        wearer.context.set_offline(True)
        wearer.ask("Who wrote The Salt Road?")
        expect(wearer.turn()).to_have_attribute("data-status", "waiting")
        wearer.open("/")
        expect(wearer.turn()).to_have_attribute("data-status", "waiting")
        wearer.context.set_offline(False)
        expect(wearer.turn()).to_have_attribute("data-status", "done")
        cached_paths: list[str] = wearer.page.evaluate(
            """async () => {
              const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
              const requests = (await Promise.all(caches_.map((cache) => cache.keys()))).flat();
              return requests.map((request) => new URL(request.url).pathname);
            }"""
        )
        assert {"/", "/page/main.js", "/page/style.css"} <= set(cached_paths)
        assert all(path == "/" or path.startswith("/page/") for path in cached_paths)
        assert "/page/setup.json" not in cached_paths
    assert questions_of(reasoner) == ["Who wrote The Salt Road?"]


def test_page_loads_little_and_only_from_this_server(open_page: Open) -> None:
    with open_page(window={"service_workers": "block"}) as (wearer, world):
        loaded: list[list[Any]] = wearer.page.evaluate(
            """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
                 .map((entry) => [entry.name, entry.transferSize])"""
        )
    assert len(loaded) > 15
    assert all(address.startswith(world.url) for address, _ in loaded)
    assert sum(size for _, size in loaded) <= 150_000


def test_a_scanned_token_becomes_the_key_that_questions_carry(open_page: Open) -> None:
    with open_page() as (wearer, world):
        exchanged: list[str] = []

        def exchange(route: Route) -> None:
            exchanged.append(route.request.post_data_json["token"])
            route.fulfill(status=201, json={"key": "lg_phone"})

        wearer.page.route("**/devices/join", exchange)
        wearer.page.goto("about:blank")
        wearer.page.goto(f"{world.url}/#join=once")
        expect(wearer.page.locator("body[data-ready=yes]")).to_be_attached()
        assert exchanged == ["once"]
        assert wearer.page.url == f"{world.url}/"
        with wearer.page.expect_request("**/answer") as request:
            wearer.ask(QUESTIONS[0])
        assert request.value.headers["authorization"] == "Bearer lg_phone"


def test_a_token_that_was_used_is_explained(open_page: Open) -> None:
    with open_page() as (wearer, world):
        problem = {
            "type": "urn:loreglass:problem:unauthorized",
            "detail": "This code was used.",
            "status": 401,
        }
        wearer.page.route("**/devices/join", lambda route: route.fulfill(status=401, json=problem))
        wearer.page.goto("about:blank")
        wearer.page.goto(f"{world.url}/#join=twice")
        expect(wearer.page.locator("#key-fault")).to_have_text("This code was used.")
