"""One HTTP exchange without a web framework: what comes in, what goes out, and how the former is read."""

import json
import math
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from chassis.errors import ERROR_TABLE, InvalidRequest, LoreglassError, MalformedRequest, problem_of
from chassis.resilience.deadlines import Clock, Deadline
from contracts import headers

Body = TypeVar("Body", bound=BaseModel)

_JSON = "application/json"
_URLENCODED = "application/x-www-form-urlencoded"
_PROBLEM_JSON = "application/problem+json"
_BOUNDARY = re.compile(r'boundary="?([^";,]+)"?')
_NAME = re.compile(rb'name="([^"]*)"')


@dataclass(frozen=True, slots=True)
class StandInRequest:
    """A request as it arrived; `headers` in any case, `content` the whole body."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes

    def header(self, name: str) -> str | None:
        """The header's value, whatever case it was sent in."""
        wanted = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == wanted), None)

    def deadline(self, clock: Clock) -> Deadline | None:
        """When the caller stops waiting, if it said so. Raises `MalformedRequest`."""
        given = self.header(headers.DEADLINE)
        if given is None:
            return None
        if not given.isdecimal() or len(given) > 9:
            raise MalformedRequest(f"{headers.DEADLINE} must be a whole number of milliseconds.")
        return Deadline.after_ms(int(given), clock)

    def json(self, model: type[Body]) -> Body:
        """The body as the contract has it. Raises `InvalidRequest`."""
        return read_json(self.content, model)

    def form(self) -> "Form":
        """The parts of a form, with or without files. Raises `MalformedRequest`."""
        content_type = self.header("content-type") or ""
        if content_type.startswith(_URLENCODED):
            fields = parse_qsl(self.content, keep_blank_values=True)
            return Form(tuple((name.decode("utf-8", "replace"), value) for name, value in fields))
        boundary = _BOUNDARY.search(content_type)
        if boundary is None:
            raise MalformedRequest("The request is not a form.")
        return Form(tuple(_parts(self.content, boundary.group(1).encode("latin-1"))))


@dataclass(frozen=True, slots=True)
class Form:
    """Name and content of each part of a form, in order."""

    items: tuple[tuple[str, bytes], ...]

    def all(self, name: str) -> list[bytes]:
        """Every part of that name."""
        return [content for key, content in self.items if key == name]

    def text(self, name: str, otherwise: str) -> str:
        """The first part of that name as text."""
        found = self.all(name)
        return found[0].decode("utf-8", "replace") if found else otherwise

    def number(self, name: str, otherwise: int) -> int:
        """The first part of that name as a whole number. Raises `InvalidRequest`."""
        text = self.text(name, str(otherwise))
        if not text.isdecimal():
            raise InvalidRequest(f"{name} must be a whole number.")
        return int(text)


@dataclass(frozen=True, slots=True)
class StandInReply:
    """A reply; closing `body` before its end is the caller's leaving.

    `began`: of a model's reply, when its sequence left the queue, on the node's clock; None before that.
    """

    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]
    began: Callable[[], float | None] = lambda: None

    async def content(self) -> bytes:
        """The whole body."""
        return b"".join([piece async for piece in self.body])


def read_json(content: bytes, model: type[Body]) -> Body:
    """`content` as the contract has it. Raises `InvalidRequest`."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise InvalidRequest(error.errors(include_url=False, include_input=False)[0]["msg"]) from error


def json_reply(body: BaseModel | Mapping[str, Any], status: int = 200) -> StandInReply:
    """`body` as JSON."""
    text = body.model_dump_json() if isinstance(body, BaseModel) else json.dumps(body)
    return whole_reply(status, _JSON, text.encode())


def problem_reply(error: LoreglassError) -> StandInReply:
    """The error as the services tell it."""
    content = problem_of(error).model_dump_json(exclude_none=True).encode()
    reply = whole_reply(ERROR_TABLE[error.kind].status, _PROBLEM_JSON, content)
    if error.retry_after_s is None:
        return reply
    retry_after = {"retry-after": str(max(1, math.ceil(error.retry_after_s)))}
    return StandInReply(reply.status, {**reply.headers, **retry_after}, reply.body)


def whole_reply(status: int, content_type: str, content: bytes) -> StandInReply:
    """A reply that is complete from the start."""
    sent = {"content-type": content_type, "content-length": str(len(content))}
    return StandInReply(status, sent, _once(content))


async def _once(content: bytes) -> AsyncGenerator[bytes, None]:
    yield content


def _parts(content: bytes, boundary: bytes) -> Iterator[tuple[str, bytes]]:
    """The parts between the boundary's lines (RFC 2046, 5.1.1)."""
    for part in content.split(b"--" + boundary)[1:-1]:
        head, _, body = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if name is not None:
            yield name.group(1).decode("utf-8", "replace"), body.removesuffix(b"\r\n")
