"""`python -m tests.page.operator_screenshot`: the operator's view in docs/page, of the sample."""

import tempfile
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from PIL import Image
from playwright.sync_api import Browser

from deploy.one_process import platform
from deploy.settings import SAMPLE, LiteSettings
from tests.deploy.operating import cover
from tests.page.browser import chromium

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "page" / "operator.png"
PHOTO, QUESTION = "photos/q0007.jpg", "who designed this game?"
WARM_UP = "photos/q0001.jpg"
"""Asked about first: the first question of all waits for what is loaded when it is needed."""
MOST_BYTES = 200_000
_COLOURS = (256, 128, 96, 64, 48, 32)


def main() -> None:
    """Index the sample in the view, hand files over, ask, and keep what is seen."""
    with tempfile.TemporaryDirectory() as folder, start_blocking_portal() as portal:
        settings = LiteSettings(port=0, service_port=0, data_dir=Path(folder))
        with portal.wrap_async_context_manager(platform(settings)) as running, chromium() as browser:
            take(browser, running.gateway_url, SAMPLE)


def take(browser: Browser, url: str, world: Path) -> None:
    """The picture, of a platform whose index is empty and whose sample is `world`."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(120_000)
    page.goto(f"{url}/operator")
    page.get_by_role("button", name="Index the sample").click()
    page.locator("#job-words", has_text="Done").wait_for()
    for name, content in (
        ("salt_road-1.jpg", cover(3)),
        ("salt_road-2.jpg", cover(4)),
        ("opening hours.md", b"# Opening hours\n\nThe museum opens at nine."),
        ("IMG_0412.jpg", cover(5)),
    ):
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        page.set_input_files("#files", file)  # type: ignore[arg-type]
        page.locator("#uploads b", has_text=name).wait_for()
    page.fill("#ask-question", QUESTION)
    for photo in (WARM_UP, PHOTO):
        page.set_input_files("#ask-photo", world / photo)
        page.get_by_role("button", name="Ask").click()
        page.locator("#answer .spinner").wait_for()
        page.locator("#answer .answer").wait_for()
    page.locator(".timeline").wait_for()
    page.evaluate("() => scrollTo(0, 0)")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURE, full_page=True)
    page.close()
    with Image.open(PICTURE) as taken:
        whole = taken.convert("RGB")
    for colours in _COLOURS:
        whole.quantize(colours, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
        if PICTURE.stat().st_size <= MOST_BYTES:
            return
    raise SystemExit(f"{PICTURE.name} is larger than {MOST_BYTES} bytes")


if __name__ == "__main__":
    main()
