"""Transcripts without noise marks, answers without markup, addresses of speech, and cached sounds."""

import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from chassis.errors import NotFound
from gateway.speech.servers import AudioSink, words_of
from gateway.speech.spoken_answers import PATH, SignedSpeechUrls, SoundCache, SpokenText, speakable
from gateway.state import Priority
from gateway.store import MemoryStore
from tests.live import closed_port
from tests.unit.gateway.executions import wired_gateway

HEARD = {
    " Who wrote\n this? ": "Who wrote this?",
    "[BLANK_AUDIO]\n Who wrote this?\n (wind blowing)\n": "Who wrote this?",
    "*coughs* [MUSIC]": "",
    "How much is the (red) one [sic]?": "How much is the (red) one [sic]?",
    "\u266a la la \u266a": "la la",
    "...": "",
    "What is 5 * 3 * 2": "What is 5 * 3 * 2",
    "Who wrote *this*?": "Who wrote *this*?",
    "two\x00words\ud800": "two words",
}


@pytest.mark.parametrize(("text", "words"), HEARD.items(), ids=map(ascii, HEARD))
def test_non_speech_marks_are_removed_only_as_full_lines(text: str, words: str) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize("mark", ["[", "(", "*", "[a", "*a* ", "(a)(", "[\n", "\n"])
def test_transcripts_are_parsed_in_bounded_time(mark: str) -> None:
    began = time.thread_time()
    words_of(mark * (250_000 // len(mark)))
    assert time.thread_time() - began < 0.15


SAID = {
    "**Ada Byron** wrote `it` in _1843_.": "Ada Byron wrote it in _1843_.",
    "See [the page](https://example.org/a?b=c) for more.": "See the page for more.",
    "![a photo](https://example.org/a.png) A tower.": "a photo A tower.",
    "From https://example.org/wiki/Tower, 330 m.": "From, 330 m.",
    "More (https://example.org) here.": "More here.",
    "It was built in 1889 [1][2].": "It was built in 1889.",
    "It is tall\nIt is old.\n": "It is tall. It is old.",
    "# Size\n- It is tall\n- It is -5 °C cold.": "Size. It is tall. It is -5 °C cold.",
    "https://example.org": "",
}


@pytest.mark.parametrize(("text", "sentences"), SAID.items())
def test_sentences_are_spoken_without_markup(text: str, sentences: str) -> None:
    assert speakable(text, 1_000) == sentences


def test_long_text_is_cut_after_a_sentence_or_word() -> None:
    assert speakable("word " * 20, 22) == "word word word word"
    assert speakable("One is here. Two is there. Three.", 30) == "One is here. Two is there."


MARKS = ["[", "*", "(", "a\n", "`", "**a ", "\n", "\n ", "#", "- ", "\n-"]


@pytest.mark.parametrize("mark", MARKS)
def test_markup_only_text_is_handled_in_bounded_time(mark: str) -> None:
    text, most = mark * (20_000 // len(mark)), 5_000
    for each in (text, f"{text[:19_000]}x"):
        began = time.thread_time()
        assert len(speakable(each, most)) <= most
        assert time.thread_time() - began < 0.15


SAYING = SpokenText(text="It is 330 metres high.", tenant="anna", priority=Priority.STANDARD)


def part(address: str) -> str:
    return address.removeprefix(f"{PATH}/")


async def test_speech_url_is_valid_until_it_expires() -> None:
    now = [1_000.0]
    addresses = SignedSpeechUrls(b"secret", MemoryStore(), 60.0, lambda: now[0])
    address = part(await addresses.give(SAYING))
    now[0] = 1_059.0
    assert await addresses.find(address) == SAYING
    now[0] = 1_060.0
    with pytest.raises(NotFound):
        await addresses.find(address)


async def test_gateways_accept_speech_urls_of_their_own_secret_only() -> None:
    store = MemoryStore()
    one, two, other = (SignedSpeechUrls(secret, store, 60.0) for secret in (b"s", b"s", b"t"))
    address = part(await one.give(SAYING))
    assert await two.find(address) == SAYING
    assert part(await one.give(SAYING)) != address
    with pytest.raises(NotFound):
        await other.find(address)
    store.entries.delete(f"speech:{address.partition('.')[0]}")
    with pytest.raises(NotFound):
        await two.find(address)


@pytest.mark.parametrize("shared", [False, True])
async def test_gateways_with_shared_redis_share_a_secret(redis_url: str, shared: bool) -> None:
    settings: dict[str, Any] = {"tts_url": "http://127.0.0.1:1"}
    settings |= {"sessions": "redis", "redis_url": redis_url} if shared else {}
    async with wired_gateway(**settings) as one, wired_gateway(**settings) as two:
        assert (one.signing_secret == two.signing_secret) is shared


async def test_gateways_use_their_own_secret_while_redis_is_down() -> None:
    settings = {"sessions": "redis", "redis_url": closed_port().replace("http", "redis")}
    with capture_logs() as lines:
        async with wired_gateway(**settings) as one, wired_gateway(**settings) as two:
            assert one.signing_secret != two.signing_secret
    assert [line["event"] for line in lines].count("signing_secret_not_shared") == 2


MIB = 2**20


@pytest.mark.parametrize(("mebibytes", "is_cached"), [(1, True), (5, False)])
async def test_large_sounds_are_not_cached(mebibytes: int, is_cached: bool) -> None:
    async def say(sink: AudioSink) -> None:
        for _ in range(mebibytes):
            await sink("audio/mpeg", bytes(MIB))

    cache = SoundCache(MemoryStore(), 60.0)
    sound = await cache.make("answer", say, "tenant")
    assert (sound.media_type, len(sound.content)) == ("audio/mpeg", mebibytes * MIB)
    assert (await cache.get("answer") is not None) is is_cached
