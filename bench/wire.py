"""`python -m bench.wire`: what endless, half-sent and piled-up requests do to a gateway alone on loopback.

For each attack a gateway of its own: its status replies, the most memory it came to (it is ended at 2 GiB, as
compose would), and the longest that somebody else waited for `GET /health/live` meanwhile.
"""

import contextlib
import http.client
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_MIB = 2**20
_MOST_MIB = 2048
_FORM = b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.jpg"\r\n\r\n'
_FORM_TYPE = "multipart/form-data; boundary=x"
_BYTES_TYPE = "application/json"


@dataclass
class Gateway:
    """One that is under attack."""

    process: subprocess.Popen[bytes]
    port: int
    peak_mib: float = 0.0
    longest_s: float = 0.0
    unanswered: int = 0
    replies: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)

    def connect(self) -> socket.socket:
        """A connection of its own."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def watch_memory(self) -> None:
        """Until it is over."""
        while not self.over.wait(0.05):
            with contextlib.suppress(OSError), open(f"/proc/{self.process.pid}/statm") as told:
                now = int(told.read().split()[1]) * resource.getpagesize() / _MIB
                self.peak_mib = max(self.peak_mib, now)
                if now > _MOST_MIB:
                    self.process.kill()

    def watch_others(self) -> None:
        """Somebody else asks ten times a second."""
        while not self.over.wait(0.1):
            begun = time.monotonic()
            try:
                other = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                other.request("GET", "/health/live")
                self.unanswered += other.getresponse().status != http.HTTPStatus.OK
                other.close()
            except (OSError, http.client.HTTPException):
                self.unanswered += 1
            self.longest_s = max(self.longest_s, time.monotonic() - begun)

    def hear(self, stream: socket.socket, wait_s: float = 10.0) -> str:
        """The status of the reply."""
        stream.settimeout(wait_s)
        try:
            told = stream.recv(65536).split(b" ", 2)[1].decode()
        except (OSError, IndexError):
            told = "no answer"
        self.replies[told] += 1
        return told


def _head(size: int, kind: str, path: str = "/answer", more: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n{more}\r\n"
    ).encode()


def _pour(gateway: Gateway, first: bytes, piece: bytes, times: int) -> None:
    with gateway.connect() as stream:
        with contextlib.suppress(OSError):
            stream.sendall(first)
            for _ in range(times):
                stream.sendall(piece)
        gateway.hear(stream)


def _header_lines(gateway: Gateway) -> None:
    _pour(gateway, b"GET / HTTP/1.1\r\n", b"a:b\r\n" * (_MIB // 5), 85)


def _header_value(gateway: Gateway) -> None:
    _pour(gateway, b"GET / HTTP/1.1\r\na: ", b"x" * _MIB, 200)


def _unfinished_uploads(gateway: Gateway) -> None:
    size = 20 * _MIB
    held = [gateway.connect() for _ in range(13)]
    for stream in held:
        with contextlib.suppress(OSError):
            stream.sendall(_head(size + 1000, _FORM_TYPE) + _FORM + b"x" * size)
    time.sleep(3)
    photo = _FORM + b"x" * (3 * _MIB) + b"\r\n--x--\r\n"
    for _ in range(5):
        with gateway.connect() as stream:
            with contextlib.suppress(OSError):
                stream.sendall(_head(len(photo), _FORM_TYPE) + photo)
            gateway.hear(stream)
    for stream in held:
        stream.close()


def _large_bodies(gateway: Gateway) -> None:
    body = b'{"question": "' + b"x" * (31 * _MIB)

    def send() -> None:
        with contextlib.suppress(OSError), gateway.connect() as stream:
            with contextlib.suppress(OSError):
                stream.sendall(_head(len(body) + 1, _BYTES_TYPE) + body)
            time.sleep(3)
            stream.sendall(b"}")
            gateway.hear(stream, 30)

    threads = [threading.Thread(target=send) for _ in range(40)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _idle_connections(gateway: Gateway) -> None:
    held = []
    for _ in range(1_500):
        with contextlib.suppress(OSError):
            held.append(gateway.connect())
    time.sleep(4)
    for stream in held:
        stream.close()


def _deadline(gateway: Gateway) -> None:
    """A body that stays out; before, it was waited for as long as its caller said."""
    with gateway.connect() as stream:
        stream.sendall(_head(1000, _BYTES_TYPE, more="X-Deadline-Ms: 999999999\r\n"))
        begun = time.monotonic()
        gateway.hear(stream, 90)
        gateway.replies[f"after {time.monotonic() - begun:.0f} s"] += 1


_ATTACKS: dict[str, Callable[[Gateway], None]] = {
    "85 MiB of a:b lines": _header_lines,
    "one value of 200 MiB": _header_value,
    "13 unfinished 20 MB uploads, then photos": _unfinished_uploads,
    "forty 31 MB JSON bodies": _large_bodies,
    "1,500 idle connections, 1,024 descriptors": _idle_connections,
    "X-Deadline-Ms: 999999999": _deadline,
}


def _few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


@contextlib.contextmanager
def _attacked() -> Iterator[Gateway]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway"],
        env={**os.environ, "LOREGLASS_GATEWAY_PORT": str(port)},
        preexec_fn=_few_descriptors,  # noqa: PLW1509 - no thread runs yet
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    gateway = Gateway(process, port)
    for _ in range(600):
        with contextlib.suppress(OSError), gateway.connect():
            break
        time.sleep(0.1)
    watching = [threading.Thread(target=each) for each in (gateway.watch_memory, gateway.watch_others)]
    for each in watching:
        each.start()
    try:
        time.sleep(1)
        yield gateway
    finally:
        gateway.over.set()
        for each in watching:
            each.join()
        process.send_signal(signal.SIGKILL)
        process.wait()


def main() -> None:
    """Try each once; `argv`: those whose names hold it."""
    sys.stdout.write("| attack | replies | MiB at most | others waited | others unanswered |\n")
    sys.stdout.write("|---|---|---|---|---|\n")
    for name, attack in _ATTACKS.items():
        if sys.argv[1:] and not any(each in name for each in sys.argv[1:]):
            continue
        with _attacked() as gateway:
            attack(gateway)
            time.sleep(1)
            ended = "; killed" if gateway.process.poll() is not None else ""
        told = ", ".join(f"{count} × {each}" for each, count in gateway.replies.items()) or "–"
        figures = f"{gateway.peak_mib:,.0f}{ended} | {gateway.longest_s:.2f} s | {gateway.unanswered}"
        sys.stdout.write(f"| {name} | {told} | {figures} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
