"""Words that are heard, and how answers are spoken."""

import time

import anyio
import pytest

from chassis.errors import DependencyUnavailable, NotFound
from gateway.serving.stores import MemoryStore
from gateway.speech.servers import AudioSink, words_of
from gateway.speech.spoken_answers import PATH, CachedSound, SignedSpeechUrls, SoundCache, SpokenText, spoken
from gateway.state import Priority
from tests.unit.gateway.wired import wired_gateway

pytestmark = pytest.mark.anyio

SAID = {
    "Who wrote this?": "Who wrote this?",
    " Who wrote\n this? ": "Who wrote this?",
    "[BLANK_AUDIO]\n Who wrote this?\n (wind blowing)\n": "Who wrote this?",
    "*coughs* [MUSIC]": "",
    "\u266a la la \u266a": "la la",
    "...": "",
    "What is 5 * 3 * 2": "What is 5 * 3 * 2",
    "How much is the (red) one?": "How much is the (red) one?",
    "Who wrote *this*?": "Who wrote *this*?",
    "Is [sic] a word?": "Is [sic] a word?",
    "two\x00words\ud800": "two words",
}


@pytest.mark.parametrize(("text", "said"), SAID.items(), ids=map(ascii, SAID))
def test_only_whole_lines_are_no_speech(text: str, said: str) -> None:
    assert words_of(text) == said


@pytest.mark.parametrize("mark", ["[", "(", "*", "[a", "*a* ", "(a)(", "[\n", "\n"])
def test_no_reply_keeps_the_gateway_busy(mark: str) -> None:
    began = time.thread_time()
    words_of(mark * (250_000 // len(mark)))
    assert time.thread_time() - began < 0.15


@pytest.mark.parametrize("size", [1, 5 * 2**20])
async def test_a_sound_that_several_want_at_once_is_made_once(size: int) -> None:
    sounds, go, began = SoundCache(MemoryStore(32 * 2**20), 60.0), anyio.Event(), []
    got: list[CachedSound] = []

    async def say(hear: AudioSink) -> None:
        began.append(size)
        await go.wait()
        await hear("audio/mpeg", bytes(size))

    async def want() -> None:
        got.append(await sounds.whole("name", say, "acme"))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(want)
        await anyio.wait_all_tasks_blocked()
        go.set()
    assert got == [CachedSound("audio/mpeg", bytes(size))] * 3
    assert len(began) == 1


async def test_what_failed_is_tried_again() -> None:
    sounds = SoundCache(MemoryStore(), 60.0)

    async def fail(_: AudioSink) -> None:
        raise DependencyUnavailable

    async def say(hear: AudioSink) -> None:
        await hear("audio/mpeg", b"ID3")

    with pytest.raises(DependencyUnavailable):
        await sounds.whole("name", fail, "acme")
    assert (await sounds.whole("name", say, "acme")).content == b"ID3"


SAYING = SpokenText(text="It is 330 metres high.", tenant="anna", priority=Priority.STANDARD)


def part(address: str) -> str:
    return address.removeprefix(f"{PATH}/")


async def test_an_address_is_good_until_its_time_is_over() -> None:
    now = [1_000.0]
    addresses = SignedSpeechUrls(b"secret", MemoryStore(), 60.0, lambda: now[0])
    address = part(await addresses.give(SAYING))
    now[0] = 1_059.0
    assert await addresses.find(address) == SAYING
    now[0] = 1_060.0
    with pytest.raises(NotFound):
        await addresses.find(address)


async def test_gateways_with_the_same_secret_take_each_others_addresses_and_no_others() -> None:
    kept = MemoryStore()
    one, two, other = (SignedSpeechUrls(secret, kept, 60.0) for secret in (b"s", b"s", b"t"))
    address = part(await one.give(SAYING))
    assert await two.find(address) == SAYING
    assert part(await one.give(SAYING)) != address
    with pytest.raises(NotFound):
        await other.find(address)
    await kept.close()
    with pytest.raises(NotFound):
        await two.find(address)


@pytest.mark.parametrize("redis", [False, True])
async def test_gateways_that_share_redis_agree_without_a_set_secret_and_others_do_not(redis: bool) -> None:
    settings = {"tts_url": "http://127.0.0.1:1", **({"sessions": "redis"} if redis else {})}
    async with wired_gateway(**settings) as one, wired_gateway(**settings) as two:
        assert one.voice.signed_urls is not None
        assert two.voice.signed_urls is not None
        kept = MemoryStore()
        one.voice.signed_urls._store = two.voice.signed_urls._store = kept
        address = part(await one.voice.signed_urls.give(SAYING))
        if redis:
            assert await two.voice.signed_urls.find(address) == SAYING
        else:
            with pytest.raises(NotFound):
                await two.voice.signed_urls.find(address)


SPOKEN = {
    "It is 330 m high.": "It is 330 m high.",
    "**Ada Byron** wrote `it` in _1843_.": "Ada Byron wrote it in _1843_.",
    "See [the page](https://example.org/a?b=c) for more.": "See the page for more.",
    "![a photo](https://example.org/a.png) A tower.": "a photo A tower.",
    "From https://example.org/wiki/Tower, 330 m.": "From, 330 m.",
    "More (https://example.org) here.": "More here.",
    "It was built in 1889 [1][2].": "It was built in 1889.",
    "# Answer\n\n- It is tall\n- It is old.\n": "Answer. It is tall. It is old.",
    "> A quote.\n\n---\n\nAn end.": "A quote. An end.",
    "| a | b |\n|---|---|\n| 1 | 2 |": "a, b. 1, 2",
    "```\nprint(1)\n```": "print(1).",
    "2 * 3 * 4 is 24.": "2 * 3 * 4 is 24.",
    "snake_case_name stays.": "snake_case_name stays.",
    "": "",
    "https://example.org": "",
}


@pytest.mark.parametrize(("text", "said"), SPOKEN.items())
def test_sentences_are_said_without_marks(text: str, said: str) -> None:
    assert spoken(text, 1_000) == said


def test_a_long_text_ends_behind_a_sentence_or_a_word() -> None:
    assert spoken("word " * 20, 22) == "word word word word"
    assert spoken("One is here. Two is there. Three.", 30) == "One is here. Two is there."


MARKS = ["[", "*", "(", "a\n", "`", "**a ", "-", "- ", "\n", "\n ", "|"]


@pytest.mark.parametrize("mark", MARKS)
def test_what_is_all_marks_takes_no_time(mark: str) -> None:
    text, most = mark * (20_000 // len(mark)), 5_000
    for each in (text, f"{text[:19_000]}x"):
        began = time.thread_time()
        assert len(spoken(each, most)) <= most
        assert time.thread_time() - began < 0.15
