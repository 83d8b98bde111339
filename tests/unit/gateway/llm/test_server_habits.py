"""Replies of servers with habits of their own, and servers of all abilities behind a whole gateway."""

import json
from dataclasses import replace
from typing import Any

import pytest

from bench.node import (
    LLAMA_ON_VLLM_0_10_2,
    PROBED,
    Fails,
    Reply,
    ScriptedRequest,
    ServerTraits,
    says,
    vllm_error,
)
from chassis.errors import DependencyUnavailable
from contracts.answer import Reason, Route
from gateway.llm.capabilities import TEXT_ONLY, TEXT_ONLY_NOTE, Abilities, Thinking
from gateway.llm.probe import probe
from gateway.llm.reply_forms import in_lines
from gateway.llm.server import VlmReplyUnusable
from tests.unit.gateway.asking import SURE, UNKNOWN, asking, replies
from tests.unit.gateway.fakes import AUTHOR, BOOK, PAGES
from tests.unit.gateway.llm.stage import READ, bench, deadline
from tests.unit.gateway.llm.test_hostile_server import STREAM, client_of

DONE = b"data: [DONE]\n\n"
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def event(body: object) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def delta(**members: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": members, "finish_reason": None}]})


def parts(*content: object) -> bytes:
    return delta(content=list(content))


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


THINKING_PART = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
SAID = delta(content="In 1840.")
USAGE = {"prompt_tokens": 10, "completion_tokens": 4}
STREAMS = {
    "a list of parts": parts(THINKING_PART, text_part("In "), text_part("1840.")) + event(STOP),
    "thoughts first": delta(reasoning_content="Hm.", content=None) + SAID + event(STOP),
    "thoughts under another name": delta(reasoning="Hm.") + SAID + event(STOP),
    "thoughts as an object": delta(reasoning={"text": "Hm."}, content="") + SAID + event(STOP),
    "comments and pings": b": ok\n\nevent: ping\ndata: {}\n\n" + SAID + b"event: ping\n\n" + event(STOP),
    "a typed ping": event({"type": "ping"}) + SAID + event(STOP),
    "null data": b"data: null\n\ndata:\n\n" + SAID + event(STOP),
    "null choices": event({"choices": None, "usage": None}) + SAID + event(STOP),
    "null members": delta(content="In 1840.", tool_calls=None, refusal=None, logprobs=None) + event(STOP),
    "null in the choices": event({"choices": [None]}) + SAID + event(STOP),
    "a null delta": event({"choices": [{"delta": None, "logprobs": None}]}) + SAID + event(STOP),
    "usage without choices": SAID + event(STOP) + event({"usage": USAGE}),
}
ENDS = {
    "end mark without a line end": SAID + event(STOP) + b"data: [DONE]",
    "one line end": SAID + event(STOP) + b"data: [DONE]\n",
    "no space": SAID + event(STOP) + b"data:[DONE]\r\n\r\n",
    "no end mark": SAID + event(STOP),
    "no line end": SAID + event(STOP).rstrip(),
}
STREAMS_AND_ENDS = {name: stream + DONE for name, stream in STREAMS.items()} | ENDS


@pytest.mark.parametrize("stream", STREAMS_AND_ENDS.values(), ids=STREAMS_AND_ENDS.keys())
async def test_the_answer_is_read_from_any_stream(stream: bytes) -> None:
    async with client_of(STREAM + stream) as client:
        written = await client.complete(READ, deadline())
    assert (written.text, written.finish_reason) == ("In 1840.", "stop")


def whole(body: object) -> bytes:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


@pytest.mark.parametrize("content", ["In 1840.", [text_part("In 1840.")], [THINKING_PART, "In 1840."]])
async def test_a_reply_that_is_not_streamed_is_read(content: object) -> None:
    message = {"role": "assistant", "content": content, "tool_calls": None, "reasoning_content": "Hm."}
    body = {"choices": [{"message": message, "finish_reason": "stop", "logprobs": None}], "usage": None}
    async with client_of(whole(body)) as client:
        assert (await client.complete(READ, deadline())).text == "In 1840."


@pytest.mark.parametrize("body", [{}, {"choices": None}, None, {"detail": "no"}, {"choices": []}])
async def test_body_without_a_reply_is_an_outage(body: object) -> None:
    async with client_of(whole(body)) as client:
        with pytest.raises(DependencyUnavailable) as raised:
            await client.complete(READ, deadline())
    assert not isinstance(raised.value, VlmReplyUnusable)


async def test_first_token_includes_thoughts() -> None:
    thoughts = delta(reasoning_content="Hm.") * 3
    async with client_of(STREAM + thoughts + event(STOP) + DONE) as client:
        trial = await client.trial(READ, Abilities(), deadline())
    assert trial.thinks
    assert trial.reply.text == ""
    assert trial.first_token_s < trial.seconds


async def test_a_reply_with_thoughts_gets_more_tokens_from_then_on() -> None:
    async with client_of(STREAM + delta(reasoning_content="Hm.") + SAID + event(STOP) + DONE) as client:
        await client.complete(READ, deadline())
        assert client.features.current.thinking is Thinking.ON
        assert client.features.current.thinking_tokens == 1_024
    small = Abilities(thinking=Thinking.ON, context=4_096)
    assert small.thinking_tokens == 512
    assert "replies get 512 more tokens" in small.described["thinking"]


def thinker(heeds: bool, refusal: Fails | None = None) -> Any:
    """A model that begins its replies with thoughts, unless it heeds the request not to."""

    def reply(request: ScriptedRequest) -> Reply:
        asks_not_to = request.body.get("chat_template_kwargs") == {"enable_thinking": False}
        if asks_not_to and refusal is not None:
            return refusal
        thoughts = "" if asks_not_to and heeds else "<think>Hm.</think>"
        text = json.dumps(PROBED) if request.body.get("response_format") else "In 1840."
        return says(thoughts + text)

    return reply


UNKNOWN_FIELD = Fails(400, vllm_error(400, "Unrecognized request argument: chat_template_kwargs"))


@pytest.mark.parametrize(
    ("heeds", "refusal", "thinking", "most"),
    [
        (True, None, Thinking.SWITCHED_OFF, 20),
        (False, None, Thinking.ON, 20 + 1_024),
        (False, UNKNOWN_FIELD, Thinking.ON, 20 + 1_024),
        (False, Fails(400, vllm_error(400, "Bad Request")), Thinking.ON, 20 + 1_024),
    ],
)
async def test_probe_switches_thinking_off_where_possible(
    heeds: bool, refusal: Fails | None, thinking: Thinking, most: int
) -> None:
    async with bench(thinker(heeds, refusal)) as it:
        assert (await probe(it.client, deadline())).thinking is thinking
        await it.client.complete(READ, deadline())
    last = it.server.requests[-1].body
    assert last["max_tokens"] == most
    assert ("chat_template_kwargs" in last) is (thinking is Thinking.SWITCHED_OFF)


SERVERS = {
    "all abilities": ServerTraits(),
    "vLLM 0.10.2, Llama, first template": LLAMA_ON_VLLM_0_10_2,
    "vLLM 0.10.2, Llama, new template": replace(LLAMA_ON_VLLM_0_10_2, system_beside_photo=True),
    "refuses schemas": ServerTraits(json_schema=False, json_object=False),
}
WHO = "Who wrote this book?"


@pytest.mark.parametrize("server", SERVERS)
async def test_probed_server_refuses_no_request(server: str) -> None:
    async with asking(replies(UNKNOWN), SERVERS[server]) as (_, scripted, ask):
        before = len(scripted.requests)
        answer = await ask(WHO)
        sent = scripted.requests[before:]
    assert (answer.route, answer.reason, answer.degraded) == (Route.RAG, Reason.ANSWERED, [])
    assert sorted(request.name for request in sent) == ["answer", "understand"]
    assert not any(request.refused for request in sent)


async def test_a_reply_in_lines_is_answered_with_its_source() -> None:
    scripted = {"understand": in_lines(UNKNOWN), "answer": AUTHOR, "judge": "yes"}

    def reply_in_its_form(request: ScriptedRequest) -> Any:
        assert ("as lines of text" in request.text) == (request.name == "understand")
        assert "response_format" not in request.body
        return says(scripted[request.name], **SURE)

    script = dict.fromkeys(scripted, reply_in_its_form)
    async with asking(script, LLAMA_ON_VLLM_0_10_2) as (client, server, ask):
        answer = await ask(WHO)
        model = (await client.get("/info")).json()["model"]
    assert answer.answer == AUTHOR
    assert answer.citations
    assert not answer.degraded
    assert model["schema"].startswith("not held")
    assert model["photos"] == "seen"
    assert [request.refused for request in server.requests[:2]] == [True, False]  # the probe's


async def test_wrong_model_key_is_reported_by_readiness() -> None:
    async with asking({}, ServerTraits(key="another"), probed=False) as (client, server, _):
        assert (await client.get("/info")).json()["model"] == {"name": server.model}
        ready = await client.get("/health/ready")
    assert server.requests == []
    assert ready.status_code == 503
    assert "vlm (dependency_unavailable: the model's server wants another key)" in ready.json()["detail"]


async def test_text_only_model_is_reported_and_answers_without_photos() -> None:
    async with asking(replies(UNKNOWN), ServerTraits(photos=0)) as (client, server, ask):
        ready = await client.get("/health/ready")
        info = (await client.get("/info")).json()["model"]
        setup = (await client.get("/page/setup.json")).json()
        answer = await ask("Who wrote this book?")
    assert (ready.status_code, ready.json()["checks"]["vlm"]) == (200, TEXT_ONLY_NOTE)
    assert (info["name"], info["photos"]) == (server.model, TEXT_ONLY)
    assert setup["sees_photos"] is False
    assert (answer.answer, answer.degraded) == (AUTHOR, [])
    assert {request.name for request in server.questions} == {"answer"}
    assert server.questions[0].images == []
    text = server.questions[0].text
    assert f"<<<the thing asked about>>>\n{BOOK}\n" in text
    for fact in (AUTHOR, PAGES, "THE SALT ROAD"):
        assert fact in text
    assert "The question is about" not in text  # the services' draft
