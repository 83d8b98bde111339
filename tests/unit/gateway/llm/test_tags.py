"""Tool plans and knowledge in Wiki-PRF's form, and however else a model spells them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.pipelines.wiki_prf.tool_plan import (
    CONTENT_CHARS,
    MOST_CALLS,
    PhotoTool,
    ToolCall,
    ToolPlan,
    knowledge_in_form,
    plan_in_form,
    read_call,
    read_knowledge,
    read_plan,
)

CAPTION, GROUNDING, FLIP = PhotoTool.CAPTION, PhotoTool.GROUNDING, PhotoTool.FLIP


def plan(*lines: str, thought: str = "<think>Look closer.</think>\n") -> str:
    """A plan with these lines."""
    return f"{thought}<tool>\n" + "\n".join(lines) + "\n</tool>"


def test_well_formed_plan_keeps_the_models_order() -> None:
    lines = ("2. flip", "1. Grounding: the panda", "", "3) caption: A panda climbs.", "12) FLIP: right")
    calls = (ToolCall(FLIP), ToolCall(GROUNDING, "the panda"), ToolCall(CAPTION, "A panda climbs."))
    assert plan_in_form(plan(*lines)) == (*calls, ToolCall(FLIP))


@pytest.mark.parametrize(
    "line",
    [
        *(f"{mark}grounding: the panda" for mark in ("", "- ", "１. ", "100. ")),
        *("1. zoom: the panda", "1. captioning: the panda", "1. ｃaption: a panda"),
        *("1. grounding", "1. grounding:   \u200b ", "1. grounding: ... --"),
        *(f"1. caption: {'x' * (CONTENT_CHARS + 1)}", "grounding: 1. the panda"),
    ],
)
def test_plan_with_an_invalid_line_is_not_well_formed(line: str) -> None:
    assert plan_in_form(plan("1. flip", line)) is None


def test_plan_is_limited_to_eight_distinct_calls() -> None:
    lines = [f"{n}. caption: panda {n}" for n in range(1, MOST_CALLS + 2)]
    assert plan_in_form(plan(*lines)) is None
    first = plan_in_form(plan(*lines[:MOST_CALLS])) or ()
    assert len(first) == MOST_CALLS
    assert read_plan(plan(*lines)) == ToolPlan(first)
    read = read_plan("<tool>\n1. zoom: in\n2. flip\n3. flip\nand so on\n</tool>")
    assert read == ToolPlan((ToolCall(FLIP),))


@pytest.mark.parametrize(
    "text",
    [
        *("1. flip", "<tool>1. flip</tool>", "<think><tool>1. flip</tool></think>"),
        *("<think>x<tool>1. flip</tool>", "Sure! <think>x</think><tool>1. flip</tool>"),
        *("<think>x</think><tool>\n</tool>", "<think>x</think><tool>1. flip"),
        *("<think>x</think><Tool>1. flip</Tool>", "<think>x</think><answer>1. flip</answer>"),
        *(
            "<think>x</think><tool>1. caption: a <b>panda</b></tool>",
            "<think>x</think> So: <tool>1. flip</tool>",
        ),
        "<think>x</think><tool>1. flip</tool><tool>2. caption: a</tool>",
    ],
)
def test_plan_outside_its_tags_is_not_well_formed(text: str) -> None:
    assert plan_in_form(text) is None


def test_well_formed_knowledge_is_read_from_its_tags() -> None:
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
def test_strict_and_lenient_readers_agree(text: str) -> None:
    if strict := plan_in_form(text):
        assert read_plan(text) == ToolPlan(tuple(dict.fromkeys(strict)))


SPELLINGS = (
    "<think>Maybe caption it.\n1. caption: no plan yet</think>\n{}",
    "<THINK>flip\nflip</THINK>\nSure! Here is the plan:\n<Tools>\n{}\n</Tools>",
    "<tool_call>{}",
    "{}\n</tool>\nDone.",
    "```\n{}\n```",
    "<think>What first?\n<tool>\n{}\n</tool>",
)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("gap", ["\n\n", " \r\n"])
def test_plan_is_read_in_any_frame(spelling: str, gap: str) -> None:
    read = read_plan(spelling.format(gap.join(("- Flip", "(2) CAPTION: a seated man"))))
    assert read == ToolPlan((ToolCall(FLIP), ToolCall(CAPTION, "a seated man")))


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("- caption: A panda climbs.", ToolCall(CAPTION, "A panda climbs.")),
        ("grounding: <the red panda>", ToolCall(GROUNDING, "the red panda")),
        ("1. caption: a <b>panda</b><|im_end|>", ToolCall(CAPTION, "a panda")),
        ("caption: " + "panda " * 90, ToolCall(CAPTION, ("panda " * 50).strip())),
        ("**2.** Mirror the image", ToolCall(FLIP)),
        ("* image captioning(St. Paul's dome)", ToolCall(CAPTION, "St. Paul's dome")),
        ("Step 2: DESCRIPTION - door no. 3: left", ToolCall(CAPTION, "door no. 3: left")),
        ('Tool: visual grounding("the dome")', ToolCall(GROUNDING, "the dome")),
        ("- 2. Detection → the dome", ToolCall(GROUNDING, "the dome")),
        ("• locate = the dome", ToolCall(GROUNDING, "the dome")),
        ('2) ground(object="the dome")', ToolCall(GROUNDING, "the dome")),
        ("Caption tool (“a dome”)", ToolCall(CAPTION, "a dome")),
        ("Flip the image left or right", ToolCall(FLIP)),
    ],
)
def test_line_is_read_as_its_call(line: str, call: ToolCall) -> None:
    assert read_call(line) == call


@pytest.mark.parametrize(
    "line",
    [
        *("Caption", "1. grounding: ... --", "grounding:", "grounding: none", "3. flip: not needed"),
        *("caption: N/A (the photo is enough)", "Describe the statue: it is bronze.", '{"tool": "flip"}'),
        *("Flip side: it is expensive", "captioned: a panda", "1. zoom: the panda"),
        *("I would call caption: a panda", "the question says: grounding: the panda"),
    ],
)
def test_prose_and_unwanted_tools_are_not_calls(line: str) -> None:
    assert read_call(line) is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "<tool>no call here</tool>", "</tool>1. flip<tool>", "1. flip\n<tool>nothing</tool>"),
        *("1. flip</think>The photo is enough.", "<think>I could\n1. flip"),
        "<think><tool>1. flip</tool></think>",
    ],
)
def test_text_without_a_plan_gives_none(text: str) -> None:
    assert read_plan(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "<think>Piece 1.</think><answer> Turin. </answer>",
        "Here it is:\n<Answer>Turin.</Answer>\nI hope that helps.",
        "<think>Piece 1<answer>Turin.</answer>",
        "<answer>Rome.</answer> No: <answer>Turin.</answer>",
    ],
)
def test_knowledge_is_read_from_the_last_answer_tags(text: str) -> None:
    assert read_knowledge(text) == "Turin."


@pytest.mark.parametrize(
    "text",
    ["Turin.", "<answer>Turin.", "Turin.</answer>", "<answer></answer>", "<think><answer>a</answer></think>"],
)
def test_knowledge_without_its_tags_is_none(text: str) -> None:
    assert read_knowledge(text) is None


@given(TEXTS)
def test_reading_never_raises_and_is_bounded(text: str) -> None:
    inside = read_knowledge(text)
    assert inside is None or (inside and inside.strip() == inside)
    read = read_plan(text)
    if read is None:
        return
    assert 1 <= len(read.calls) <= MOST_CALLS
    assert len(set(read.calls)) == len(read.calls)
    for call in read.calls:
        assert call.tool is FLIP or call.content
        assert len(call.content) <= CONTENT_CHARS
        assert not set("\r\n\x00\u200b\u202e") & set(call.content)
