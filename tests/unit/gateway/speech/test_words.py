"""Transcripts without noise marks, and answers without markup, both read in bounded time."""

import time

import pytest

from gateway.speech.servers import words_of
from gateway.speech.spoken_answers import speakable

HEARD = {
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


@pytest.mark.parametrize(("text", "words"), HEARD.items(), ids=map(ascii, HEARD))
def test_only_whole_lines_are_no_speech(text: str, words: str) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize("mark", ["[", "(", "*", "[a", "*a* ", "(a)(", "[\n", "\n"])
def test_no_reply_keeps_the_gateway_busy(mark: str) -> None:
    began = time.thread_time()
    words_of(mark * (250_000 // len(mark)))
    assert time.thread_time() - began < 0.15


SAID = {
    "It is 330 m high.": "It is 330 m high.",
    "**Ada Byron** wrote `it` in _1843_.": "Ada Byron wrote it in _1843_.",
    "See [the page](https://example.org/a?b=c) for more.": "See the page for more.",
    "![a photo](https://example.org/a.png) A tower.": "a photo A tower.",
    "From https://example.org/wiki/Tower, 330 m.": "From, 330 m.",
    "More (https://example.org) here.": "More here.",
    "It was built in 1889 [1][2].": "It was built in 1889.",
    "It is tall\nIt is old.\n": "It is tall. It is old.",
    "2 * 3 * 4 is 24.": "2 * 3 * 4 is 24.",
    "# Size\n- It is tall\n- It is -5 °C cold.": "Size. It is tall. It is -5 °C cold.",
    "snake_case_name stays.": "snake_case_name stays.",
    "": "",
    "https://example.org": "",
}


@pytest.mark.parametrize(("text", "sentences"), SAID.items())
def test_sentences_are_said_without_marks(text: str, sentences: str) -> None:
    assert speakable(text, 1_000) == sentences


def test_a_long_text_ends_behind_a_sentence_or_a_word() -> None:
    assert speakable("word " * 20, 22) == "word word word word"
    assert speakable("One is here. Two is there. Three.", 30) == "One is here. Two is there."


MARKS = ["[", "*", "(", "a\n", "`", "**a ", "\n", "\n ", "#", "- ", "\n-"]


@pytest.mark.parametrize("mark", MARKS)
def test_what_is_all_marks_takes_no_time(mark: str) -> None:
    text, most = mark * (20_000 // len(mark)), 5_000
    for each in (text, f"{text[:19_000]}x"):
        began = time.thread_time()
        assert len(speakable(each, most)) <= most
        assert time.thread_time() - began < 0.15
