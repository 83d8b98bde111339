"""Devices ask with a photo over a real socket, in the bytes of their own clients, and read what they can."""

from pathlib import Path

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from chassis.http.problems import PROBLEM_JSON
from chassis.keys import ApiKey
from contracts.devices import PhotoQuestionReply
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.device_bytes import DEVICE, board_pieces, glasses, phone
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.hostile import INSIDE
from tests.unit.gateway.platform import PHOTO, World, gateway_before
from tests.wire import RawReply, connection, read_reply, send_raw

pytestmark = pytest.mark.anyio

OTHER_PHOTO = encoded(scene(400, 300), "JPEG", quality=80)


async def by_board(world: World, question: str, photo: bytes = PHOTO, **given: str) -> RawReply:
    """A board's question, each of its writes a packet of its own."""
    async with connection(world.url) as stream:
        for piece in board_pieces(question, photo, **given):
            await stream.send(piece)
        return await read_reply(stream)


async def test_a_board_reads_the_answer_to_its_question(world: World) -> None:
    answered = (await world.ask("Who wrote this book?")).answer
    reply = await by_board(world, "Who wrote this book?")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json() == {"success": True, "action": "RESPONSE", "response": answered}
    assert world.reasoner.asked[-1].question == "Who wrote this book?"


@pytest.mark.parametrize("encoder_writes", [1, 512, 1_000_000])
async def test_a_photo_in_chunks_of_any_size_arrives_whole(world: World, encoder_writes: int) -> None:
    pieces = board_pieces("Who wrote this book?", PHOTO, encoder_writes=encoder_writes)
    reply = await send_raw(world.url, b"".join(pieces))
    assert reply.json()["success"]
    ask = world.reasoner.asked[-1]
    assert ask.photo is not None
    assert (ask.photo.width, ask.photo.height) == (320, 240)


async def test_a_question_in_any_script_arrives_whole(world: World) -> None:
    await by_board(world, "这本书是谁写的？ Qui l'a écrit ?")
    assert world.reasoner.asked[-1].question == "这本书是谁写的？ Qui l'a écrit ?"


async def test_glasses_ask_what_their_address_asks_and_read_the_whole_answer(world: World) -> None:
    answered = await world.ask("Who wrote this book?")
    query = "?question=Who%20wrote%20this%20book%3F"
    for sent in (glasses("assistant-1", PHOTO, query), phone("assistant-1", PHOTO, query)):
        reply = await send_raw(world.url, sent)
        told = PhotoQuestionReply.model_validate_json(reply.body)
        assert (reply.status, told.success, told.requestId) == (200, True, "assistant-1")
        assert told.response == answered.answer
        assert told.loreglass is not None
        assert told.loreglass.citations == answered.citations
        assert world.reasoner.asked[-1].question == "Who wrote this book?"


async def test_a_photo_without_a_question_asks_what_it_is(world: World) -> None:
    await send_raw(world.url, glasses("assistant-2", PHOTO))
    await by_board(world, "  ")
    assert [ask.question for ask in world.reasoner.asked] == ["What is this?"] * 2


async def test_a_device_remembers_what_it_asked_and_never_its_old_photo(world: World) -> None:
    await by_board(world, "Who wrote this book?")
    await by_board(world, "And this one?", OTHER_PHOTO)
    second = world.reasoner.asked[-1]
    assert [turn.question for turn in second.history] == ["Who wrote this book?"]
    assert second.photo is not None
    assert (second.photo_is_new, second.photo.width) == (True, 400)


@pytest.mark.parametrize(
    "other", [{"device": "ff:ff:ff:ff:ff:ff"}, {"client": "another"}, {"token": "another"}], ids=str
)
async def test_another_device_comes_into_no_conversation(world: World, other: dict[str, str]) -> None:
    await by_board(world, "Who wrote this book?")
    await by_board(world, "How many pages has it?", **other)
    assert world.reasoner.asked[-1].history == ()


async def test_glasses_have_a_conversation_where_their_address_names_one(world: World) -> None:
    for request_id, query in (
        ("1", "?session=anna"),
        ("2", "?session=anna"),
        ("3", "?session=bert"),
        ("4", ""),
    ):
        assert (await send_raw(world.url, glasses(request_id, PHOTO, query))).status == 200
    assert [len(ask.history) for ask in world.reasoner.asked] == [0, 1, 0, 0]


@pytest.mark.parametrize("photo", [b"", b"no photo", PHOTO[:200]], ids=["empty", "text", "cut short"])
async def test_a_photo_that_cannot_be_read_is_said_in_words_and_the_one_before_is_not_taken(
    world: World, photo: bytes
) -> None:
    await by_board(world, "Who wrote this book?")
    reply = await by_board(world, "And this one?", photo)
    told = reply.json()
    assert (reply.status, set(told), told["success"]) == (200, {"success", "message"}, False)
    assert told["message"].endswith(".")
    assert not INSIDE.search(told["message"])
    assert len(world.reasoner.asked) == 1
    by_glasses = await send_raw(world.url, glasses("assistant-3", photo))
    assert by_glasses.status in (415, 422)
    assert by_glasses.headers["content-type"] == PROBLEM_JSON
    assert by_glasses.json()["message"] == told["message"]
    assert by_glasses.json()["success"] is False


async def test_the_log_tells_what_failed_for_a_board_though_its_status_is_200(world: World) -> None:
    with capture_logs() as logs:
        await by_board(world, "And this one?", b"no photo")
        await world.quiet()
    [line] = [each for each in logs if each.get("route") == "/devices/photo-question"]
    assert (line["status"], line["problem"]) == (200, "unsupported_image")


async def test_an_app_fetches_the_answer_to_the_photo_of_its_glasses(world: World) -> None:
    path = "/devices/photo-question/assistant-7"
    before = await world.client.get(path)
    sent = await send_raw(world.url, glasses("assistant-7", PHOTO))
    assert (before.status_code, before.json()["success"]) == (404, False)
    assert before.headers["content-type"] == PROBLEM_JSON
    assert (await world.client.get(path)).json() == sent.json()
    assert (await world.client.get(path + "?session=anna")).status_code == 404


async def test_a_photo_that_comes_again_under_its_id_is_a_new_photo(world: World) -> None:
    """Glasses that were not answered in time have the phone send another encoding of it."""
    await send_raw(world.url, glasses("assistant-8", PHOTO))
    again = await send_raw(world.url, phone("assistant-8", OTHER_PHOTO))
    ask = world.reasoner.asked[-1]
    assert ask.photo is not None
    assert ask.photo.width == 400
    fetched = (await world.client.get("/devices/photo-question/assistant-8")).json()
    assert fetched["loreglass"]["trace_id"] == again.headers["x-trace-id"]


async def test_an_app_fetches_why_there_is_no_answer_and_not_the_one_before(world: World) -> None:
    path = "/devices/photo-question/assistant-9"
    await send_raw(world.url, glasses("assistant-9", PHOTO))
    refused = await send_raw(world.url, glasses("assistant-9", b"no photo"))
    fetched = await world.client.get(path)
    assert fetched.status_code == 200
    assert fetched.json() == {"success": False, "message": refused.json()["message"]}


async def test_while_a_newer_photo_is_asked_about_the_older_ones_answer_is_gone(
    services: FakeServices,
) -> None:
    async with gateway_before(services) as world:
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


async def test_an_app_fetches_the_answer_though_the_glasses_hung_up(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        services.text_search.mood = Mood.HELD
        async with connection(world.url) as stream:
            await stream.send(glasses("assistant-11", PHOTO, "?deadline_ms=60000"))
            with anyio.fail_after(30):
                await services.text_search.arrived.wait()
        services.text_search.release.set()
        found = await _fetched(world, "assistant-11")
    assert found.json()["success"]


async def test_an_older_photo_whose_answer_comes_late_does_not_take_the_newer_ones_place(
    services: FakeServices,
) -> None:
    async with gateway_before(services) as world:
        services.text_search.mood = Mood.HELD
        async with connection(world.url) as stream:
            await stream.send(glasses("assistant-12", PHOTO, "?question=old&deadline_ms=60000"))
            with anyio.fail_after(30):
                await services.text_search.arrived.wait()
            services.text_search.mood = Mood.WORKS
            await send_raw(world.url, glasses("assistant-12", OTHER_PHOTO))
            newer = await _fetched(world, "assistant-12")
            services.text_search.release.set()
            await world.quiet()
        assert (await _fetched(world, "assistant-12")).content == newer.content


async def _fetched(world: World, request_id: str) -> httpx.Response:
    with anyio.fail_after(30):
        while True:
            found = await world.client.get(f"/devices/photo-question/{request_id}")
            if found.status_code != 404:
                return found
            await anyio.lowlevel.checkpoint()


async def test_nobody_fetches_the_answer_of_another_tenant(
    services: FakeServices, key: tuple[str, ApiKey, ApiKey]
) -> None:
    keys, known, stranger = key
    async with gateway_before(services, keys=keys) as world:
        await send_raw(world.url, glasses("1", PHOTO, token=known.text))
        found = [
            (await world.client.get("/devices/photo-question/1", headers=headers)).status_code
            for headers in ({"Authorization": f"Bearer {each.text}"} for each in (known, stranger))
        ]
        found.append((await world.client.get("/devices/photo-question/1")).status_code)
    assert found == [200, 404, 401]


@pytest.fixture
def key(tmp_path: Path) -> tuple[str, ApiKey, ApiKey]:
    """A file of the keys of two tenants, and the keys."""
    mine, other = ApiKey.new(), ApiKey.new()
    file = tmp_path / "keys.toml"
    entries = [
        f'[[key]]\nprefix = "{key.prefix}"\nsha256 = "{key.sha256}"\ntenant = "{name}"\n'
        'priority = "interactive"\n'
        for name, key in (("mine", mine), ("other", other))
    ]
    file.write_text("\n".join(entries))
    return str(file), mine, other


async def test_a_key_is_asked_for_and_its_want_is_said_in_each_devices_shape(
    services: FakeServices, key: tuple[str, ApiKey, ApiKey]
) -> None:
    keys, known, _ = key
    async with gateway_before(services, keys=keys) as world:
        assert (await by_board(world, "Who wrote this?", token=known.text)).json()["success"]
        assert (await send_raw(world.url, glasses("1", PHOTO, token=known.text))).status == 200
        board, own = await by_board(world, "Who wrote this?"), await send_raw(world.url, glasses("2", PHOTO))
    assert (board.status, board.json()["success"]) == (200, False)
    assert (own.status, own.headers["www-authenticate"]) == (401, "Bearer")
    assert board.json()["message"] == own.json()["message"] == "Send a key: Authorization: Bearer lg_..."
    assert len(world.reasoner.asked) == 2


async def test_a_stranger_holds_no_room_for_a_photo(
    services: FakeServices, key: tuple[str, ApiKey, ApiKey]
) -> None:
    sent = glasses("1", PHOTO)
    async with gateway_before(services, keys=key[0]) as world, connection(world.url) as stream:
        await stream.send(sent[: sent.index(b"\r\n\r\n") + 4])
        with anyio.fail_after(20):
            assert (await read_reply(stream)).status == 401
        await stream.send(sent[sent.index(b"\r\n\r\n") + 4 :])
        await stream.send(glasses("2", PHOTO, token=key[1].text))  # the connection is as good as ever
        with anyio.fail_after(20):
            assert (await read_reply(stream)).status == 200


async def test_an_overloaded_gateway_says_so_and_when_to_come_again(services: FakeServices) -> None:
    services.ocr.mood = services.text_search.mood = Mood.HANGS
    services.ocr.arrived = anyio.Event()
    async with gateway_before(services, max_in_flight=1, max_waiting=0) as world:
        async with connection(world.url) as first:
            await first.send(glasses("1", PHOTO, "?deadline_ms=60000"))
            with anyio.fail_after(30):
                await services.ocr.arrived.wait()
            board, own = await by_board(world, "What?"), await send_raw(world.url, glasses("2", OTHER_PHOTO))
        await world.quiet()
    assert (board.status, board.json()["success"]) == (200, False)
    assert own.status == 503
    assert int(own.headers["retry-after"]) >= 1
    assert own.json()["message"] == board.json()["message"]


@pytest.mark.parametrize(
    ("sent", "least_ms", "most_ms"),
    [
        (glasses("1", PHOTO), 4_000, 5_000),
        (phone("1", PHOTO), 20_000, 30_000),
        (b"".join(board_pieces("What is this?", PHOTO)), 20_000, 30_000),
        (glasses("1", PHOTO, "?deadline_ms=9000"), 9_000, 9_000),
    ],
    ids=["glasses", "phone", "board", "its address says"],
)
async def test_an_answer_comes_before_its_device_hangs_up(
    world: World, sent: bytes, least_ms: int, most_ms: int
) -> None:
    reply = await send_raw(world.url, sent)
    trace = (await world.client.get(f"/traces/{reply.headers['x-trace-id']}")).json()
    assert least_ms <= trace["deadline_ms"] <= most_ms


async def test_a_gateway_that_answers_sooner_keeps_its_own_deadline(services: FakeServices) -> None:
    async with gateway_before(services, answer_deadline_ms=3_000) as world:
        reply = await by_board(world, "What is this?")
        trace = (await world.client.get(f"/traces/{reply.headers['x-trace-id']}")).json()
    assert trace["deadline_ms"] == 3_000


@pytest.mark.parametrize(
    "query", ["?deadline_ms=soon", "?deadline_ms=-1", "?deadline_ms=9999999", f"?question={'a' * 2001}"]
)
async def test_what_is_wrong_in_the_address_is_named(world: World, query: str) -> None:
    reply = await send_raw(world.url, glasses("1", PHOTO, query))
    assert reply.status == 422
    assert reply.json()["message"].startswith(query[1:].partition("=")[0])


async def test_one_photo_is_needed(world: World) -> None:
    none = await world.client.post("/devices/photo-question", files=[("requestId", (None, "1"))])
    two = await world.client.post(
        "/devices/photo-question", files=[("photo", ("a.jpg", PHOTO)), ("file", ("b.jpg", PHOTO))]
    )
    text = await world.client.post("/devices/photo-question", files=[("photo", (None, "text"))])
    other = await world.client.post("/devices/photo-question", json={"photo": "…"})
    assert [reply.status_code for reply in (none, two, text, other)] == [422, 422, 422, 415]
    assert not any(reply.json()["success"] for reply in (none, two, text, other))


@pytest.mark.parametrize("name", ["", "\u0000", "é", "x" * 4_000, "../../answer", "%00"], ids=repr)
async def test_any_name_makes_a_conversation_and_none_is_an_error(world: World, name: str) -> None:
    params = {"session": name, "question": "Who wrote this book?"}
    for _ in range(2):
        files = {"photo": ("a.jpg", PHOTO), "requestId": (None, name)}
        reply = await world.client.post("/devices/photo-question", files=files, params=params)
        assert reply.status_code == 200, reply.text
    assert len(world.reasoner.asked[-1].history) == (1 if name else 0)


async def test_a_board_that_hangs_up_half_way_leaves_nothing_behind(world: World) -> None:
    async with connection(world.url) as stream:
        await stream.send(b"".join(board_pieces("What?", PHOTO)[:4]))
    await world.quiet()
    assert (await by_board(world, "Who wrote this book?")).json()["success"]
    assert world.reasoner.asked[-1].history == ()


async def test_an_address_of_hardware_alone_opens_no_conversation(world: World) -> None:
    """A `Device-Id` is told to everybody nearby."""
    await by_board(world, "Who wrote this book?")
    files = {"file": ("camera.jpg", PHOTO, "image/jpeg")}
    await world.client.post(
        "/devices/photo-question", files=files, data={"question": "Who?"}, headers={"Device-Id": DEVICE}
    )
    assert world.reasoner.asked[-1].history == ()
