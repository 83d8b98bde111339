"""The VLM client against a server that says what servers say."""

import itertools
import json
from typing import Any

import anyio
import pytest
from pydantic import BaseModel, Field

from bench.node import ServerTraits, TokenStyle, context_too_long, fails, overloaded, says, vllm_error
from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError, Overloaded
from chassis.http.client import Endpoint
from chassis.resilience.deadlines import Deadline
from gateway.llm.prompt import ImagePart, Prompt, TextPart
from gateway.llm.reply_forms import LINES, SCHEMA
from gateway.llm.server import ContextTooLong, VlmDeclined, VlmReplyUnusable, read_models
from tests.unit.gateway.llm.stage import PHOTO, Bench, bench


class Shelf(BaseModel):
    """Where it stands."""

    row: int = Field(description="counted from the top")
    labels: list[str] = Field(max_length=2)


class Finding(BaseModel):
    """A form with most of what schemas hold."""

    reason: str = Field(max_length=40)
    answer: str | None = Field(default=None, max_length=12)
    shelf: Shelf | None = None


GOOD = {"reason": 'The "Zoë" sign', "answer": "café 茶", "shelf": {"row": 2, "labels": ["a"]}}
GOOD_TEXT = json.dumps(GOOD, ensure_ascii=False)
MINUTE = 60_000


PROMPT = Prompt(
    name="finding",
    system="You look at photos.",
    user=(ImagePart(PHOTO.jpeg), TextPart("Question: what is it?"), TextPart("Say what you find.")),
    schema=Finding,
    max_tokens=200,
)


async def ask(it: Bench, ms: float = MINUTE) -> Any:
    """One completion."""
    return await it.client.complete(PROMPT, Deadline.after_ms(ms))


async def test_photo_and_schema_are_sent_and_the_reply_is_parsed() -> None:
    async with bench({"finding": says(GOOD)}) as it:
        completion = await ask(it)
        (request,) = it.server.requests
    assert request.images == [PHOTO.jpeg]
    assert request.body["stream"] is True
    schema = request.body["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == list(Finding.model_fields)
    assert (completion.value, completion.text) == (Finding.model_validate(GOOD), GOOD_TEXT)
    assert completion.usage is not None
    assert completion.usage.completion_tokens == len(completion.tokens)
    assert completion.usage.cached_tokens is not None


@pytest.mark.parametrize("style", list(TokenStyle))
@pytest.mark.parametrize("special", [False, True])
async def test_field_probabilities_come_from_its_own_tokens(style: TokenStyle, special: bool) -> None:
    reply = says(GOOD, probability=0.5, probabilities={"answer": 0.25, "reason": 0.125})
    async with bench({"finding": reply}, ServerTraits(token_style=style, ends_with_special=special)) as it:
        completion = await ask(it)
    for name, probability in {"answer": 0.25, "reason": 0.125}.items():
        expected = [token for token in reply.tokens if token.probability == probability]
        assert completion.probabilities_of(name) == pytest.approx([probability] * len(expected))
    assert set(map(round, completion.probabilities_of("shelf"), itertools.repeat(6))) == {0.5}
    assert completion.probabilities_of("colour") is None


@pytest.mark.parametrize("manner", [{}, {"terse": True}, {"refuses_in_stream": True}])
async def test_refused_schema_is_described_in_words(manner: Any) -> None:
    async with bench({"finding": says(GOOD)}, ServerTraits(json_schema=False, **manner)) as it:
        first = await ask(it)
        requests = len(it.server.requests)
        second = await ask(it)
    assert first.value == second.value == Finding.model_validate(GOOD)
    words = it.server.requests[-1].text
    assert "as lines of text" in words
    assert "reason, answer, shelf" in words
    assert it.calls[-1].form == LINES
    assert [call.requests for call in it.calls] == [requests, 1]


async def test_ignored_schema_is_described_in_words_from_then_on() -> None:
    lines = says("reason: It is a shop\nanswer: Baker")
    async with bench({"finding": [says("Here you are: it is a shop."), lines]}) as it:
        first = await ask(it)
        await ask(it)
    assert first.value == Finding(reason="It is a shop", answer="Baker")
    assert [(call.form, call.requests) for call in it.calls] == [(LINES, 2), (LINES, 1)]


async def test_control_characters_do_not_mean_an_ignored_schema() -> None:
    text = '{"reason": "a\x08b", "answer": "c\td", "shelf": null}'  # as vLLM's grammar allows it
    async with bench({"finding": says(text)}) as it:
        completion = await ask(it)
        await ask(it)
    assert completion.value == Finding(reason="a\x08b", answer="c\td")
    assert [call.form for call in it.calls] == [SCHEMA] * 2


async def test_a_value_out_of_its_range_does_not_mean_an_ignored_schema() -> None:
    too_long = says(GOOD | {"reason": "r" * 41})  # the client removes length limits from schemas
    async with bench({"finding": [too_long, says(GOOD)]}) as it:
        with pytest.raises(VlmReplyUnusable):
            await ask(it)
        await ask(it)
    assert [(call.form, call.requests) for call in it.calls] == [(SCHEMA, 1)] * 2


@pytest.mark.parametrize(
    "content", ["5", "[]", '{"data": 5}', '{"data": {"id": "m"}}', '{"data": ["m"]}', "{}"]
)
def test_a_list_of_models_in_another_format_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_models(content.encode())


async def test_reading_stops_at_the_end_of_the_object() -> None:
    hold_at = len(says(GOOD_TEXT).tokens) + 2
    writing_on = says(f"{GOOD_TEXT}\nLet me explain", hold=anyio.Event(), hold_at=hold_at)
    async with bench({"finding": writing_on}) as it:
        completion = await ask(it)
        await it.server.requests[0].finished.wait()
        assert it.server.requests[0].abandoned
    assert completion.value == Finding.model_validate(GOOD)
    assert completion.finish_reason == "complete"


@pytest.mark.parametrize("text", ["", "I'm sorry, I can't help with that.", "{", '{"reason": 3}', "[1, 2]"])
async def test_an_unreadable_reply_is_an_error_after_at_most_one_retry(text: str) -> None:
    async with bench({"finding": says(text)}) as it:
        with pytest.raises(VlmReplyUnusable) as caught:
            await ask(it)
    assert len(it.server.requests) <= 2  # once more in lines, where the schema was ignored
    assert it.calls[-1].outcome == "dependency_unavailable"
    assert "sorry" not in caught.value.detail


@pytest.mark.parametrize(
    ("reply", "error", "retry_after_s"),
    [
        (overloaded("7"), Overloaded, 7.0),
        (fails(503), Overloaded, 1.0),
        (overloaded("Wed, 21 Oct 2015 07:28:00 GMT"), Overloaded, 0.0),
        (fails(500), DependencyUnavailable, None),
        (fails(502, "<html>Bad gateway</html>"), DependencyUnavailable, None),
        (fails(500, in_stream=True), DependencyUnavailable, None),
        (fails(400, vllm_error(400, "At most 1 image(s) may be provided.")), DependencyUnavailable, None),
        (says("", refusal="I cannot look at this."), VlmDeclined, None),
        (context_too_long(), ContextTooLong, None),
        (fails(400, {"error": {"code": "context_length_exceeded", "message": ""}}), ContextTooLong, None),
        (fails(400, {"object": "error", "message": "maximum context length is 9"}), ContextTooLong, None),
    ],
)
async def test_server_failures_become_loreglass_errors(
    reply: Any, error: type[LoreglassError], retry_after_s: float | None
) -> None:
    async with bench({"finding": reply, "": reply}) as it:
        with pytest.raises(error) as caught:
            await ask(it)
    assert caught.value.retry_after_s == retry_after_s
    assert "vllm" not in caught.value.detail.lower()
    assert it.calls[-1].outcome == caught.value.kind.value


@pytest.mark.parametrize("endpoint", [{"key": "wrong"}, {"key": "right", "model": "another"}])
async def test_wrong_key_or_model_is_an_unavailable_dependency(endpoint: dict[str, str]) -> None:
    async with bench({"finding": says(GOOD)}, ServerTraits(key="right"), **endpoint) as it:
        with pytest.raises(DependencyUnavailable, match="not available"):
            await ask(it)


async def test_key_is_sent_but_not_printed_and_single_model_is_selected() -> None:
    traits = ServerTraits(key="right", model="the-only-one")
    async with bench({"finding": says(GOOD)}, traits, key="right", model="") as it:
        await it.client.ready(Deadline.after_ms(MINUTE))
        await ask(it)
    assert it.server.requests[0].body["model"] == "the-only-one"
    assert "right" not in repr(Endpoint("http://x", "m", key="right"))


@pytest.mark.parametrize(("base_url", "key"), [("localhost:8000", ""), ("http://x", "ключ")])
def test_an_endpoint_that_cannot_be_called_is_refused_at_once(base_url: str, key: str) -> None:
    with pytest.raises(ValueError, match="vision-language model"):
        Endpoint(base_url, "m", key=key)


@pytest.mark.parametrize("hold_at", [0, 5])
async def test_timeout_closes_the_connection(hold_at: int) -> None:
    held = says(GOOD, hold=anyio.Event(), hold_at=hold_at)
    async with bench({"finding": [says(GOOD), held]}) as it:
        await ask(it)  # the connection is there, so that the short time is the reply's
        with pytest.raises(DeadlineExceeded):
            await ask(it, ms=500)
        await it.server.requests[1].finished.wait()
        assert it.server.requests[1].abandoned
    assert it.calls[-1].outcome == "deadline_exceeded"


async def test_expired_deadline_sends_no_request() -> None:
    async with bench({"finding": says(GOOD)}) as it:
        with pytest.raises(DeadlineExceeded):
            await ask(it, ms=0)
    assert not it.server.requests


async def test_disconnected_caller_stops_the_model() -> None:
    async with bench({"finding": says(GOOD, hold=anyio.Event(), hold_at=6)}) as it:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, it)
            while not it.server.requests:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        await it.server.requests[0].finished.wait()
        assert it.server.requests[0].abandoned
    assert it.calls[-1].outcome == "cancelled"
