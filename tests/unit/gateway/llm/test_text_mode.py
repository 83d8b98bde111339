"""Replies of text: what is asked for on the wire, where reading ends, and what a server's limits cost."""

import math
from dataclasses import replace

import pytest

from bench.node import says
from chassis.resilience.deadlines import Deadline
from gateway.llm.capabilities import EVERYTHING, ServerFeatures
from gateway.llm.completion import Assembly, Completion
from gateway.llm.prompt import Prompt, TextPart
from gateway.llm.reading import answer_of, reply_of_text
from gateway.llm.server import VlmReplyUnusable
from gateway.llm.wire import Token
from tests.unit.gateway.llm.stage import Bench, bench, page
from tests.unit.gateway.scripted_model import chunk

TEXT = Prompt("note", "You look at photos.", (TextPart('Write the form "note".'),), str, 40)


async def write(it: Bench) -> Completion[str]:
    """One reply of text."""
    return await it.client.complete(TEXT, Deadline.after_ms(60_000))


async def test_text_is_asked_for_without_a_schema_and_unmeasured() -> None:
    async with bench({"note": says("A red door.")}) as it:
        written = await write(it)
    body = it.server.requests[0].body
    assert written.text == "A red door."
    assert (written.tokens, written.finish_reason, written.cut_off) == (None, "stop", False)
    assert written.usage is not None
    assert not {"response_format", "logprobs", "top_logprobs"} & set(body)
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0, 0, 40)
    assert body["messages"][1]["content"] == TEXT.user[0].text  # type: ignore[union-attr]


def test_text_replies_do_not_change_the_schema_form() -> None:
    memory = ServerFeatures()
    memory.update_from_reply(replace(EVERYTHING, schema=False, seed=False), of_form=False)
    assert memory.current == replace(EVERYTHING, seed=False)
    assert not memory.confirmed
    memory.update_from_reply(memory.current)
    assert memory.confirmed


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_empty_text_is_an_error(text: str) -> None:
    async with bench({"note": says(text)}) as it:
        with pytest.raises(VlmReplyUnusable):
            await write(it)
    assert it.calls[0].outcome == "dependency_unavailable"


@pytest.mark.parametrize("cut", range(1, 8))
def test_closing_tag_is_detected_across_chunks(cut: int) -> None:
    assembly: Assembly[str] = Assembly(str, ends_with="</tool>")
    text = "a</to</tool>"
    for start in range(0, len(text), cut):
        assert not assembly.is_complete
        assembly.add(chunk(text[start : start + cut]))
    assert assembly.is_complete


def written(text: str, tokens: tuple[Token, ...] | None = None) -> Completion[str]:
    return Completion(text, text, tokens, "stop")


@pytest.mark.parametrize(
    ("text", "reason", "answer"),
    [
        ("It is 31 m tall.", "stop", "It is 31 m tall."),
        ("**It** is [31 m](http://evil.example/?q=secret) tall.", "stop", "It is 31 m tall."),
        ("It is 31 m tall. It was lit in 18", "length", "It is 31 m tall."),
        ("It was first lit in 18", "length", "It was first lit in"),
        ("18", "length", None),
        ("<think>Is it 31 or 41?</think>\nIt is 31 m tall.", "stop", "It is 31 m tall."),
        ("Is it 31 or 41?</think> It is 31 m tall.", "stop", "It is 31 m tall."),
        ("<think>It may be 41. Or it is 31", "length", None),
        ('{"reason": "A page.", "answer": "It is 31 m tall."}', "stop", "It is 31 m tall."),
        ('```json\n{"answer": "It is 31 m tall."}\n```', "stop", "It is 31 m tall."),
        ('{"answer": "I don\'t know"}', "stop", None),
        ('{"answer": "It is 3', "length", None),
        ("```\nIt is 31 m tall.\n```", "stop", "It is 31 m tall."),
    ],
)
def test_answer_has_no_markup_and_no_cut_number(text: str, reason: str, answer: str | None) -> None:
    assert answer_of(text, cut_off=reason == "length") == answer


def test_answer_quotes_only_evidence_of_the_prompt() -> None:
    tokens = (Token(token="Built of stone.", logprob=-0.1), Token(token="<|end|>", logprob=-2.3))
    reply = written("Built of stone.", tokens=tokens)
    pieces = (page("Built of stone."), page("Cats sleep all day."))
    both, second = (reply_of_text(reply, pieces, shown) for shown in ((0, 1), (1,)))
    assert both is not None
    assert second is not None
    assert [(quote.index, quote.text) for quote in both.quotes] == [(0, "Built of stone.")]
    assert second.quotes == ()
    assert both.token_probabilities == (math.exp(-0.1),)
