"""The platform as a model, asked by the official OpenAI client."""

import base64
import json
import math
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

from contracts.answer import Answer
from gateway.reasoning.refusals import is_refusal
from gateway.routes import streaming
from gateway.settings import GatewaySettings
from gateway.state import Reply
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.platform import PHOTO, QUESTION, World

URI = "data:image/jpeg;base64," + base64.b64encode(PHOTO).decode()


def user(text: str, photo: str | None = URI) -> ChatCompletionMessageParam:
    if photo is None:
        return {"role": "user", "content": text}
    return {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": photo}}, {"type": "text", "text": text}],
    }


async def ask(client: AsyncOpenAI, messages: Any = None, **options: Any) -> Any:
    """Complete `messages`, or the usual question."""
    return await client.chat.completions.create(
        model="loreglass", messages=messages or [user(QUESTION)], **options
    )


def extra(reply: Any) -> Answer:
    return Answer.model_validate(reply.model_extra["loreglass"])


async def test_completion_has_answer_sources_and_no_session(client: AsyncOpenAI, world: World) -> None:
    reply = await ask(client)
    plain = await world.ask()
    [choice] = reply.choices
    assert (choice.message.content, choice.finish_reason) == (plain.answer, "stop")
    assert [note.url_citation.url for note in choice.message.annotations or []] == [
        citation.url for citation in plain.citations
    ]
    assert (extra(reply).reason, extra(reply).session_id) == (plain.reason, "")


async def test_pipelines_are_the_models(client: AsyncOpenAI) -> None:
    assert "loreglass" in [model.id async for model in client.models.list()]
    assert (await client.models.retrieve("loreglass")).id == "loreglass"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("gpt-4o")
    with pytest.raises(openai.NotFoundError, match="loreglass"):
        await client.chat.completions.create(model="gpt-4o", messages=[user(QUESTION)])


async def test_stream_has_stages_answer_and_complete_body(client: AsyncOpenAI, world: World) -> None:
    plain = await world.ask()
    stream = await ask(client, stream=True)
    chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta.model_dump(exclude_none=True) for chunk in chunks]
    stages = [place for place, delta in enumerate(deltas) if "reasoning_content" in delta]
    words = [place for place, delta in enumerate(deltas) if delta.get("content")]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert any("text search: done after" in deltas[place]["reasoning_content"] for place in stages)
    assert max(stages) < min(words)
    assert "".join(deltas[place]["content"] for place in words) == plain.answer
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert extra(chunks[-1]).answer == plain.answer


async def test_long_texts_are_cut_to_the_length_of_a_question(client: AsyncOpenAI, world: World) -> None:
    endless = "x" * 1_000_000
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "Be brief."},
        user(endless),
        {"role": "assistant", "content": endless},
        user("Who wrote this? " + "word " * 10_000 + "Name the author.", photo=None),
    ]
    reply = await ask(client, messages)
    query, most = world.reasoner.queries[-1], GatewaySettings().max_question_chars
    (turn,) = query.history
    assert len(turn.question) == len(turn.answer) == most
    assert query.question.startswith("Who wrote this? word")
    assert query.question.endswith("word Name the author.")
    assert len(query.question) <= most
    assert {"history", "question", "instructions"} <= set(extra(reply).degraded)


async def test_options_that_are_not_supported_are_refused(client: AsyncOpenAI) -> None:
    for name, value in {
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_object"},
        "logprobs": True,
        "n": 2,
        "function_call": {"name": "f"},
        "modalities": ["text", "audio"],
    }.items():
        with pytest.raises(openai.UnprocessableEntityError, match=name):
            await ask(client, extra_body={name: value})


async def test_bad_messages_are_refused_as_problems_that_the_client_reads(client: AsyncOpenAI) -> None:
    refused: list[tuple[list[ChatCompletionMessageParam], str]] = [
        ([user(QUESTION, "https://example.org/photo.jpg")], "image_url_not_allowed"),
        ([user(QUESTION, "data:image/jpeg;base64,%%%")], "malformed_request"),
        ([user(QUESTION, "data:image/jpeg;base64,AAAA")], "unsupported_image"),
        ([user("  ", photo=None)], "invalid_request"),
        ([{"role": "assistant", "content": "Ada."}], "invalid_request"),
        ([], "invalid_request"),
    ]
    for messages, code in refused:
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(model="loreglass", messages=messages)
        assert caught.value.code == code
        assert caught.value.response.headers["content-type"].startswith("application/problem+json")
        assert caught.value.response.json()["type"].endswith(code)


async def test_newest_messages_of_a_long_conversation_are_read(client: AsyncOpenAI, world: World) -> None:
    turns: list[ChatCompletionMessageParam] = [user("What is this?")]
    for number in range(100):
        turns += [
            {"role": "assistant", "content": f"Answer {number}."},
            user(f"Question {number}?", photo=None),
        ]
    reply = await ask(client, turns)
    query = world.reasoner.queries[-1]
    assert query.photo is not None  # which came with the very first message
    assert not query.photo_is_new
    assert query.question == "Question 99?"
    assert [turn.question for turn in query.history] == [f"Question {number}?" for number in range(68, 99)]
    assert "history" in extra(reply).degraded


@pytest.mark.parametrize(
    "endless",
    [
        {"stop": ["x"] * 20_000},
        {"modalities": ["text"] * 20_000},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 5_000}]},
    ],
)
async def test_endless_list_is_refused(world: World, endless: dict[str, Any]) -> None:
    body = {"model": "loreglass", "messages": [user(QUESTION)]} | endless
    reply = await world.client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 422
    assert next(iter(endless)) in reply.json()["error"]["message"]


async def test_refusal_without_a_photo_explains_possible_questions(client: AsyncOpenAI, world: World) -> None:
    world.reasoner.say = lambda *_: Reply("", 0.0)
    hello = await ask(client, [user("hello", photo=None)])
    assert "photo that you send" in (hello.choices[0].message.content or "")
    assert is_refusal(hello.choices[0].message.content or "")
    with_photo = await ask(client)
    assert "photo that you send" not in (with_photo.choices[0].message.content or "")


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_reply_is_cut_to_max_tokens(client: AsyncOpenAI, name: str) -> None:
    whole = (await ask(client)).choices[0].message.content
    short = await ask(client, **{name: 2})
    assert short.choices[0].message.content == whole[:8]
    assert short.choices[0].finish_reason == "length"
    assert short.usage.completion_tokens == 2


async def test_reply_ends_before_a_stop_sequence(client: AsyncOpenAI) -> None:
    whole = (await ask(client)).choices[0].message.content
    _, word, *_ = whole.split()
    stopped = await ask(client, stop=["never said", word])
    assert stopped.choices[0].message.content == whole.partition(word)[0]
    assert stopped.choices[0].finish_reason == "stop"


async def test_usage_is_reported_with_and_without_a_stream(client: AsyncOpenAI) -> None:
    usage = (await ask(client)).usage
    assert usage.prompt_tokens == math.ceil(len(QUESTION) / 4)
    assert usage.completion_tokens > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    stream = await ask(client, stream=True, stream_options={"include_usage": True})
    *others, last = [chunk async for chunk in stream]
    assert last.choices == []
    assert last.usage == usage
    assert all(chunk.usage is None for chunk in others)


async def test_failure_ends_the_stream_with_an_error(client: AsyncOpenAI, world: World) -> None:
    def fail(*_: object) -> Reply:
        raise RuntimeError("secret")

    world.reasoner.say = fail
    stream = await ask(client, stream=True)
    with pytest.raises(openai.APIError) as caught:
        async for _ in stream:
            pass
    assert "secret" not in json.dumps(str(caught.value))


async def test_stream_starts_at_once_and_sends_heartbeats(
    world: World, services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "HEARTBEAT_S", 0.01)
    services.text_search.mood = Mood.HANGS
    body = {"model": "loreglass", "messages": [user(QUESTION)], "stream": True}
    comments = 0
    async with world.client.stream("POST", "/v1/chat/completions", json=body) as reply:
        async for line in reply.aiter_lines():
            if line.startswith("data: "):
                [choice] = json.loads(line.removeprefix("data: "))["choices"]
                assert not choice["delta"].get("content")  # nothing is said before the answer is
            comments += line == ":"
            if comments == 3:
                break
    await world.quiet()
