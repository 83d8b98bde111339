"""The operator's view in a real browser, before a whole pocket platform."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from anyio.from_thread import BlockingPortal
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from chassis.keys import ApiKey
from clients.keys import entry
from deploy.indexing import Indexing
from deploy.one_process import platform
from deploy.settings import LiteSettings
from tests.deploy.operating import cover, tiny_world
from tests.page.browser import DESK, wearer
from tests.page.geometry import all_faults, complaints

MILL = b"# The Old Mill\n\nThe Old Mill was built in 1887. The Old Mill was built by Ada Brook.\n"
WITHIN_MS = 60_000.0


@pytest.fixture
def address(tmp_path: Path, portal: BlockingPortal, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Of a platform with nothing in its index, whose sample is small."""
    world = tiny_world(tmp_path / "world")
    monkeypatch.setattr("deploy.one_process.Indexing", partial(Indexing, sample=world))
    settings = LiteSettings(port=0, service_port=0, data_dir=tmp_path / "data")
    with portal.wrap_async_context_manager(platform(settings)) as running:
        yield running.gateway_url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose scripts must not fail, and which must not ask for what its policy forbids."""
    faults: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:  # a refusal is no fault
            faults.append(message.text)

    opened = browser.new_page(viewport=DESK)  # type: ignore[arg-type]
    opened.set_default_timeout(WITHIN_MS)
    opened.on("console", note)
    opened.on("pageerror", lambda error: faults.append(str(error)))
    yield opened
    opened.close()
    assert faults == []


def hand_over(page: Page, *files: tuple[str, bytes]) -> None:
    kind = "application/octet-stream"
    payloads = [{"name": name, "mimeType": kind, "buffer": content} for name, content in files]
    page.set_input_files("#files", payloads)  # type: ignore[arg-type]
    page.get_by_role("button", name=f"Index {len(files)} file").wait_for()


def test_empty_index_offers_the_sample_and_then_shows_it(address: str, page: Page) -> None:
    page.goto(f"{address}/operator")
    page.get_by_text("Nothing is indexed yet.").wait_for()
    assert complaints(page) == []
    page.get_by_role("button", name="Index the sample").click()
    page.locator("#job-words", has_text="Done: ").wait_for()
    page.wait_for_selector("#things img")
    widths = page.eval_on_selector_all("#things img", "found => found.map((each) => each.naturalWidth)")
    assert len(widths) == 1
    assert widths[0] > 0
    assert not page.get_by_text("Nothing is indexed yet.").is_visible()
    page.get_by_role("button", name="Pages").click()
    page.wait_for_selector("#things[data-kind=pages] li")
    assert complaints(page) == []


def test_user_page_indexes_the_sample_and_then_answers(address: str, browser: Browser) -> None:
    with wearer(browser, address) as somebody:
        somebody.page.get_by_role("button", name="Index the sample").click()
        expect(somebody.page.locator(".sample")).to_contain_text("The sample is indexed.", timeout=WITHIN_MS)
        assert all_faults(somebody.page) == []
        expect(somebody.answer("When is the fair?").locator(".answer")).to_contain_text("June")


def test_user_page_says_that_only_the_operator_can_index(key: ApiKey, address: str, browser: Browser) -> None:
    with wearer(browser, address) as somebody:
        somebody.page.get_by_role("button", name="Index the sample").click()
        expect(somebody.page.locator(".empty-index")).to_contain_text("Only the operator can index.")


def test_files_are_named_indexed_and_asked_about(address: str, page: Page) -> None:
    page.goto(f"{address}/operator")
    torn = cover(6)[:500]
    hand_over(page, ("salt_road-1.jpg", cover(3)), ("mill.md", MILL), ("Fair.jpg", torn))
    assert "Shows: Salt Road" in page.locator("#uploads").inner_text()
    page.set_input_files("#files", {"name": "IMG_1.jpg", "mimeType": "image/jpeg", "buffer": cover(4)})
    page.get_by_label("What IMG_1.jpg shows").fill("Salt Road")
    assert complaints(page) == []
    page.get_by_role("button", name="Name it").click()
    page.get_by_role("button", name="Index 4 files").click()
    page.locator("#job-words", has_text="Done: 3 added, 1 rejected.").wait_for()
    page.wait_for_selector("#things img")
    assert page.locator("#things li").all_inner_texts() == ["Salt Road\n2 photos\nDetails"]
    assert page.locator("#uploads .rejected b").all_inner_texts() == ["Fair.jpg"]

    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Details of Salt Road").click()
    page.wait_for_selector("#documents[open] article")
    assert complaints(page) == []
    page.get_by_label("What it shows").first.fill("The Salt Road")
    page.get_by_role("button", name="Rename").first.click()
    page.locator("#status", has_text="Renamed.").wait_for()
    names = ["Salt Road\nDetails", "The Salt Road\nDetails"]
    assert page.locator("#things li").all_inner_texts() == names
    page.get_by_role("button", name="Details of Salt Road").click()
    page.get_by_role("button", name="Remove").click()
    page.locator("#status", has_text="Removed.").wait_for()
    assert page.locator("#things li").all_inner_texts() == names[1:]

    page.fill("#ask-question", "When was the Old Mill built?")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_selector(".timeline")
    assert "1887" in page.locator("#answer").inner_text()
    rows = page.locator(".timeline tbody th small").all_inner_texts()
    assert {"text_search", "answer"} <= set(rows)
    lefts = "found => found.map((each) => each.getBoundingClientRect().left)"
    bars = page.eval_on_selector_all(".track i", lefts)
    assert bars == sorted(bars)

    page.fill("#ask-question", "Who repaired the Old Mill?")
    page.get_by_role("button", name="Ask").click()
    closest = page.locator("#answer .source", has_text="The Old Mill was built").first
    expect(closest.locator("small b")).to_contain_text("The Old Mill was built")
    assert "The closest I found:" in page.locator("#answer").inner_text()
    assert "Why it was refused" in page.locator("#answer").inner_text()
    page.locator(".evidence summary").click()
    expect(page.locator(".evidence")).to_contain_text("built in 1887")
    assert bars[-1] > bars[0]
    assert complaints(page) == []
    page.reload()
    page.wait_for_selector(".timeline")
    assert page.locator(".timeline tbody th small").all_inner_texts() == rows


def test_dropped_page_is_indexed_and_its_markup_shown_as_text(address: str, page: Page) -> None:
    evil = "<img src=x onerror=\"document.title='owned'\">"
    page.goto(f"{address}/operator")
    page.get_by_text("Nothing is indexed yet.").wait_for()
    page.evaluate(
        """(evil) => {
            const moved = new DataTransfer();
            const heading = `<h1>${evil.replaceAll("<", "&lt;")}</h1>`;
            const text = `<title>x</title>${heading}<p>The mill was built in 1887.</p>`;
            moved.items.add(new File([text], "page.html"));
            document.querySelector("header").dispatchEvent(
                new DragEvent("drop", { dataTransfer: moved, bubbles: true, cancelable: true }));
        }""",
        evil,
    )
    page.get_by_role("button", name="Index 1 file").click()
    page.locator("#job-words", has_text="Done: 1 added.").wait_for()
    page.get_by_role("button", name="Pages").click()
    page.wait_for_selector("#things[data-kind=pages] li")
    assert page.locator("#things b").inner_text() == evil
    assert page.title() == "Loreglass: the operator’s view"


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ApiKey:
    """An operator's, for a platform that asks for keys."""
    made, file = ApiKey.new(), tmp_path / "keys.toml"
    file.write_text(entry(made, "acme", "interactive", operator=True))
    monkeypatch.setenv("LOREGLASS_GATEWAY_KEYS", str(file))
    return made


def test_view_asks_for_an_operators_key(key: ApiKey, address: str, page: Page) -> None:
    page.goto(f"{address}/operator")
    page.get_by_text("An operator’s key is needed").wait_for()
    assert not page.locator("#indexed").is_visible()
    assert complaints(page) == []
    page.get_by_role("button", name="Enter a key").click()
    page.get_by_label("Key", exact=True).fill(key.text)
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Nothing is indexed yet.").wait_for()
    assert not page.locator("#shut").is_visible()
    page.get_by_placeholder("Name", exact=True).fill("anna")
    page.get_by_role("button", name="Create a key").click()
    made = page.locator("#made-key code").inner_text()
    assert ApiKey.parse(made) is not None
    expect(page.locator("#keys-list li")).to_have_count(2)
    assert complaints(page) == []
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke the key of anna").click()
    expect(page.locator("#keys-list li")).to_have_count(1)
    page.get_by_label("Careful").check()
    expect(page.locator("#status")).to_have_text("Thresholds: careful.")
    page.reload()
    expect(page.get_by_label("Careful")).to_be_checked()
    assert made not in page.content()


def test_view_explains_how_to_add_a_phone_without_lan(address: str, page: Page) -> None:
    page.goto(f"{address}/operator")
    page.get_by_role("button", name="Show a code").click()
    page.get_by_text("Start it with: loreglass serve --lan").wait_for()


def test_a_phone_joins_by_the_code_of_the_view(
    tmp_path: Path, portal: BlockingPortal, browser: Browser, page: Page
) -> None:
    settings = LiteSettings(port=0, service_port=0, lan=True, lan_port=0, data_dir=tmp_path)
    with portal.wrap_async_context_manager(platform(settings)) as running:
        page.goto(f"{running.gateway_url}/operator")
        page.get_by_role("button", name="Show a code").click()
        page.get_by_alt_text("QR code of the address").wait_for()
        assert complaints(page) == []
        joining = urlsplit(page.locator("#invitation code").first.inner_text())
        phone = browser.new_context(ignore_https_errors=True)  # as after "visit this site anyway"
        seen = phone.new_page()
        seen.goto(joining._replace(netloc=f"127.0.0.1:{joining.port}").geturl())
        seen.locator("body[data-ready=yes]").wait_for(state="attached")
        key = seen.evaluate("() => Object.values(localStorage).find((value) => value.includes('lg_'))")
        phone.close()
    assert key
    assert seen.url.endswith("/")
