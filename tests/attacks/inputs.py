"""What is sent: bytes for one connection, and the ways to write them. The same seed gives the same bytes."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_BOUNDARY = "attack-7d1f4c"
Headers = Sequence[tuple[str, str | bytes]]


@dataclass(frozen=True, slots=True)
class Input:
    """One connection's bytes. `what`: in a few words; `to`: the app that gets them.

    `cut`: the sender ends its half afterwards. `silence`: no reply is right, for the request is never whole.
    """

    what: str
    data: bytes
    to: str = "gateway"
    cut: bool = False
    silence: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """What inputs are made of. `attacker`: a good key of another tenant than the victim's.

    `photo`: a small good one; `sessions` and `traces`: the victim's.
    """

    attacker: str
    photo: bytes
    sessions: Sequence[str] = ()
    traces: Sequence[str] = ()

    @property
    def authorization(self) -> tuple[str, str]:
        """The header of a caller with a key."""
        return "Authorization", f"Bearer {self.attacker}"

    def post(self, path: str, kind: str, body: bytes, *further: tuple[str, str | bytes]) -> bytes:
        """A whole request of a caller with a key."""
        return request("POST", path, [self.authorization, ("Content-Type", kind), *further], body)

    def post_json(self, path: str, body: object, *further: tuple[str, str | bytes]) -> bytes:
        """`body` as JSON; bytes go as they are."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode("utf-8", "surrogatepass")
        return self.post(path, "application/json", raw, *further)

    def post_form(self, path: str, parts: Sequence["Part"], *further: tuple[str, str | bytes]) -> bytes:
        """A multipart form."""
        return self.post(path, f"multipart/form-data; boundary={_BOUNDARY}", form(parts), *further)


Make = Callable[[random.Random, Scene], Input]
"""Draws one input."""


@dataclass(frozen=True, slots=True)
class AttackClass:
    """Inputs of one kind, drawn from `kinds` by their weights. Where `each_once`, first one of each."""

    name: str
    title: str
    kinds: Mapping[Make, float]

    def inputs(self, count: int, seed: int, scene: Scene) -> Iterator[Input]:
        """`count` of them: first one of each kind."""
        draw = random.Random(f"{seed}:{self.name}")
        every, weights = list(self.kinds), list(self.kinds.values())
        for place in range(count):
            make = every[place] if place < len(every) else draw.choices(every, weights)[0]
            yield make(draw, scene)


@dataclass(frozen=True, slots=True)
class Part:
    """Of a multipart form; a file where it has a file's name."""

    name: str
    value: bytes
    filename: str | None = None
    kind: str | None = None


def form(parts: Sequence[Part], boundary: str = _BOUNDARY) -> bytes:
    """As browsers write it."""
    lines = []
    for part in parts:
        filename = "" if part.filename is None else f'; filename="{part.filename}"'
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{part.name}"{filename}\r\n'
        head += f"Content-Type: {part.kind}\r\n" if part.kind else ""
        lines.append(head.encode("utf-8", "surrogatepass") + b"\r\n" + part.value + b"\r\n")
    return b"".join(lines) + f"--{boundary}--\r\n".encode()


def photo_part(content: bytes, name: str = "image", kind: str = "image/jpeg") -> Part:
    """A photo as a file."""
    return Part(name, content, "photo.jpg", kind)


def text_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Fields as text."""
    return [Part(name, str(value).encode("utf-8", "surrogatepass")) for name, value in fields.items()]


def request(method: str, path: str | bytes, headers: Headers, body: bytes = b"") -> bytes:
    """A request after whose reply the connection ends."""
    target = path if isinstance(path, bytes) else path.encode("utf-8", "surrogatepass")
    lines = [method.encode() + b" " + target + b" HTTP/1.1", b"Host: localhost", b"Connection: close"]
    lines += [name.encode("latin-1") + b": " + _bytes(value) for name, value in headers]
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(b"Content-Length: " + str(len(body)).encode())
    return b"\r\n".join([*lines, b"", b""]) + body


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
