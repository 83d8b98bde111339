"""What is left of a transcription server's text: what was said, and nothing of what was only to be heard."""

import time

import pytest

from gateway.speech.servers import words_of

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


@pytest.mark.parametrize(("text", "words"), SAID.items(), ids=map(ascii, SAID))
def test_only_whole_lines_are_no_speech(text: str, words: str) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize("mark", ["[", "(", "*", "[a", "*a* ", "(a)(", "[\n", "\n"])
def test_no_reply_keeps_the_gateway_busy(mark: str) -> None:
    began = time.thread_time()
    words_of(mark * (250_000 // len(mark)))
    assert time.thread_time() - began < 0.15
