"""What is said aloud of an answer: its sentences, and nothing that is only there to be seen."""

import time

import pytest

from gateway.speech.spoken_answers import spoken

SAID = {
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


@pytest.mark.parametrize(("text", "sentences"), SAID.items())
def test_sentences_are_said_without_marks(text: str, sentences: str) -> None:
    assert spoken(text, 1_000) == sentences


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
