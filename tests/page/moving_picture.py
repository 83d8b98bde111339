"""`python -m tests.page.moving_picture`: record docs/page/answer.webp, the page answering about a photograph.

The platform is real, and each frame is shown for as long as it was on the screen.
"""

import io
import tempfile
import time
from pathlib import Path

import anyio
from PIL import Image
from playwright.sync_api import expect

from chassis.telemetry.logs import configure_logging
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.photographs import PAGES, write_photographs
from tests.journey.deployments import OneProcess
from tests.page.browser import Wearer, chromium, wearer
from tests.page.screenshots import OUT

SIZE = {"width": 960, "height": 680}
PHOTO = "rocket.jpg"
QUESTIONS = ("How tall is this rocket?", "How much did it cost?")
"""The page has the answer of the first only."""
_TYPING_MS, _READING_MS = 45, 2_600
_LARGEST = 1_500_000


class Film:
    """Frames of a page, with the milliseconds that each was on the screen."""

    def __init__(self, somebody: Wearer) -> None:
        self._page = somebody.page
        self.frames: list[Image.Image] = []
        self.shown_ms: list[int] = []

    def take(self, shown_ms: int) -> None:
        """Add a frame; one that looks like the last prolongs it."""
        frame = Image.open(io.BytesIO(self._page.screenshot())).convert("RGB")
        if self.frames and frame.tobytes() == self.frames[-1].tobytes():
            self.shown_ms[-1] += shown_ms
            return
        self.frames.append(frame)
        self.shown_ms.append(shown_ms)

    def write(self, path: Path) -> int:
        """Write an endless WebP; return its size in bytes."""
        first, *others = self.frames
        options = {"duration": self.shown_ms, "loop": 0, "quality": 72, "method": 4}
        first.save(path, "WEBP", save_all=True, append_images=others, **options)
        return path.stat().st_size


def main() -> None:
    """Index, ask, write the picture."""
    configure_logging("warning")
    with tempfile.TemporaryDirectory() as made:
        indexed, _ = write_photographs(Path(made) / "photographs")
        platform = OneProcess(Path(made) / "index")
        platform.start()
        try:
            index(platform, indexed)
            size = record(platform.gateway_url, Path(made) / "photographs" / "asked" / PHOTO)
        finally:
            platform.stop()
    assert size <= _LARGEST, size


def index(platform: OneProcess, photos: Path) -> None:
    """Index the demo's photographs and pages."""
    urls, options = platform.service_urls, IngestOptions()
    anyio.run(ingest_photos, photos, urls["image_search"], options)
    anyio.run(ingest_pages, PAGES, urls["text_search"], options)


def record(url: str, photo: Path) -> int:
    """Choose the photo, ask every question, and write what is seen."""
    window = {"viewport": SIZE, "color_scheme": "light", "service_workers": "block"}
    with chromium() as browser, wearer(browser, url, **window) as somebody:
        film = Film(somebody)
        film.take(800)
        somebody.page.locator("#file").set_input_files(photo)
        somebody.page.locator("#stage[data-showing=photo]").wait_for()
        somebody.page.wait_for_timeout(500)
        film.take(800)
        for question in QUESTIONS:
            ask(somebody, film, question)
        return film.write(OUT / "answer.webp")


def ask(somebody: Wearer, film: Film, question: str) -> None:
    """Type a question, send it, and film the page until the answer has been read."""
    turns = somebody.page.locator(".turn")
    count, box = turns.count(), somebody.page.get_by_label("Your question")
    for end in range(2, len(question) + 2, 2):
        box.fill(question[:end])
        film.take(2 * _TYPING_MS)
    box.press("Enter")
    expect(turns).to_have_count(count + 1)
    before = time.monotonic()
    while somebody.turn().get_attribute("data-status") != "done":
        somebody.page.wait_for_timeout(60)
        now = time.monotonic()
        film.take(round((now - before) * 1000))
        before = now
    somebody.page.wait_for_timeout(600)  # until everything has moved
    film.take(_READING_MS)
    if (source := somebody.turn().locator(".source:not([open]) summary")).count():
        source.first.click()
        somebody.page.mouse.move(0, 0)
        somebody.page.wait_for_timeout(600)
        film.take(_READING_MS)


if __name__ == "__main__":
    main()
