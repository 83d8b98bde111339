"""A search API and web sites on one loopback port: each path answers what a test gave it."""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from tests.loopback import loopback


@dataclass
class Web:
    """`pages`: path -> body, or the status that it answers with. `slow`: paths that wait for the test's end.

    `requests`: the paths asked for, with their headers; `bodies`: what was posted.
    """

    url: str
    pages: dict[str, bytes | int] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    requests: Counter[str] = field(default_factory=Counter)
    queries: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def page(self, path: str, text: str) -> None:
        """Serve a page of HTML."""
        self.pages[path] = f"<html><body><article>{text}</article></body></html>".encode()

    def results(self, *paths: str, api: str = "/search", **fields: Any) -> None:
        """Let the search API name these pages."""
        items = [{"url": f"{self.url}{path}", "title": f"Page {path}", **fields} for path in paths]
        values: Any = {"results": items}
        self.pages[api] = json.dumps({"web": values} if api.startswith("/res") else values).encode()


@contextmanager
def web() -> Iterator[Web]:
    """Serve until the test ends."""
    served = Web("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            served.requests[address.path] += 1
            served.queries.append(address.query)
            served.headers.append(dict(self.headers))
            if address.path in served.slow:
                served.closing.wait()
            page = served.pages.get(address.path, 404)
            self.send_response(page if isinstance(page, int) else 200)
            self.end_headers()
            if isinstance(page, bytes):
                self.wfile.write(page)

        def do_POST(self) -> None:
            served.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    with loopback(Handler) as served.url:
        try:
            yield served
        finally:
            served.closing.set()
