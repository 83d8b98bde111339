"""A host of pictures that misbehaves in every way we know of, on a real loopback socket."""

import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from PIL import Image

from tests.loopback import loopback
from tests.unit.chassis.pictures import encoded, png, png_chunk

METADATA = "http://169.254.169.254/latest/meta-data/"


def picture(colour: str = "teal", form: str = "JPEG", side: int = 32) -> bytes:
    """A small picture of one colour."""
    return encoded(Image.new("RGB", (side, side), colour), form)


def bomb(side: int = 100_000) -> bytes:
    """A PNG of a hundred bytes whose header promises `side` x `side` pixels."""
    return png(side, side, png_chunk(b"IDAT", zlib.compress(b"\0" * 64)))


@dataclass
class Host:
    """`asked`: how often for each path. `closing` is set when the test ends."""

    url: str
    requests: Counter[str] = field(default_factory=Counter)
    closing: threading.Event = field(default_factory=threading.Event)


@contextmanager
def picture_host() -> Iterator[Host]:
    """`/red.jpg` and the like are pictures; the rest is in `_BEHAVIOURS`."""
    host = Host("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host.requests[self.path] += 1
            behave = _BEHAVIOURS.get(self.path)
            try:
                behave(self, host) if behave else _show(self)
            except (BrokenPipeError, ConnectionResetError):
                return

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    with loopback(Handler) as host.url:
        try:
            yield host
        finally:
            host.closing.set()


def _reply(
    handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], body: bytes = b""
) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def _show(handler: BaseHTTPRequestHandler) -> None:
    colour, _, form = handler.path.strip("/").partition(".")
    body = picture(colour, {"jpg": "JPEG", "png": "PNG", "webp": "WEBP", "gif": "GIF"}[form])
    _reply(handler, 200, {"Content-Length": str(len(body))}, body)


def _endless(handler: BaseHTTPRequestHandler, host: Host) -> None:
    _reply(handler, 200, {})
    while not host.closing.is_set():
        handler.wfile.write(b"\xff" * 65536)


def _drip(handler: BaseHTTPRequestHandler, host: Host) -> None:
    _reply(handler, 200, {"Content-Length": "1000"}, b"\xff")
    handler.wfile.flush()
    host.closing.wait()


def _busy(handler: BaseHTTPRequestHandler, host: Host) -> None:
    """Twice, then no longer."""
    if host.requests["/busy"] <= 2:
        _reply(handler, 429, {"Retry-After": "0", "Content-Length": "0"})
    else:
        body = picture("gold")
        _reply(handler, 200, {"Content-Length": str(len(body))}, body)


def _silent(handler: BaseHTTPRequestHandler, host: Host) -> None:
    host.closing.wait()


def _to(url: str) -> Callable[[BaseHTTPRequestHandler, Host], None]:
    return lambda handler, _: _reply(handler, 302, {"Location": url, "Content-Length": "0"})


def _with(status: int, body: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler, Host], None]:
    sent = {
        "Content-Length": str(len(body)),
        **{key.replace("_", "-"): text for key, text in headers.items()},
    }
    return lambda handler, _: _reply(handler, status, sent, body)


_BEHAVIOURS: Mapping[str, Callable[[BaseHTTPRequestHandler, Host], None]] = {
    "/to-metadata": _to(METADATA),
    "/to-file": _to("file:///etc/passwd"),
    "/loop": _to("/loop"),
    "/moved": _to("/green.jpg"),
    "/gone": _with(404, b"no"),
    "/page": _with(200, b"<html>Please log in</html>"),
    "/busy": _busy,
    "/refusing": _with(503, b"", Retry_After="86400"),
    "/huge": _with(200, b"", Content_Length=str(10 * 2**30)),
    "/endless": _endless,
    "/drip": _drip,
    "/silent": _silent,
}
