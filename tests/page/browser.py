"""A real Chromium with a camera and a microphone that are files, and the page as a wearer's hands find it."""

import math
import shutil
import struct
import wave
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium")
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
PATIENCE_MS = 15_000.0
_SPOKEN = """
  window.spoken = [];
  const queue = [];
  const next = () => {
    const said = queue[0];
    if (!said || said.begun) return;
    said.begun = true;
    spoken.push(said.text);
    said.onstart?.();
    setTimeout(() => { if (queue[0] === said) { queue.shift(); said.onend?.(); next(); } }, 100);
  };
  const voice = {
    speak(said) { if (said.text.trim()) { queue.push(said); next(); } },
    cancel() { if (queue.length) { spoken.push("(cut off)"); queue.length = 0; } },
  };
  Object.defineProperty(window, "speechSynthesis", { value: voice });
"""
"""Headless browsers have no voice; this one takes its time for each text, and keeps what it began to say."""
_ASKED = """
  const query = navigator.permissions.query.bind(navigator.permissions);
  navigator.permissions.query = (what) =>
    what.name === "camera" ? Promise.resolve({ state: "prompt" }) : query(what);
"""
"""As for a wearer who comes for the first time: the camera opens when it is asked for."""
_EXPECTED = "Failed to load resource"
"""The console's line for every reply that is no 200, and for a network that is off."""


@contextmanager
def chromium(camera: Path | None = None, microphone: Path | str = "") -> Iterator[Browser]:
    """A browser whose camera shows one photo (JPEG) and whose microphone hears one sound (WAV) for ever;
    `x.wav%noloop`: once.
    """
    options = ["--no-sandbox", "--use-fake-ui-for-media-stream"]
    if camera or microphone:
        options.append("--use-fake-device-for-media-stream")
    if camera:
        film = camera.with_suffix(".mjpeg")
        film.write_bytes(camera.read_bytes() * 2)
        options.append(f"--use-file-for-fake-video-capture={film}")
    if microphone:
        options.append(f"--use-file-for-fake-audio-capture={microphone}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        try:
            yield browser
        finally:
            browser.close()


def tone(path: Path, seconds: float = 2.0) -> Path:
    """A WAV file that is not silent."""
    rate = 16_000
    samples = (int(9_000 * math.sin(place / 9)) for place in range(int(rate * seconds)))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return path


@dataclass
class Wearer:
    """Somebody before the page. `faults`: what the browser complained of; there must be nothing."""

    page: Page
    context: BrowserContext
    faults: list[str] = field(default_factory=list)

    def open(self, url: str) -> None:
        """Go there, and wait until the page is ready."""
        self.page.goto(url)
        self.page.locator("body[data-ready]").wait_for()

    def look(self) -> None:
        """Open the camera."""
        self.page.get_by_role("button", name="Use the camera").click()
        self.page.locator("#stage[data-showing=live]").wait_for()

    def choose(self, photo: Path) -> None:
        """Choose a photo file and wait until the page shows it."""
        self.page.locator("#file").set_input_files(photo)
        self.page.locator("#stage[data-showing=photo]").wait_for()

    def more(self, button: str) -> None:
        """Open the "More" menu and press a button in it."""
        self.page.get_by_role("button", name="More").click()
        self.page.get_by_role("button", name=button).click()

    def ask(self, question: str) -> None:
        """Type a question and send it."""
        field = self.page.get_by_label("Your question")
        field.fill(question)
        field.press("Enter")

    def turn(self, place: int = -1) -> Locator:
        """A turn of the conversation; the last one unless told otherwise."""
        turns = self.page.locator(".turn")
        return turns.last if place < 0 else turns.nth(place)

    def answer(self, question: str) -> Locator:
        """Ask, and wait for the turn to be settled."""
        count = self.page.locator(".turn").count()
        self.ask(question)
        expect(self.page.locator(".turn")).to_have_count(count + 1)
        expect(self.turn()).to_have_attribute("data-status", "done")
        return self.turn()

    def spoken(self) -> Sequence[str]:
        """What was said aloud, sentence by sentence."""
        expect(self.page.locator("#speaking")).to_be_hidden()
        texts: list[str] = self.page.evaluate("() => spoken")
        return texts


@contextmanager
def wearer(browser: Browser, base_url: str, **options: Any) -> Iterator[Wearer]:
    """Somebody with the page open, in a window of its own. The browser must have nothing to complain of."""
    settings: Mapping[str, Any] = {"viewport": PHONE, "permissions": ["camera", "microphone"], **options}
    expect.set_options(timeout=PATIENCE_MS)
    context = browser.new_context(base_url=base_url, **settings)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(_SPOKEN + _ASKED)
    page = context.new_page()
    somebody = Wearer(page, context)
    page.on("pageerror", lambda error: somebody.faults.append(str(error)))
    page.on("console", lambda told: told.type == "error" and somebody.faults.append(told.text))
    try:
        somebody.open("/")
        yield somebody
        assert [fault for fault in somebody.faults if _EXPECTED not in fault] == []
    finally:
        context.close()
