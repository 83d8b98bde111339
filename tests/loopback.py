"""HTTP servers of the standard library, in a thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def loopback(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server with this handler."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def taking_posts(
    handle: Callable[[BaseHTTPRequestHandler, bytes], None],
) -> AbstractContextManager[str]:
    """The address of a server that does what `handle` does with the body of each POST."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            handle(self, self.rfile.read(int(self.headers["Content-Length"])))

        def log_message(self, format: str, *args: object) -> None:
            """Nothing to say."""

    return loopback(Handler)
