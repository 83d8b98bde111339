"""The memory of what was seen, on the page: its switch, its list, and a picture as a source."""

import base64
import json
from pathlib import Path

from playwright.sync_api import expect

from tests.page.browser import Wearer
from tests.page.conftest import Open
from tests.page.geometry import complaints
from tests.unit.gateway.fakes import BOOK

KEY = base64.b64encode(bytes(32)).decode()


def close(wearer: Wearer) -> None:
    wearer.page.get_by_role("button", name="Close").click()


def see_again(wearer: Wearer) -> None:
    """Ask about a new photo."""
    wearer.page.locator("#again").click()
    wearer.answer("Who wrote this?")


def test_memory_stores_only_photos_sent_while_it_is_on(open_page: Open) -> None:
    with open_page(pocket=True, memory_key=KEY) as (wearer, _):
        wearer.look()
        wearer.answer("Who wrote this?")
        wearer.more("Memory")
        expect(wearer.page.get_by_text("Nothing is remembered yet.")).to_be_visible()
        expect(wearer.page.get_by_text("for 30 days, encrypted")).to_be_visible()
        wearer.page.get_by_role("switch", name="Remember what I see").check()
        close(wearer)
        see_again(wearer)
        wearer.more("Memory")
        entry = wearer.page.locator("#memory-list li")
        expect(entry).to_have_count(1)
        expect(entry).to_contain_text(BOOK)
        height = "(image) => image.decode().then(() => image.naturalHeight)"
        assert entry.locator("img").evaluate(height) == 160
        assert complaints(wearer.page) == []
        close(wearer)
        turn = wearer.answer("Where did I see The Salt Road?")
        expect(turn.locator(".answer")).to_contain_text(f"you saw {BOOK}")
        turn.locator("details.source summary").click()
        expect(turn.locator(".source img")).to_be_visible()
        assert turn.locator(".source img").evaluate(height) == 160


def test_memory_is_exported_deleted_and_outlives_a_conversation(open_page: Open) -> None:
    with open_page(pocket=True, memory_key=KEY) as (wearer, _):
        wearer.more("Memory")
        wearer.page.get_by_role("switch").check()
        close(wearer)
        wearer.look()
        wearer.answer("Who wrote this?")
        see_again(wearer)
        see_again(wearer)
        with wearer.page.expect_response(lambda reply: "/sessions/" in reply.url):
            wearer.more("New conversation")
        wearer.more("Memory")
        entries = wearer.page.locator("#memory-list li")
        expect(entries).to_have_count(3)
        with wearer.page.expect_download() as download:
            wearer.page.get_by_role("button", name="Export").click()
        exported = json.loads(Path(download.value.path()).read_text())
        assert [each["name"] for each in exported["sightings"]] == [BOOK] * 3
        entries.first.get_by_role("button", name="Delete").click()
        expect(entries).to_have_count(2)
        wearer.page.get_by_role("button", name="Delete all").click()
        expect(entries).to_have_count(0)
        wearer.page.get_by_role("switch").uncheck()
        close(wearer)
        see_again(wearer)
        wearer.more("Memory")
        expect(entries).to_have_count(0)


def test_memory_is_hidden_if_the_gateway_has_none(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.page.get_by_role("button", name="More").click()
        expect(wearer.page.get_by_role("button", name="Memory")).to_be_hidden()
