"""The node: times as calibrated, seeds that repeat, faults that are told as the real services tell them."""

import json
from collections.abc import Awaitable, Callable, Mapping
from statistics import median
from typing import Any

import anyio
import pytest

from capacity.standins import (
    QUESTIONS,
    SERVICES,
    VLM,
    Calibration,
    Node,
    Slowness,
    StandInReply,
    StandInRequest,
)
from capacity.standins.scene import FACT, SIGN
from capacity.standins.writing import cut
from chassis.resilience.deadlines import Clock
from contracts.answer import Route
from contracts.reader import ReadReply
from gateway.llm.schemas import Answerability, Understanding
from tests.virtual_time import run_virtual

Main = Callable[[Node, Clock], Awaitable[None]]
JSON = {"Content-Type": "application/json"}
ALONE = Calibration.l40s()


def _run(main: Main, calibration: Calibration = ALONE, seed: int = 1) -> None:
    async def body(clock: Clock) -> None:
        node = Node(calibration, seed, clock)
        await main(node, clock)
        assert all(counts.in_flight == 0 for counts in node.counts.values())

    run_virtual(body)


def _rerank(documents: int = 10, headers: Mapping[str, str] | None = None) -> StandInRequest:
    body = {"query": "When did it open?", "documents": [f"Text {number}." for number in range(documents)]}
    return StandInRequest("POST", "/v1/rerank", {**JSON, **(headers or {})}, json.dumps(body).encode())


def _chat(
    name: str = "understand", question: str = QUESTIONS[Route.RAG], max_tokens: int = 512, **more: Any
) -> StandInRequest:
    parts = [
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}},
        {"type": "text", "text": f"TASK: look.\n\nQuestion: {question}"},
    ]
    body = {
        "model": "stand-in-vlm",
        "messages": [{"role": "system", "content": "You help."}, {"role": "user", "content": parts}],
        "max_tokens": max_tokens,
        "stream": True,
        "logprobs": True,
        "top_logprobs": 3,
        "stream_options": {"include_usage": True},
        "response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": {}}},
        **more,
    }
    return StandInRequest("POST", "/v1/chat/completions", JSON, json.dumps(body).encode())


async def _events(reply: StandInReply) -> list[dict[str, Any]]:
    lines = (await reply.content()).decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def _text(events: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content", "") for event in events for choice in event["choices"])


async def _took(clock: Clock, node: Node, service: str, request: StandInRequest) -> float:
    began = clock()
    await (await node.handle(service, request)).content()
    return (clock() - began) * 1000


def test_a_service_takes_the_median_of_the_table_for_so_many_items() -> None:
    async def main(node: Node, clock: Clock) -> None:
        for documents in (10, 100):
            taken = [await _took(clock, node, "reranker", _rerank(documents)) for _ in range(400)]
            expected = node.calibration.service("reranker").median_ms(documents)
            assert median(taken) == pytest.approx(expected, rel=0.05)
            assert min(taken) < 0.7 * expected < 1.4 * expected < max(taken)

    _run(main)


def test_the_same_seed_takes_the_same_times_whatever_the_other_services_do() -> None:
    taken: list[float] = []

    async def alone(node: Node, clock: Clock) -> None:
        taken.append(await _took(clock, node, "reranker", _rerank()))

    async def beside_chat(node: Node, clock: Clock) -> None:
        await (await node.handle(VLM, _chat())).content()
        await alone(node, clock)

    _run(alone)
    _run(beside_chat)
    _run(alone, seed=2)
    assert taken[0] == pytest.approx(taken[1])
    assert taken[0] != pytest.approx(taken[2])


def test_a_slow_service_takes_its_factor_longer_for_its_share_of_the_calls() -> None:
    async def main(node: Node, clock: Clock) -> None:
        node.slowness["reranker"] = Slowness(factor=100, share=0.25)
        taken = [await _took(clock, node, "reranker", _rerank()) for _ in range(400)]
        assert sum(ms > 500 for ms in taken) / len(taken) == pytest.approx(0.25, abs=0.06)

    _run(main)


def test_a_full_service_answers_with_the_problem_and_when_to_come_back() -> None:
    async def main(node: Node, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(node.calibration.concurrency["reranker"] + node.calibration.queue):
                group.start_soon(node.handle, "reranker", _rerank())
            await anyio.wait_all_tasks_blocked()
            reply = await node.handle("reranker", _rerank())
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        assert json.loads(await reply.content())["type"] == "urn:loreglass:problem:overloaded"
        assert node.counts["reranker"].refused == 1

    _run(main)


def test_a_deadline_is_kept_and_counted() -> None:
    async def main(node: Node, clock: Clock) -> None:
        reply = await node.handle("reranker", _rerank(500, {"x-deadline-ms": "50"}))
        assert reply.status == 504
        assert clock() == pytest.approx(0.05)
        await anyio.sleep(10)
        counts = node.counts["reranker"]
        assert (counts.expired, counts.late, counts.finished) == (1, 1, 0)

    _run(main)


def test_a_caller_that_leaves_is_counted_and_leaves_nothing_behind() -> None:
    async def main(node: Node, clock: Clock) -> None:
        with anyio.move_on_after(0.001):
            await node.handle("reranker", _rerank(500))
        assert node.counts["reranker"].cancelled == 1
        assert node.stations["reranker"].working == 0

    _run(main)


def test_closing_a_streamed_reply_ends_its_sequence() -> None:
    async def main(node: Node, clock: Clock) -> None:
        body = (await node.handle(VLM, _chat())).body
        await anext(body)
        assert node.vlm.running == 1
        await body.aclose()
        assert (node.vlm.running, node.counts[VLM].cancelled) == (0, 1)
        assert node.counts[VLM].wasted_ms > 0

    _run(main)


def test_a_reader_that_leaves_with_the_last_token_has_had_its_reply() -> None:
    async def main(node: Node, clock: Clock) -> None:
        body = (await node.handle(VLM, _chat())).body
        async for piece in body:
            if b'"finish_reason": "stop"' in piece:
                break
        await body.aclose()
        assert (node.counts[VLM].finished, node.counts[VLM].cancelled) == (1, 0)

    _run(main)


def test_a_reply_never_read_holds_nothing() -> None:
    async def main(node: Node, clock: Clock) -> None:
        reply = await node.handle(VLM, _chat())
        assert (node.vlm.running, node.vlm.waiting) == (0, 0)
        await reply.body.aclose()

    _run(main)


def test_small_models_on_the_same_card_slow_the_tokens_down() -> None:
    taken: list[float] = []

    async def alone(node: Node, clock: Clock) -> None:
        taken.append(await _took(clock, node, VLM, _chat()))

    async def beside_reranks(node: Node, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            node.slowness["reranker"] = Slowness(factor=1_000)
            for _ in range(2):
                group.start_soon(node.handle, "reranker", _rerank())
            await anyio.wait_all_tasks_blocked()
            await alone(node, clock)
            group.cancel_scope.cancel()

    _run(alone)
    _run(beside_reranks)
    speed, read = ALONE.speed, 130 + 0.048 * 40
    assert (taken[1] - read) / (taken[0] - read) == pytest.approx(1.6, abs=0.02)
    assert speed.decode_ms_per_token == 14.7


def test_what_a_call_read_and_wrote_is_told_in_its_usage() -> None:
    async def main(node: Node, clock: Clock) -> None:
        events = await _events(await node.handle(VLM, _chat()))
        usage = events[-1]["usage"]
        told = [token for event in events for choice in event["choices"] if choice["logprobs"]
                for token in choice["logprobs"]["content"]]  # fmt: skip
        assert usage["completion_tokens"] == len(told)
        assert "".join(token["token"] for token in told) == _text(events)
        assert all(len(token["top_logprobs"]) == 3 for token in told)
        assert usage["prompt_tokens"] > node.calibration.photo_tokens

    _run(main)


def test_a_reply_longer_than_its_limit_is_cut_off_and_says_so() -> None:
    async def main(node: Node, clock: Clock) -> None:
        events = await _events(await node.handle(VLM, _chat(max_tokens=5)))
        assert events[-1]["usage"]["completion_tokens"] == 5
        assert events[-2]["choices"][0]["finish_reason"] == "length"
        with pytest.raises(json.JSONDecodeError):
            json.loads(_text(events))

    _run(main)


@pytest.mark.parametrize(
    ("route", "answerability"),
    [
        (Route.DIRECT, Answerability.IN_PHOTO),
        (Route.VERIFY, Answerability.CHECK),
        (Route.RAG, Answerability.LOOK_UP),
    ],
)
def test_the_question_chooses_the_kind_of_draft(route: Route, answerability: Answerability) -> None:
    async def main(node: Node, clock: Clock) -> None:
        reply = await node.handle(VLM, _chat(question=QUESTIONS[route]))
        written = Understanding.model_validate_json(_text(await _events(reply)))
        assert written.answerability is answerability

    _run(main)


@pytest.mark.parametrize(
    "changed",
    [
        {"stream": False},
        {"response_format": {"type": "json_object"}},
        {"messages": []},
        {"max_tokens": "many"},
        {"max_tokens": 0},
        {"max_tokens": -5},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "unheard_of"}}},
    ],
)
def test_a_chat_that_the_stand_in_cannot_answer_is_refused_as_vllm_would(changed: dict[str, Any]) -> None:
    async def main(node: Node, clock: Clock) -> None:
        reply = await node.handle(VLM, _chat(**changed))
        assert reply.status == 400
        assert json.loads(await reply.content())["error"]["type"] == "BadRequestError"
        assert node.counts[VLM].refused == 1

    _run(main)


def test_another_model_does_not_exist() -> None:
    async def main(node: Node, clock: Clock) -> None:
        assert (await node.handle(VLM, _chat(model="another"))).status == 404

    _run(main)


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/v1/elsewhere", b"{}", 404),
        ("GET", "/v1/rerank", b"", 405),
        ("POST", "/v1/rerank", b"{", 422),
        ("POST", "/v1/rerank", b'{"query": "", "documents": []}', 422),
    ],
)
def test_what_the_contract_does_not_know_is_a_problem(
    method: str, path: str, content: bytes, status: int
) -> None:
    async def main(node: Node, clock: Clock) -> None:
        reply = await node.handle("reranker", StandInRequest(method, path, JSON, content))
        assert reply.status == status
        assert reply.headers["content-type"] == "application/problem+json"

    _run(main)


def test_the_reader_finds_what_a_page_or_the_sign_states_and_points_at_it() -> None:
    async def main(node: Node, clock: Clock) -> None:
        passages = [{"text": "Nothing."}, {"text": f"Before. {FACT} After."}, {"text": "\n".join(SIGN)}]
        body = {"question": QUESTIONS[Route.RAG], "passages": passages, "top_n": 9}
        request = StandInRequest("POST", "/v1/read", JSON, json.dumps(body).encode())
        reply = ReadReply.model_validate_json(await (await node.handle("reader", request)).content())
        assert [(each.passage_index, each.span.text) for each in reply.answers] == [
            (1, "1931"),
            (2, "12 minutes"),
        ]
        for each in reply.answers:
            text = passages[each.passage_index]["text"]
            assert text[each.sentence.start : each.sentence.end] == each.sentence.text
            assert text[each.span.start : each.span.end] == each.span.text
            assert each.sentence.start <= each.span.start < each.span.end <= each.sentence.end

    _run(main)


def test_there_is_no_stand_in_for_what_is_no_service() -> None:
    async def main(node: Node, clock: Clock) -> None:
        with pytest.raises(ValueError, match="no stand-in for cook"):
            await node.handle("cook", _rerank())

    _run(main)


def test_every_service_says_that_it_is_well() -> None:
    async def main(node: Node, clock: Clock) -> None:
        for service in SERVICES:
            path = "/health" if service == VLM else "/health/ready"
            assert (await node.handle(service, StandInRequest("GET", path, {}, b""))).status == 200

    _run(main)


def test_a_node_scaled_to_nothing_takes_no_time() -> None:
    async def main(node: Node, clock: Clock) -> None:
        assert await _took(clock, node, "reranker", _rerank(100)) == 0
        assert await _took(clock, node, VLM, _chat()) == 0

    _run(main, ALONE.scaled(0))


@pytest.mark.parametrize(("factor", "share"), [(0.5, 1.0), (2.0, -0.1), (2.0, 1.1)])
def test_a_slowness_that_is_none_is_refused(factor: float, share: float) -> None:
    with pytest.raises(ValueError, match="factor from 1"):
        Slowness(factor, share)


@pytest.mark.parametrize("count", [1, 2, 7, 30, 31, 500])
def test_a_text_is_cut_into_so_many_tokens_and_none_is_empty(count: int) -> None:
    text = '{"answer": "In 1931.", "x": 1}'
    pieces = cut(text, count)
    assert "".join(pieces) == text
    assert len(pieces) == min(count, len(text))
    assert all(pieces)
