"""A small hub of models on a loopback socket, speaking as much as the real client asks of it."""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.loopback import loopback

COMMIT = "c0ffee0123456789c0ffee0123456789c0ffee01"
_LARGE = (".safetensors", ".bin")


@dataclass
class Repository:
    """`files`: by name; `gated`: only for who has this token."""

    files: dict[str, bytes]
    gated: str = ""

    def listing(self) -> list[dict[str, object]]:
        """Return the files in one form for revisions (`rfilename`) and for trees (`path`)."""
        return [
            {"type": "file", "rfilename": name, "path": name, **_metadata(name, data)}
            for name, data in self.files.items()
        ]


@dataclass
class FakeHub:
    """Serve repositories as Hugging Face Hub does.

    `requests` holds every request line. The files named in `damaged` are sent with a wrong last byte.
    """

    repositories: dict[str, Repository]
    requests: list[str] = field(default_factory=list)
    damaged: set[str] = field(default_factory=set)
    url: str = ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _metadata(name: str, data: bytes) -> dict[str, object]:
    git_id, digest = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest(), _digest(data)
    results: dict[str, object] = {"size": len(data), "oid": git_id, "blobId": git_id}
    if name.endswith(_LARGE):
        results["lfs"] = {"sha256": digest, "size": len(data), "pointerSize": 134, "oid": digest}
    return results


@contextlib.contextmanager
def serving(repositories: dict[str, Repository]) -> Iterator[FakeHub]:
    """The hub, for as long as this is open."""
    hub = FakeHub(repositories)

    class Handler(_Handler):
        state = hub

    with loopback(Handler) as hub.url:
        yield hub


class _Handler(BaseHTTPRequestHandler):
    state: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        self.state.requests.append(self.requestline)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        match = re.fullmatch(
            r"/(?:api/models/)?([^/]+/[^/]+)/(revision|tree|resolve)/([^/]+)(?:/(.+))?", path
        )
        assert match, path
        name, kind, revision, file = match.groups()
        repository = self.state.repositories.get(name)
        if repository is None:
            return self._refuse(404, "RepoNotFound")
        if repository.gated and self.headers.get("Authorization") != f"Bearer {repository.gated}":
            return self._refuse(401, "GatedRepo")
        if revision not in ("main", COMMIT):
            return self._refuse(404, "RevisionNotFound")
        if kind == "resolve":
            return self._send_file(file, repository.files.get(file), with_body)
        listing = repository.listing()
        results = {"id": name, "sha": COMMIT, "siblings": listing} if kind == "revision" else listing
        headers = {"Content-Type": "application/json"}
        return self._send(200, json.dumps(results).encode(), headers, with_body)

    def _send_file(self, name: str, data: bytes | None, with_body: bool) -> None:
        if data is None:
            return self._refuse(404, "EntryNotFound")
        headers = {"ETag": f'"{_digest(data)}"', "X-Repo-Commit": COMMIT}
        if name in self.state.damaged:
            data = data[:-1] + bytes([data[-1] ^ 1])
        return self._send(200, data, headers, with_body)

    def _refuse(self, status: int, code: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": code}
        self._send(status, json.dumps({"error": code}).encode(), headers, self.command == "GET")

    def _send(self, status: int, body: bytes, headers: dict[str, str], with_body: bool) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)
