"""Hold to talk: the recording is sent with the photo, and answers are spoken."""

import io
import wave
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal
from playwright.sync_api import expect

from tests.page.browser import Wearer, tone
from tests.page.conftest import Open
from tests.speech_servers import SpeechServers
from tests.unit.gateway.fakes import BOOK, PAGES
from tests.unit.gateway.reasoners import ScriptedReasoner

WORDS = "How many pages does this have?"


@pytest.fixture
def servers(portal: BlockingPortal, tmp_path: Path) -> SpeechServers:
    """One that hears `WORDS` whatever is said, and speaks a tone."""

    async def made() -> SpeechServers:
        return replace(SpeechServers(), words=WORDS, sound=sound, media_type="audio/wav")

    sound = tone(tmp_path / "said.wav", 0.5).read_bytes()
    return portal.call(made)


@pytest.fixture
def talk_to(open_page: Open, portal: BlockingPortal, servers: SpeechServers) -> Open:
    """As `open_page`, with a server that hears and, where `speaks`, one that speaks."""

    @contextmanager
    def opened(
        reasoner: ScriptedReasoner | None = None, speaks: bool = False
    ) -> Iterator[tuple[Wearer, object]]:
        with portal.wrap_async_context_manager(servers.up()) as url:
            settings = {"stt_url": url} | ({"tts_url": url, "tts_format": "wav"} if speaks else {})
            with open_page(reasoner=reasoner, **settings) as both:
                yield both

    return opened


def press(wearer: Wearer) -> None:
    """Press the talk button without releasing it."""
    wearer.page.get_by_role("button", name="Hold to talk").hover()
    wearer.page.mouse.down()
    wearer.page.locator("body[data-talking]").wait_for()


def hold(wearer: Wearer) -> None:
    """Hold the talk button for a second, then release it."""
    press(wearer)
    wearer.page.wait_for_timeout(1_000)
    wearer.page.mouse.up()


def test_held_button_sends_the_recording_with_the_photo(talk_to: Open, servers: SpeechServers) -> None:
    reasoner = ScriptedReasoner()
    with talk_to(reasoner) as (wearer, _):
        wearer.look()
        hold(wearer)
        expect(wearer.turn().locator(".question")).to_have_text(WORDS)
        expect(wearer.turn().locator(".answer")).to_have_text(PAGES)
    (query,) = reasoner.queries
    assert (query.question, query.photo is not None) == (WORDS, True)
    (heard,) = servers.heard
    with wave.open(io.BytesIO(heard.wav)) as sound:
        assert (sound.getnchannels(), sound.getframerate(), sound.getsampwidth()) == (1, 16_000, 2)
        assert 0.5 < sound.getnframes() / 16_000 < 3
        assert max(array("h", sound.readframes(sound.getnframes()))) > 1_000


def test_answer_is_played_if_the_gateway_speaks(talk_to: Open, servers: SpeechServers) -> None:
    with talk_to(speaks=True) as (wearer, _):
        wearer.look()
        with wearer.page.expect_response(lambda reply: "/speech" in reply.url) as fetched:
            hold(wearer)
        assert fetched.value.ok
        assert wearer.spoken() == [f"This is {BOOK}."]
    assert [each["input"] for each in servers.utterances] == [PAGES]


def test_enter_starts_and_stops_recording(talk_to: Open, servers: SpeechServers) -> None:
    with talk_to() as (wearer, _):
        wearer.look()
        wearer.page.get_by_role("button", name="Hold to talk").focus()
        # stop the clock: the press is short even on a busy machine
        wearer.page.evaluate("() => { performance.now = () => 0; }")
        wearer.page.keyboard.press("Enter")
        wearer.page.locator("body[data-talking]").wait_for()
        wearer.page.wait_for_timeout(1_000)
        wearer.page.keyboard.press("Enter")
        expect(wearer.turn()).to_have_attribute("data-status", "done")
    assert len(servers.heard) == 1


def test_escape_discards_the_recording(talk_to: Open, servers: SpeechServers) -> None:
    with talk_to() as (wearer, _):
        wearer.look()
        press(wearer)
        wearer.page.keyboard.press("Escape")
        expect(wearer.page.locator("body[data-talking]")).to_have_count(0)
        wearer.page.mouse.up()
        expect(wearer.page.locator(".turn")).to_have_count(0)
    assert servers.heard == []


def test_recording_made_offline_is_sent_later(talk_to: Open, servers: SpeechServers) -> None:
    with talk_to() as (wearer, _):
        wearer.look()
        wearer.context.set_offline(True)
        hold(wearer)
        expect(wearer.turn().locator(".question")).to_have_text("What you said")
        expect(wearer.page.locator("#offline")).to_be_visible()
        wearer.context.set_offline(False)
        expect(wearer.turn().locator(".question")).to_have_text(WORDS)
    assert len(servers.heard) == 1


def test_without_speech_servers_the_button_takes_the_photo(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.look()
        wearer.page.get_by_role("button", name="Type a question").click()
        wearer.page.locator("#stage[data-showing=photo]").wait_for()
        expect(wearer.page.get_by_label("Your question")).to_be_focused()


def test_denied_microphone_leaves_the_camera(talk_to: Open) -> None:
    with talk_to() as (wearer, _):
        wearer.page.evaluate(
            """() => {
              const devices = navigator.mediaDevices, open = devices.getUserMedia.bind(devices);
              devices.getUserMedia = async (wish) => {
                if (wish.audio) throw new DOMException("no leave", "NotAllowedError");
                return (window.given = await open(wish));
              };
            }"""
        )
        wearer.look()
        wearer.page.evaluate(
            """() => {
              const [track] = given.getVideoTracks();
              track.stop();
              track.dispatchEvent(new Event("ended"));
            }"""
        )
        wearer.page.locator("#stage[data-showing=nothing]").wait_for()


def test_button_released_before_permission_does_not_record(talk_to: Open) -> None:
    with talk_to() as (wearer, _):
        wearer.page.evaluate(
            """() => {
              const devices = navigator.mediaDevices, open = devices.getUserMedia.bind(devices);
              devices.getUserMedia = (wish) =>
                new Promise((allow) => { window.allow = () => allow(open(wish)); });
            }"""
        )
        wearer.page.get_by_role("button", name="Hold to talk").hover()
        wearer.page.mouse.down()
        wearer.page.wait_for_timeout(500)
        wearer.page.mouse.up()
        wearer.page.evaluate("() => allow()")
        wearer.page.locator("#stage[data-showing=live]").wait_for()
        expect(wearer.page.locator("body[data-talking]")).to_have_count(0)
        expect(wearer.page.locator(".turn")).to_have_count(0)
