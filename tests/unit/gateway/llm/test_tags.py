"""Replies in tags: read exactly, or not at all; never made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.pipelines.wiki_prf.port import PhotoTool, ToolCall, ToolPlan
from gateway.pipelines.wiki_prf.tags import CONTENT_CHARS, MOST_CALLS, read_call, read_plan, tagged

CAPTION, GROUNDING, FLIP = PhotoTool.CAPTION, PhotoTool.GROUNDING, PhotoTool.FLIP


def plan(*lines: str, thought: str = "<think>Look closer.</think>\n") -> str:
    """A plan with these lines."""
    return f"{thought}<tool>\n" + "\n".join(lines) + "\n</tool>"


def test_a_plan_is_read_in_the_model_s_own_order() -> None:
    read = read_plan(plan("2. flip", "1. Grounding: the panda", "3) caption: A panda climbs a tree."))
    calls = (
        ToolCall(FLIP),
        ToolCall(GROUNDING, "the panda"),
        ToolCall(CAPTION, "A panda climbs a tree."),
    )
    assert read == ToolPlan(calls, 0)


@pytest.mark.parametrize("line", ["1. Flip: Flip left.", "4. flip:", "1. flip", "12) FLIP: right"])
def test_a_flip_needs_no_words(line: str) -> None:
    assert read_call(line) == ToolCall(FLIP)


def test_a_server_that_keeps_thoughts_to_itself_is_read_too() -> None:
    assert read_plan(plan("1. flip", thought="")) == ToolPlan((ToolCall(FLIP),))


@pytest.mark.parametrize(
    "line",
    [
        "grounding: the panda",
        "- grounding: the panda",
        "a. grounding: the panda",
        "１. grounding: the panda",
        "100. grounding: the panda",
        "1. zoom: the panda",
        "1. grounding",
        "1. grounding:",
        "1. grounding:   \u200b ",
        "1. grounding: ... --",
        "1. 描述: 一只熊猫",
        "1. Beschreibung: ein Panda",
        "1. ｃaption: a panda",
        f"1. caption: {'x' * (CONTENT_CHARS + 1)}",
        f"1. caption: {'x' * 10_000}",
        "grounding: 1. the panda",
        "",
    ],
)
def test_what_is_no_call_is_none(line: str) -> None:
    assert read_call(line) is None


def test_lines_that_are_no_calls_are_dropped_and_counted() -> None:
    read = read_plan(plan("1. zoom: in", "", "2. flip", "3. flip", "and so on"))
    assert read == ToolPlan((ToolCall(FLIP),), 3)


def test_calls_beyond_the_fourth_are_dropped() -> None:
    read = read_plan(plan(*(f"{n}. caption: panda {n}" for n in range(1, 8))))
    assert read is not None
    assert [call.content for call in read.calls] == ["panda 1", "panda 2", "panda 3", "panda 4"]
    assert read.dropped == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1. flip",
        "<tool></tool>",
        "<tool>\n</tool>",
        "<tool>1. flip",
        "1. flip</tool>",
        "</tool>1. flip<tool>",
        "<think>x<tool>1. flip</tool>",
        "<think>x</think><tool>1. flip",
        "<think>x</think>1. flip</tool>",
        "<think><tool>1. flip</tool></think>",
        "<tool><tool>1. flip</tool></tool>",
        "<tool>1. flip</tool><tool>2. caption: a</tool>",
        "<tool>1. caption: a <b>panda</b></tool>",
        "<tool>1. caption: a <|im_end|><think>panda</tool>",
        "<Tool>1. flip</Tool>",
        "<tool >1. flip</tool>",
        "<answer>1. flip</answer>",
        "Sure! <tool>1. flip</tool>",
        "<think>x</think> Here it is: <tool>1. flip</tool>",
        "<tool>no call here</tool>",
        '{"tool": "flip"}',
    ],
)
def test_a_plan_that_does_not_keep_to_its_form_is_none(text: str) -> None:
    assert read_plan(text) is None


def test_an_answer_in_tags_is_what_stands_between_them() -> None:
    text = "<think>Piece 2 counts.</think>\n<answer>\n 31 metres < 40 metres\n</answer>\n"
    assert tagged(text, "answer") == "31 metres < 40 metres"
    assert tagged(text, "tool") is None
    assert tagged("<answer> </answer>", "answer") is None


PIECES = (
    *("<think>", "</think>", "<tool>", "</tool>", "<answer>", "</answer>", "1. flip", "2. caption: a b"),
    *("3. grounding: x", "\n", " ", "<", ">", "<<", "99", "caption:", "\u200b", "<|im_end|>", "é"),
)
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from(PIECES),
        max_size=24,
    ).map("".join),
    st.lists(st.text(max_size=60), max_size=8).map(lambda lines: plan(*lines)),
)


@given(TEXTS)
def test_reading_never_raises_is_bounded_and_invents_nothing(text: str) -> None:
    read = read_plan(text)
    inside = tagged(text, "answer")
    assert inside is None or (inside in text and inside.strip() == inside and inside)
    if read is None:
        return
    assert 1 <= len(read.calls) <= MOST_CALLS
    assert read.dropped >= 0
    assert len(set(read.calls)) == len(read.calls)
    lines = {"".join(line.split()) for line in text.splitlines()}
    for call in read.calls:
        assert call.tool is FLIP or call.content
        assert len(call.content) <= CONTENT_CHARS
        assert not set("\r\n\x00\u200b\u202e") & set(call.content)
        letters = [character for word in call.content.split() for character in word]
        assert any(all(letter in line for letter in letters) for line in lines)


@given(st.from_regex(r"[A-Za-z0-9 ,.'()-]{1,200}", fullmatch=True).filter(lambda text: text.strip(" ,.'()-")))
def test_a_caption_comes_back_as_it_was_written(text: str) -> None:
    assert read_call(f"1. caption: {text}") == ToolCall(CAPTION, " ".join(text.split()))
