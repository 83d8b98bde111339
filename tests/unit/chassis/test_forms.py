"""Forms are read as Starlette's own parser reads them, and what is no form is refused."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from chassis.errors import LoreglassError, MalformedRequest, PayloadTooLarge
from chassis.http.forms import read_form

EDGE = b"edge"
Read = tuple[tuple[str, str | None, bytes], ...]

names = st.text(st.characters(codec="utf-8", exclude_characters='\r\n\0"\\\\;'), min_size=1, max_size=8)
contents = st.binary(max_size=60) | st.sampled_from([b"--edge", b"\r\n--edg", b"\r\n\r\n", b"\r\n"])
parts = st.lists(st.tuples(names, st.none() | names, contents), max_size=4)


def request_of(pieces: list[bytes], kind: str = "multipart/form-data; boundary=edge") -> Request:
    messages: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.request", "body": b"", "more_body": False})
    rest = iter(messages)

    async def receive() -> Message:
        return next(rest)

    return Request({"type": "http", "headers": [(b"content-type", kind.encode())]}, receive)


def form_of(parts: list[tuple[str, str | None, bytes]]) -> bytes:
    lines = []
    for name, filename, content in parts:
        named = f'; filename="{filename}"' if filename is not None else ""
        head = f'Content-Disposition: form-data; name="{name}"{named}\r\nX-Other: 1'.encode()
        lines.append(b"--%b\r\n%b\r\n\r\n%b\r\n" % (EDGE, head, content))
    return b"".join(lines) + b"--edge--\r\n"


def read(body: bytes, by: Callable[[Request], Awaitable[FormData]], cut: int = 7) -> Read:
    """In two pieces, as they may come from a socket."""

    async def items() -> Read:
        form = await by(request_of([body[:cut], body[cut:]]))
        found = tuple([await _item(name, value) for name, value in form.multi_items()])
        await form.close()
        return found

    return asyncio.run(items())


async def _item(name: str, value: str | UploadFile) -> tuple[str, str | None, bytes]:
    if isinstance(value, str):
        return name, None, value.encode(errors="surrogateescape")
    return name, value.filename, await value.read()


async def ours(request: Request) -> FormData:
    return await read_form(request, 4, 4)


async def starlettes(request: Request) -> FormData:
    return await request.form(max_files=4, max_fields=4)


@given(parts, st.integers(0, 200))
def test_a_form_is_read_as_by_starlette(parts: list[tuple[str, str | None, bytes]], cut: int) -> None:
    body = form_of(parts) if parts else b"\r\n--edge--\r\n"
    whole = all(b"\r\n--edge" not in b"\r\n" + content for _, _, content in parts)
    if whole:
        assert read(body, ours, cut) == read(body, starlettes, cut)


@given(parts, st.integers(0, 400), st.binary(max_size=3))
def test_what_is_read_of_a_damaged_form_is_what_starlette_reads(
    parts: list[tuple[str, str | None, bytes]], at: int, damage: bytes
) -> None:
    body = form_of(parts)
    damaged = body[:at] + damage + body[at + len(damage) :]
    try:
        found = read(damaged, ours)
    except LoreglassError:
        return
    try:
        expected = read(damaged, starlettes)
    except HTTPException:
        return  # stricter on bytes within headers that nobody here reads
    assert found == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--edge",
        b"--edge\r\n",
        b"--edgeX",
        form_of([("a", None, b"x")])[:-14],
        b"--edge\r\nA: b\r\n\r\nx",
    ],
)
def test_half_a_form_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedRequest):
        read(body, ours)


@pytest.mark.parametrize("kind", ["multipart/form-data", f"multipart/form-data; boundary={'b' * 300}"])
def test_a_boundary_is_needed_and_bounded(kind: str) -> None:
    with pytest.raises(MalformedRequest):
        asyncio.run(read_form(request_of([b"--edge--"], kind), 1, 1))


@pytest.mark.parametrize(
    "parts", [[("a", None, b"")] * 5, [("a", "b", b"")] * 5, [("a", None, b"x" * (2**20 + 1))]]
)
def test_too_many_parts_and_too_long_fields_are_too_large(parts: list[tuple[str, str | None, bytes]]) -> None:
    with pytest.raises(PayloadTooLarge):
        read(form_of(parts), ours)


def test_a_form_without_a_name_is_malformed() -> None:
    with pytest.raises(MalformedRequest):
        read(b"--edge\r\nContent-Disposition: form-data\r\n\r\nx\r\n--edge--", ours)


def test_no_charset_slows_the_reading_down() -> None:
    body = form_of([("a", None, "naïve".encode())])
    kind = "multipart/form-data; boundary=edge; charset=punycode"
    form = asyncio.run(read_form(request_of([body], kind), 1, 1))
    assert form["a"] == "naïve"
