"""The interactive API reference loads everything from the gateway and sends a question."""

from playwright.sync_api import Route, expect

from tests.page.conftest import Open


def test_reference_asks_a_question_without_another_server(open_page: Open) -> None:
    with open_page() as (wearer, world):
        foreign: list[str] = []

        def watch(route: Route) -> None:
            if not route.request.url.startswith((world.url, "data:", "blob:")):
                foreign.append(route.request.url)
            route.continue_()

        wearer.page.route("**/*", watch)
        wearer.page.goto("/docs")
        answer = wearer.page.locator("#operations-default-answer")
        answer.locator(".opblock-summary-control").click()
        answer.get_by_label("Request content type").select_option("application/json")
        answer.locator("textarea").fill('{"question": "Who wrote The Salt Road?"}')
        answer.get_by_role("button", name="Execute").click()
        expect(answer.locator(".live-responses-table")).to_contain_text('"trace_id"')
        assert foreign == []
