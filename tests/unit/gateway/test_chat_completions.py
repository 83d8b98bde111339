"""The platform as a model, asked by the official OpenAI client."""

import base64
import json
import math
from collections.abc import AsyncIterator
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

pytestmark = pytest.mark.anyio

URI = "data:image/jpeg;base64," + base64.b64encode(PHOTO).decode()


@pytest.fixture
async def client(world: World) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{world.url}/v1", api_key="none", max_retries=0) as made:
        yield made


def user(text: str, photo: str | None = URI) -> ChatCompletionMessageParam:
    if photo is None:
        return {"role": "user", "content": text}
    return {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": photo}},
            {"type": "text", "text": text},
        ],
    }


def extra(reply: Any) -> Answer:
    return Answer.model_validate(reply.model_extra["loreglass"])


async def test_the_answer_is_that_of_the_answer_route_with_its_sources(
    client: AsyncOpenAI, world: World
) -> None:
    reply = await client.chat.completions.create(model="loreglass", messages=[user(QUESTION)])
    plain = await world.ask()
    message = reply.choices[0].message
    assert message.content == plain.answer
    assert [note.url_citation.url for note in message.annotations or []] == [
        citation.url for citation in plain.citations
    ]
    assert extra(reply).reason == plain.reason
    assert reply.choices[0].finish_reason == "stop"


async def test_the_pipelines_are_the_models(client: AsyncOpenAI) -> None:
    models = [model.id async for model in client.models.list()]
    assert "loreglass" in models


async def test_a_model_can_be_looked_up_and_one_that_there_is_not_is_not_found(client: AsyncOpenAI) -> None:
    assert (await client.models.retrieve("loreglass")).id == "loreglass"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("gpt-4o")


async def test_a_stream_spells_the_answer_and_ends_with_its_whole_body(
    client: AsyncOpenAI, world: World
) -> None:
    plain = await world.ask()
    stream = await client.chat.completions.create(model="loreglass", messages=[user(QUESTION)], stream=True)
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == plain.answer
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert extra(chunks[-1]).answer == plain.answer


async def test_earlier_messages_are_the_history_and_an_earlier_photo_is_still_seen(
    client: AsyncOpenAI, world: World
) -> None:
    await client.chat.completions.create(
        model="loreglass",
        messages=[
            {"role": "system", "content": "Be brief."},
            user("Who wrote this book?"),
            {"role": "assistant", "content": "Ada wrote it."},
            user("When?", photo=None),
        ],
    )
    ask = world.reasoner.asked[-1]
    assert [(turn.question, turn.answer) for turn in ask.history] == [
        ("Who wrote this book?", "Ada wrote it.")
    ]
    assert ask.photo is not None
    assert not ask.photo_is_new


async def test_earlier_messages_are_read_no_further_than_a_question_may_be_long(
    client: AsyncOpenAI, world: World
) -> None:
    endless = "x" * 1_000_000
    earlier: list[ChatCompletionMessageParam] = [user(endless), {"role": "assistant", "content": endless}]
    await client.chat.completions.create(
        model="qa-dragon", messages=[*earlier, user("And who wrote it?", photo=None)]
    )
    reply = await client.chat.completions.create(
        model="loreglass", messages=[*earlier, user("And who wrote it?", photo=None)]
    )
    (turn,) = world.reasoner.asked[-1].history
    assert len(turn.question) == len(turn.answer) == GatewaySettings().max_question_chars
    assert "history" in extra(reply).degraded


async def test_of_a_long_conversation_the_newest_messages_are_read_and_that_is_said(
    client: AsyncOpenAI, world: World
) -> None:
    turns: list[ChatCompletionMessageParam] = [user("What is this?")]
    for number in range(100):
        turns += [
            {"role": "assistant", "content": f"Answer {number}."},
            user(f"Question {number}?", photo=None),
        ]
    reply = await client.chat.completions.create(model="loreglass", messages=turns)
    query = world.reasoner.asked[-1]
    assert query.photo is not None  # which came with the very first message
    assert query.question == "Question 99?"
    assert [turn.question for turn in query.history] == [f"Question {number}?" for number in range(68, 99)]
    assert "history" in extra(reply).degraded


async def test_calls_of_tools_and_what_they_gave_are_no_part_of_the_history(
    client: AsyncOpenAI, world: World
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    messages: Any = [
        user("Who wrote it?"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "noon"},
        {"role": "assistant", "content": "Ada wrote it."},
        user("When?", photo=None),
    ]
    reply = await client.chat.completions.create(model="loreglass", messages=messages)
    (turn,) = world.reasoner.asked[-1].history
    assert (turn.question, turn.answer) == ("Who wrote it?", "Ada wrote it.")
    assert extra(reply).degraded == []


@pytest.mark.parametrize(
    "endless",
    [
        {"stop": ["x"] * 20_000},
        {"modalities": ["text"] * 20_000},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 5_000}]},
    ],
)
async def test_a_list_without_end_is_refused(world: World, endless: dict[str, Any]) -> None:
    asked = {"model": "loreglass", "messages": [user(QUESTION)]} | endless
    reply = await world.client.post("/v1/chat/completions", json=asked)
    assert reply.status_code == 422
    assert next(iter(endless)) in reply.json()["error"]["message"]


async def test_a_long_text_is_read_from_both_ends_and_that_is_said(client: AsyncOpenAI, world: World) -> None:
    pasted = "Who wrote this? " + "word " * 10_000 + "Name the author."
    reply = await client.chat.completions.create(model="loreglass", messages=[user(pasted)])
    question = world.reasoner.asked[-1].question
    assert question.startswith("Who wrote this? word")
    assert question.endswith("word Name the author.")
    assert len(question) <= GatewaySettings().max_question_chars
    assert "question" in extra(reply).degraded


async def test_who_hears_no_instructions_says_so(client: AsyncOpenAI) -> None:
    messages: list[ChatCompletionMessageParam] = [{"role": "system", "content": "Be brief."}, user(QUESTION)]
    reply = await client.chat.completions.create(model="loreglass", messages=messages)
    assert "instructions" in extra(reply).degraded
    plain = await client.chat.completions.create(model="loreglass", messages=messages[1:])
    assert "instructions" not in extra(plain).degraded


async def test_a_text_that_nothing_is_found_about_is_told_what_can_be_asked(
    client: AsyncOpenAI, world: World
) -> None:
    world.reasoner.say = lambda *_: Reply("", 0.0)
    hello = await client.chat.completions.create(model="loreglass", messages=[user("hello", photo=None)])
    assert "photo that you send" in (hello.choices[0].message.content or "")
    assert is_refusal(hello.choices[0].message.content or "")
    seen = await client.chat.completions.create(model="loreglass", messages=[user(QUESTION)])
    assert "photo that you send" not in (seen.choices[0].message.content or "")


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_a_reply_is_no_longer_than_was_asked_for(client: AsyncOpenAI, name: str) -> None:
    asked = {"model": "loreglass", "messages": [user(QUESTION)]}
    whole = await client.chat.completions.create(**asked)
    short = await client.chat.completions.create(**asked, **{name: 2})
    said = short.choices[0].message.content or ""
    assert said
    assert (whole.choices[0].message.content or "").startswith(said)
    assert len(said) == 8
    assert short.choices[0].finish_reason == "length"
    assert short.usage is not None
    assert short.usage.completion_tokens == 2


async def test_a_reply_ends_before_a_stop_sequence(client: AsyncOpenAI) -> None:
    asked = {"model": "loreglass", "messages": [user(QUESTION)]}
    whole = (await client.chat.completions.create(**asked)).choices[0].message.content or ""
    _, word, *_ = whole.split()
    stopped = await client.chat.completions.create(**asked, stop=["never said", word])
    assert stopped.choices[0].message.content == whole.partition(word)[0]
    assert stopped.choices[0].finish_reason == "stop"


async def test_tokens_are_told_with_and_without_a_stream(client: AsyncOpenAI) -> None:
    asked = {"model": "loreglass", "messages": [user(QUESTION)]}
    usage = (await client.chat.completions.create(**asked)).usage
    assert usage is not None
    assert usage.prompt_tokens == math.ceil(len(QUESTION) / 4)
    assert usage.completion_tokens > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    stream = await client.chat.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    )
    *others, last = [chunk async for chunk in stream]
    assert last.choices == []
    assert last.usage == usage
    assert all(chunk.usage is None for chunk in others)


async def test_stages_are_told_as_they_end_and_the_answer_after_them(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="loreglass", messages=[user(QUESTION)], stream=True)
    deltas = [chunk.choices[0].delta.model_dump(exclude_none=True) async for chunk in stream]
    assert deltas[0] == {"role": "assistant", "content": ""}
    told = [place for place, delta in enumerate(deltas) if "reasoning_content" in delta]
    said = [place for place, delta in enumerate(deltas) if delta.get("content")]
    assert any("text search: done after" in deltas[place]["reasoning_content"] for place in told)
    assert max(told) < min(said)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logprobs": True}, "logprobs"),
        ({"n": 2}, "n:"),
        ({"function_call": {"name": "f"}}, "function_call"),
        ({"modalities": ["text", "audio"]}, "modalities"),
    ],
)
async def test_what_would_change_the_reply_and_is_not_done_is_refused(
    client: AsyncOpenAI, asked: dict[str, Any], named: str
) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match=named):
        await client.chat.completions.create(model="loreglass", messages=[user(QUESTION)], extra_body=asked)


async def test_what_chat_clients_send_along_and_nobody_needs_is_taken(client: AsyncOpenAI) -> None:
    along = {
        "tool_choice": "auto",
        "response_format": {"type": "text"},
        "logprobs": False,
        "temperature": 0.7,
        "max_tokens": 500,
        "stream_options": None,
        "stop": None,
        "modalities": ["text"],
        "user": "somebody",
    }
    reply = await client.chat.completions.create(
        model="loreglass", messages=[user(QUESTION)], extra_body=along
    )
    assert reply.choices[0].message.content


async def test_nothing_of_a_carried_conversation_is_remembered(client: AsyncOpenAI) -> None:
    reply = await client.chat.completions.create(model="loreglass", messages=[user(QUESTION)])
    assert extra(reply).session_id == ""


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([user(QUESTION, "https://example.org/photo.jpg")], "image_url_not_allowed"),
        ([user(QUESTION, "file:///etc/passwd")], "image_url_not_allowed"),
        ([user(QUESTION, "data:image/jpeg;base64,%%%")], "malformed_request"),
        ([user(QUESTION, "data:image/jpeg;base64,AAAA")], "unsupported_image"),
        ([user("  ")], "invalid_request"),
        ([user(QUESTION), {"role": "assistant", "content": "Ada."}], "invalid_request"),
        ([], "invalid_request"),
    ],
)
async def test_what_cannot_be_answered_is_refused_as_the_client_expects(
    client: AsyncOpenAI, messages: list[ChatCompletionMessageParam], code: str
) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        await client.chat.completions.create(model="loreglass", messages=messages)
    assert caught.value.code == code
    assert caught.value.response.headers["content-type"].startswith("application/problem+json")
    assert caught.value.response.json()["type"].endswith(code)


async def test_an_unknown_model_is_named_as_such(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.APIStatusError, match="loreglass"):
        await client.chat.completions.create(model="gpt-4o", messages=[user(QUESTION)])


async def test_a_fault_of_the_reasoner_ends_the_stream_with_an_error(
    client: AsyncOpenAI, world: World
) -> None:
    def fail(*_: object) -> Reply:
        raise RuntimeError("secret")

    world.reasoner.say = fail
    stream = await client.chat.completions.create(model="loreglass", messages=[user(QUESTION)], stream=True)
    with pytest.raises(openai.APIError) as caught:
        async for _ in stream:
            pass
    assert "secret" not in json.dumps(str(caught.value))


async def test_a_stream_begins_at_once_and_is_kept_alive_while_the_question_is_worked_on(
    world: World, services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "HEARTBEAT_S", 0.01)
    services.text_search.mood = Mood.HANGS
    asked = {"model": "loreglass", "messages": [user(QUESTION)], "stream": True}
    comments = 0
    async with world.client.stream("POST", "/v1/chat/completions", json=asked) as reply:
        async for line in reply.aiter_lines():
            if line.startswith("data: "):
                [choice] = json.loads(line.removeprefix("data: "))["choices"]
                assert not choice["delta"].get("content")  # nothing is said before the answer is
            comments += line == ":"
            if comments == 3:
                break
    await world.quiet()
