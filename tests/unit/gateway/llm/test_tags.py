"""Replies in Wiki-PRF's form: what the reward takes for it, exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.pipelines.wiki_prf.lenient import read_plan
from gateway.pipelines.wiki_prf.tags import CONTENT_CHARS, MOST_CALLS, knowledge_in_form, plan_in_form
from gateway.pipelines.wiki_prf.tool_plan import PhotoTool, ToolCall

CAPTION, GROUNDING, FLIP = PhotoTool.CAPTION, PhotoTool.GROUNDING, PhotoTool.FLIP


def plan(*lines: str, thought: str = "<think>Look closer.</think>\n") -> str:
    """A plan with these lines."""
    return f"{thought}<tool>\n" + "\n".join(lines) + "\n</tool>"


def test_a_plan_in_form_has_the_calls_in_the_model_s_own_order() -> None:
    assert plan_in_form(plan("2. flip", "1. Grounding: the panda", "", "3) caption: A panda climbs.")) == (
        ToolCall(FLIP),
        ToolCall(GROUNDING, "the panda"),
        ToolCall(CAPTION, "A panda climbs."),
    )


@pytest.mark.parametrize("line", ["1. Flip: Flip left.", "4. flip:", "1. flip", "12) FLIP: right"])
def test_a_flip_needs_no_words(line: str) -> None:
    assert plan_in_form(plan(line)) == (ToolCall(FLIP),)


@pytest.mark.parametrize(
    "line",
    [
        *(f"{mark}grounding: the panda" for mark in ("", "- ", "a. ", "１. ", "100. ")),
        *("1. zoom: the panda", "1. captioning: the panda", "1. 描述: 一只熊猫", "1. ｃaption: a panda"),
        *("1. grounding", "1. grounding:", "1. grounding:   \u200b ", "1. grounding: ... --"),
        *(f"1. caption: {'x' * (CONTENT_CHARS + 1)}", "grounding: 1. the panda"),
    ],
)
def test_one_line_that_is_no_call_costs_the_whole_plan_its_reward(line: str) -> None:
    assert plan_in_form(plan("1. flip", line)) is None


def test_a_fifth_call_costs_the_plan_its_reward() -> None:
    lines = [f"{n}. caption: panda {n}" for n in range(1, MOST_CALLS + 2)]
    assert plan_in_form(plan(*lines)) is None
    assert len(plan_in_form(plan(*lines[:MOST_CALLS])) or ()) == MOST_CALLS


@pytest.mark.parametrize(
    "text",
    [
        *("", "1. flip", "<tool>1. flip</tool>", "<think><tool>1. flip</tool></think>"),
        *("<think>x<tool>1. flip</tool>", "Sure! <think>x</think><tool>1. flip</tool>"),
        *(
            f"<think>x</think>{rest}"
            for rest in (
                *("<tool></tool>", "<tool>\n</tool>", "<tool>1. flip", "1. flip</tool>"),
                "<Tool>1. flip</Tool>",
                *("<tool><tool>1. flip</tool></tool>", "<tool>1. flip</tool><tool>2. caption: a</tool>"),
                *("<tool>1. caption: a <b>panda</b></tool>", "<answer>1. flip</answer>"),
                *(" Here it is: <tool>1. flip</tool>", "<tool>no call here</tool>"),
            )
        ),
    ],
)
def test_a_plan_that_does_not_keep_to_its_form_is_none(text: str) -> None:
    assert plan_in_form(text) is None


def test_knowledge_in_form_is_what_stands_between_its_tags() -> None:
    text = "<think>Piece 2 counts.</think>\n<answer>\n 31 metres < 40 metres\n</answer>\n"
    assert knowledge_in_form(text) == "31 metres < 40 metres"
    assert plan_in_form(text) is None
    for other in (text[31:], text.replace("31", "<b>"), "<think>x</think><answer> </answer>", f"So: {text}"):
        assert knowledge_in_form(other) is None


PIECES = (
    *("<think>", "</think>", "<tool>", "</tool>", "<answer>", "</answer>", "1. flip", "2. caption: a b"),
    *("3. grounding: x", "\n", " ", "<", ">", "99", "caption:", "\u200b", "<|im_end|>", "é"),
)
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(PIECES), max_size=24).map("".join),
    st.lists(st.text(max_size=60), max_size=8).map(lambda lines: plan(*lines)),
    st.lists(st.sampled_from(PIECES[6:9]), min_size=1, max_size=6).map(lambda lines: plan(*lines)),
)


@given(TEXTS)
def test_what_is_in_form_is_read_the_same_by_those_who_serve(text: str) -> None:
    strict, served = plan_in_form(text), read_plan(text)
    assert (served is not None and served.in_form) == (strict is not None)
    if strict is not None and served is not None:
        assert served.calls == tuple(dict.fromkeys(strict))


@given(st.from_regex(r"[A-Za-z0-9 ,.'()-]{1,200}", fullmatch=True).filter(lambda text: text.strip(" ,.'()-")))
def test_a_caption_comes_back_as_it_was_written(text: str) -> None:
    assert plan_in_form(plan(f"1. caption: {text}")) == (ToolCall(CAPTION, " ".join(text.split())),)
