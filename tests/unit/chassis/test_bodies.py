"""Bodies and forms of requests are bounded before they are read."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Annotated, Any

import anyio
import httpx
import pytest
from fastapi import APIRouter, Form, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError, field_validator

from chassis.http.app import create_app
from chassis.http.bodies import Router, read_form, read_pictured, takes_json
from chassis.json_text import JsonLimits
from chassis.settings import AppSettings
from chassis.telemetry.metrics import Metrics
from contracts.chat import MOST_CHARS, MOST_FILES, ChatRequest
from deploy.openapi import APPS, document
from tests.unit.chassis.apps import kind_of


class Names(BaseModel):
    names: list[str]


def client_of(router: APIRouter) -> httpx.AsyncClient:
    app = create_app("probe", AppSettings(), [router], lambda _: nullcontext(), Metrics("probe"))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://probe")


async def test_json_is_parsed_strictly_within_the_routes_limits() -> None:
    router = Router()

    @router.post("/usual")
    async def usual(body: Names) -> int:
        return len(body.names)

    @router.post("/many")
    @takes_json(JsonLimits(max_items=100_000))
    async def many(body: Names) -> int:
        return len(body.names)

    async with client_of(router) as client:
        sent = {"names": ["a"] * 5_000}
        reply = await client.post("/usual", json=sent)
        assert kind_of(reply) == (413, "payload_too_large")
        assert "1,024 names and values" in reply.json()["detail"]
        assert (await client.post("/many", json=sent)).json() == 5_000
        for text in (b'{"names": [], "names": []}', b'{"names": [NaN]}', b"{"):
            reply = await client.post("/usual", content=text, headers={"Content-Type": "application/json"})
            assert kind_of(reply) == (400, "malformed_request")


@pytest.mark.parametrize("charset", ["punycode", "UTF-7", '"idna"', "zip"])
async def test_form_charset_of_the_client_is_ignored(charset: str) -> None:
    router = Router()

    @router.post("/form")
    async def form(word: Annotated[str, Form()]) -> str:
        return word

    part = b'--e\r\nContent-Disposition: form-data; name="word"\r\n\r\n-aaaa\r\n--e--\r\n'
    kind = "multipart/form-data; boundary=e; charset="
    async with client_of(router) as client:
        refused = await client.post("/form", content=part, headers={"Content-Type": kind + charset})
        taken = await client.post("/form", content=part, headers={"Content-Type": kind + "UTF-8"})
    assert refused.status_code == 400
    assert taken.json() == "-aaaa"


def routes_below(routes: list[Any]) -> Iterator[APIRoute]:
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from routes_below(included.routes)
        elif isinstance(route, APIRoute):
            yield route


@pytest.mark.parametrize("name", APPS)
def test_every_route_uses_the_chassis_router(name: str) -> None:
    routes = list(routes_below(list(APPS[name]().routes)))
    assert routes
    of_fastapi = [route.path for route in routes if type(route) is APIRoute]
    assert of_fastapi == [], "made by fastapi.APIRouter, not by chassis.http.bodies.Router"


@pytest.mark.parametrize("name", APPS)
def test_openapi_references_exist(name: str) -> None:
    described = document(name)
    references = re.findall(r'"\$ref": "(.*?)"', json.dumps(described))
    assert set(references) <= {
        f"#/components/schemas/{schema}" for schema in described["components"]["schemas"]
    }


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "a" * (MOST_CHARS // 2 + 1)}] * 2,
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}] * 60}]
        * (MOST_FILES // 60 + 1),
        [{"role": "user", "content": [{"type": "text", "text": "a"}] * 100}],
        [{"role": "user", "content": "a"}] * 2_000,
        [1] * 1_000,
    ],
    ids=["characters", "photos", "parts", "messages", "no messages"],
)
def test_chat_request_must_be_a_valid_conversation(messages: list[Any]) -> None:
    with pytest.raises(ValidationError, match="messages") as caught:
        ChatRequest.model_validate({"model": "loreglass", "messages": messages})
    assert caught.value.error_count() == 1


@pytest.mark.parametrize("in_form", [False, True], ids=["json", "form"])
async def test_large_bodies_are_read_one_at_a_time(in_form: bool) -> None:
    """A wide character in a long string takes eight times what arrived: of one body, not of all of them."""
    reading, most = 0, 0

    class Text(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def observe(cls, text: str) -> str:
            nonlocal reading, most
            reading += 1
            most = max(most, reading)
            time.sleep(0.01)  # lets go of the interpreter, as reading does not
            reading -= 1
            return text

    router, limits = Router(), JsonLimits()

    @router.post("/read")
    @takes_json(limits, or_form=True)
    async def route(request: Request) -> int:
        body, _ = await read_pictured(request, Text, limits)
        return len(body.text)

    text = json.dumps({"text": "a" * 100_000 + "😀"}, ensure_ascii=False).encode()
    sending: dict[str, Any] = (
        {"files": {"request": text}}
        if in_form
        else {"content": text, "headers": {"Content-Type": "application/json"}}
    )
    replies = list[int]()

    async def send() -> None:
        replies.append((await client.post("/read", **sending)).json())

    async with client_of(router) as client, anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(send)
    assert (replies, most) == ([100_001] * 4, 1)


PART = b'--XX\r\nContent-Disposition: form-data; name="question"\r\n\r\nhow high is it?\r\n'
PHOTO = b'--XX\r\nContent-Disposition: form-data; name="image"; filename="a.jpg"\r\n\r\n\xff\xd8\xff\r\n'
END = b"--XX--\r\n"
MULTIPART = "multipart/form-data; boundary=XX"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (PART + PHOTO + END, MULTIPART, 200),
        (PART + PHOTO, MULTIPART, 400),
        (PART + PHOTO[:30], MULTIPART, 400),
        (b"", MULTIPART, 400),
        (PART.replace(b"XX", b"YY") + b"--YY--\r\n", MULTIPART, 400),
        (PART + END, "", 415),
        (PART + END, "text/plain; boundary=XX", 415),
        (PART + END, "multipart/form-data", 400),
        (PHOTO + PHOTO + END, MULTIPART, 413),
        (PART * 3 + END, MULTIPART, 413),
        (PART.replace(b"how", b"how" * 99) + END, MULTIPART, 413),
    ],
)
async def test_incomplete_or_oversized_form_is_refused(body: bytes, kind: str, status: int) -> None:
    router = Router()

    @router.post("/")
    async def names(request: Request) -> list[str]:
        async with read_form(request, max_files=1, max_fields=2, max_part_size=64) as form:
            return list(form)

    async with client_of(router) as client:
        reply = await client.post("/", content=body, headers={"Content-Type": kind} if kind else {})
    assert reply.status_code == status
    assert status != 200 or reply.json() == ["question", "image"]
