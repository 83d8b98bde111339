"""Devices ask with a photo over a real socket, in the bytes of their own clients."""

from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from chassis.http.problems import PROBLEM_JSON
from chassis.keys import ApiKey
from contracts.devices import PhotoQuestionReply
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.device_bytes import board_pieces, glasses, phone
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.hostile import INSIDE
from tests.unit.gateway.platform import PHOTO, World, bearer, gateway_before, keys_file
from tests.wire import RawReply, connection, read_reply, send_raw

OTHER_PHOTO = encoded(scene(400, 300), "JPEG", quality=80)


MINE, OTHER = ApiKey.new(), ApiKey.new()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return keys_file(tmp_path, mine=MINE, other=OTHER)


async def by_board(world: World, question: str, photo: bytes = PHOTO, **identity: str) -> RawReply:
    """A board's question, each of its writes a packet of its own."""
    async with connection(world.url) as stream:
        for piece in board_pieces(question, photo, **identity):
            await stream.send(piece)
        return await read_reply(stream)


async def test_board_reads_the_answer(world: World) -> None:
    answered = (await world.ask("Who wrote this book?")).answer
    reply = await by_board(world, "Who wrote this book?")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json() == {"success": True, "action": "RESPONSE", "response": answered}
    assert world.reasoner.queries[-1].question == "Who wrote this book?"


async def test_glasses_ask_the_question_in_their_url(world: World) -> None:
    answered = await world.ask("Who wrote this book?")
    query = "?question=Who%20wrote%20this%20book%3F"
    for sent in (glasses("assistant-1", PHOTO, query), phone("assistant-1", PHOTO, query)):
        reply = await send_raw(world.url, sent)
        body = PhotoQuestionReply.model_validate_json(reply.body)
        assert (reply.status, body.success, body.requestId) == (200, True, "assistant-1")
        assert body.response == answered.answer
        assert body.loreglass is not None
        assert body.loreglass.citations == answered.citations
        assert world.reasoner.queries[-1].question == "Who wrote this book?"


async def test_photo_alone_asks_for_the_object(world: World) -> None:
    await send_raw(world.url, glasses("assistant-2", PHOTO))
    await by_board(world, "  ")
    assert [ask.question for ask in world.reasoner.queries] == ["What is this?"] * 2


async def test_device_keeps_its_history_and_never_its_old_photo(world: World) -> None:
    await by_board(world, "Who wrote this book?")
    await by_board(world, "And this one?", OTHER_PHOTO)
    second = world.reasoner.queries[-1]
    assert [turn.question for turn in second.history] == ["Who wrote this book?"]
    assert second.photo is not None
    assert (second.photo_is_new, second.photo.width) == (True, 400)


@pytest.mark.parametrize(
    "other", [{"device": "ff:ff:ff:ff:ff:ff"}, {"client": "another"}, {"token": "another"}], ids=str
)
async def test_another_device_does_not_join_the_conversation(world: World, other: dict[str, str]) -> None:
    await by_board(world, "Who wrote this book?")
    await by_board(world, "How many pages has it?", **other)
    assert world.reasoner.queries[-1].history == ()


async def test_glasses_have_a_conversation_if_their_url_names_one(world: World) -> None:
    for request_id, query in (
        ("1", "?session=anna"),
        ("2", "?session=anna"),
        ("3", "?session=bert"),
        ("4", ""),
    ):
        assert (await send_raw(world.url, glasses(request_id, PHOTO, query))).status == 200
    assert [len(ask.history) for ask in world.reasoner.queries] == [0, 1, 0, 0]


@pytest.mark.parametrize("photo", [b"", b"no photo", PHOTO[:200]], ids=["empty", "text", "cut short"])
async def test_unreadable_photo_is_refused_in_each_devices_shape(world: World, photo: bytes) -> None:
    await by_board(world, "Who wrote this book?")
    reply = await by_board(world, "And this one?", photo)
    body = reply.json()
    assert (reply.status, set(body), body["success"]) == (200, {"success", "message"}, False)
    assert body["message"].endswith(".")
    assert not INSIDE.search(body["message"])
    assert len(world.reasoner.queries) == 1
    by_glasses = await send_raw(world.url, glasses("assistant-3", photo))
    assert by_glasses.status in (415, 422)
    assert by_glasses.headers["content-type"] == PROBLEM_JSON
    assert by_glasses.json()["message"] == body["message"]
    assert by_glasses.json()["success"] is False


async def test_log_names_the_error_of_a_board_with_status_200(world: World) -> None:
    with capture_logs() as logs:
        await by_board(world, "And this one?", b"no photo")
        await world.quiet()
    [line] = [each for each in logs if each.get("route") == "/devices/photo-question"]
    assert (line["status"], line["problem"]) == (200, "unsupported_image")


async def test_app_fetches_the_newest_answer_or_error_by_request_id(world: World) -> None:
    path = "/devices/photo-question/assistant-7"
    before = await world.client.get(path)
    sent = await send_raw(world.url, glasses("assistant-7", PHOTO))
    assert (before.status_code, before.json()["success"]) == (404, False)
    assert before.headers["content-type"] == PROBLEM_JSON
    assert (await world.client.get(path)).json() == sent.json()
    assert (await world.client.get(path + "?session=anna")).status_code == 404
    refused = await send_raw(world.url, glasses("assistant-7", b"no photo"))
    fetched = await world.client.get(path)
    assert fetched.status_code == 200
    assert fetched.json() == {"success": False, "message": refused.json()["message"]}


async def test_newer_photo_removes_the_older_answer(services: FakeServices, world: World) -> None:
    path = "/devices/photo-question/assistant-10"
    await send_raw(world.url, glasses("assistant-10", PHOTO))
    answered = await world.client.get(path)
    services.text_search.mood = Mood.HANGS
    services.text_search.arrived = anyio.Event()
    async with connection(world.url) as stream:
        await stream.send(glasses("assistant-10", OTHER_PHOTO, "?deadline_ms=60000"))
        with anyio.fail_after(30):
            await services.text_search.arrived.wait()
        while_asking = await world.client.get(path)
    await world.quiet()
    assert (answered.status_code, while_asking.status_code) == (200, 404)


async def test_app_fetches_the_answer_after_the_glasses_disconnected(
    services: FakeServices, world: World
) -> None:
    services.text_search.mood = Mood.HELD
    async with connection(world.url) as stream:
        await stream.send(glasses("assistant-11", PHOTO, "?deadline_ms=60000"))
        with anyio.fail_after(30):
            await services.text_search.arrived.wait()
    services.text_search.release.set()
    with anyio.fail_after(30):
        while (fetched := await world.client.get("/devices/photo-question/assistant-11")).is_error:
            await anyio.lowlevel.checkpoint()
    assert fetched.json()["success"]


async def test_other_tenants_cannot_fetch_the_answer(services: FakeServices, keys: Path) -> None:
    async with gateway_before(services, keys=keys) as world:
        await send_raw(world.url, glasses("1", PHOTO, token=MINE.text))
        path = "/devices/photo-question/1"
        replies = [await world.client.get(path, headers=each) for each in (bearer(MINE), bearer(OTHER))]
    assert [reply.status_code for reply in replies] == [200, 404]


async def test_missing_key_is_refused_before_the_photo_is_read(services: FakeServices, keys: Path) -> None:
    sent = glasses("1", PHOTO)
    async with gateway_before(services, keys=keys) as world, connection(world.url) as stream:
        await stream.send(sent[: sent.index(b"\r\n\r\n") + 4])
        with anyio.fail_after(20):
            assert (await read_reply(stream)).status == 401
        await stream.send(sent[sent.index(b"\r\n\r\n") + 4 :])
        await stream.send(glasses("2", PHOTO, token=MINE.text))  # the connection is as good as ever
        with anyio.fail_after(20):
            assert (await read_reply(stream)).status == 200


BOARD = b"".join(board_pieces("What is this?", PHOTO))


@pytest.mark.parametrize(
    ("sent", "least_ms", "most_ms", "settings"),
    [
        (glasses("1", PHOTO), 4_000, 5_000, {}),
        (phone("1", PHOTO), 20_000, 30_000, {}),
        (BOARD, 20_000, 30_000, {}),
        (glasses("1", PHOTO, "?deadline_ms=9000"), 9_000, 9_000, {}),
        (BOARD, 3_000, 3_000, {"answer_deadline_ms": 3_000}),
    ],
    ids=["glasses", "phone", "board", "its address says", "the gateway has a shorter one"],
)
async def test_deadline_fits_the_devices_timeout(
    services: FakeServices, sent: bytes, least_ms: int, most_ms: int, settings: dict[str, Any]
) -> None:
    async with gateway_before(services, **settings) as world:
        reply = await send_raw(world.url, sent)
        trace = (await world.client.get(f"/traces/{reply.headers['x-trace-id']}")).json()
    assert least_ms <= trace["deadline_ms"] <= most_ms


@pytest.mark.parametrize("query", ["?deadline_ms=soon", "?deadline_ms=9999999", f"?question={'a' * 2001}"])
async def test_bad_query_parameter_is_named(world: World, query: str) -> None:
    reply = await send_raw(world.url, glasses("1", PHOTO, query))
    assert reply.status == 422
    assert reply.json()["message"].startswith(query[1:].partition("=")[0])


async def test_exactly_one_photo_is_required(world: World) -> None:
    none = await world.client.post("/devices/photo-question", files=[("requestId", (None, "1"))])
    two = await world.client.post(
        "/devices/photo-question", files=[("photo", ("a.jpg", PHOTO)), ("file", ("b.jpg", PHOTO))]
    )
    text = await world.client.post("/devices/photo-question", files=[("photo", (None, "text"))])
    other = await world.client.post("/devices/photo-question", json={"photo": "…"})
    assert [reply.status_code for reply in (none, two, text, other)] == [422, 422, 422, 415]
    assert not any(reply.json()["success"] for reply in (none, two, text, other))


@pytest.mark.parametrize("name", ["", "\u0000", "x" * 4_000], ids=repr)
async def test_any_session_name_is_accepted(world: World, name: str) -> None:
    params = {"session": name, "question": "Who wrote this book?"}
    for _ in range(2):
        files = {"photo": ("a.jpg", PHOTO), "requestId": (None, name)}
        reply = await world.client.post("/devices/photo-question", files=files, params=params)
        assert reply.status_code == 200, reply.text
    assert len(world.reasoner.queries[-1].history) == (1 if name else 0)


async def test_devices_without_keys_and_with_one_name_are_apart_by_their_addresses(world: World) -> None:
    params = {"session": "anna", "question": "Who wrote this book?"}
    for address in ("127.0.0.2", "127.0.0.2", "127.0.0.3"):
        transport = httpx.AsyncHTTPTransport(local_address=address)
        async with httpx.AsyncClient(transport=transport, base_url=world.url) as device:
            files = {"photo": ("a.jpg", PHOTO)}
            await device.post("/devices/photo-question", files=files, params=params)
    assert [len(ask.history) for ask in world.reasoner.queries] == [0, 1, 0]
