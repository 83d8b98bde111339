"""`make screenshots`: pictures of the page for docs/page.md, and figures that the browser itself measured.

A photo of the sample is before the camera, the question is spoken into the microphone, and the answer
comes from a real platform: see tests/page/sample.py.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect
from rich.console import Console

from chassis.telemetry.logs import configure_logging
from tests.page.browser import DESK, PHONE, Wearer, chromium, wearer
from tests.page.sample import PHOTO, WORDS, microphone, served

OUT = Path(__file__).resolve().parents[2] / "docs" / "page"
_SILENCE_S, _SPOKEN_S = 4.0, 3.2
_LOADED = """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
  .reduce((sum, entry) => sum + entry.transferSize, 0)"""
_MARKS = """() => Object.fromEntries(
  performance.getEntriesByType("mark").reverse().map((mark) => [mark.name, mark.startTime]))"""
"""Of those of one name the first."""


def main() -> None:
    """Take the four pictures; print the figures as JSON."""
    configure_logging("warning")
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sound = microphone(folder / "question.wav", WORDS, _SILENCE_S)
        with served(folder) as url, chromium(PHOTO, f"{sound}%noloop") as browser:
            figures = [
                picture(browser, url, f"{name}-{theme}", theme, size)
                for name, size in (("phone", PHONE), ("desk", DESK))
                for theme in ("light", "dark")
            ]
    Console().print_json(json.dumps(figures))


def picture(browser: Browser, url: str, name: str, theme: str, size: Mapping[str, int]) -> dict[str, Any]:
    """Look, ask aloud, read the answer; one picture of that, and how long it took."""
    scale = 2 if size is PHONE else 1
    window = {"viewport": size, "color_scheme": theme, "device_scale_factor": scale}
    with wearer(browser, url, **window, service_workers="block") as somebody:
        loaded, ready = somebody.page.evaluate(_LOADED), somebody.page.evaluate(_MARKS)["interactive"]
        ask_aloud(somebody)
        answer = somebody.turn().locator(".answer").inner_text()
        somebody.turn().locator(".source summary").first.click()
        somebody.page.mouse.move(0, 0)
        expect(somebody.page.locator("#speaking")).to_be_hidden()
        somebody.page.wait_for_timeout(1_000)  # what moves has moved
        path = OUT / f"{name}.jpg"
        somebody.page.screenshot(path=path, quality=80)
        marks = somebody.page.evaluate(_MARKS)
    return {
        "picture": path.name,
        "answer": answer,
        "bytes loaded": loaded,
        "ms to interactive": round(ready),
        "ms from release to first word": round(marks["first-word"] - marks["release"]),
        "ms from release to whole answer": round(marks["answer"] - marks["release"]),
    }


def ask_aloud(somebody: Wearer) -> None:
    """The microphone is silent for a while from when it is opened: time to look, then to hold the button."""
    somebody.look()
    button = somebody.page.get_by_role("button", name="Hold to talk")
    somebody.page.wait_for_timeout((_SILENCE_S - 2) * 1_000)
    button.hover()
    somebody.page.mouse.down()
    somebody.page.wait_for_timeout((_SPOKEN_S + 2) * 1_000)
    somebody.page.mouse.up()
    expect(somebody.turn()).to_have_attribute("data-status", "done")


if __name__ == "__main__":
    main()
