"""Calls from an engine to a ready-made model server (TEI, Infinity, vLLM): blocking, JSON in and out."""

import base64
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Overloaded
from chassis.models.cancellation import current_call
from chassis.resilience.deadlines import Deadline, seconds_of
from chassis.telemetry.spans import trace_headers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

START_MS = 30_000
"""For calls that serve no caller: the probes at start-up."""

MAX_REPLY_BYTES = 256 * 2**20
_CONNECT_S = 2.0
_BUSY = {429, 503}


class RemoteServer:
    """One server. A call lasts no longer than the caller of the current pool call will wait.

    Raises `DependencyUnavailable`, `Overloaded` and `DeadlineExceeded`; what the server said of its
    insides is not passed on.
    """

    def __init__(self, base_url: str, api_key: str = "", model: str = "", name: str = "remote") -> None:
        self.model = model
        self._name = name
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.Client(base_url=base_url.rstrip("/"), headers=headers, follow_redirects=False)

    def post(self, path: str, body: Mapping[str, Any], *, names_model: bool = True) -> Any:
        """Return the decoded JSON reply to `body`. `names_model`: add the model's name, if there is one."""
        if names_model and self.model:
            body = {"model": self.model, **body}
        call = current_call()
        deadline = call.deadline if call else Deadline.after_ms(START_MS)
        deadline.require()
        left = deadline.remaining_s()
        timeout = httpx.Timeout(left, connect=min(_CONNECT_S, left))
        try:
            with self._http.stream(
                "POST", path, json=body, headers=trace_headers(), timeout=timeout
            ) as response:
                if not response.is_success:
                    raise self._refusal(response)
                return json.loads(self._read(response, deadline))
        except httpx.ConnectTimeout as error:
            raise DependencyUnavailable(f"The server behind {self._name} accepts no connections.") from error
        except httpx.TimeoutException as error:
            raise DeadlineExceeded(f"The server behind {self._name} did not answer in time.") from error
        except httpx.HTTPError as error:
            raise DependencyUnavailable(f"The server behind {self._name} cannot be reached.") from error
        except (ValueError, RecursionError) as error:
            raise self.broken_reply() from error

    def broken_reply(self) -> DependencyUnavailable:
        """The error for a reply that is not of the agreed shape."""
        return DependencyUnavailable(f"The server behind {self._name} sent a reply of another shape.")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _read(self, response: httpx.Response, deadline: Deadline) -> bytes:
        """httpx's own limits start anew with each read; a reply that drips must end too."""
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            deadline.require()
            size += len(part)
            if size > MAX_REPLY_BYTES:
                raise self.broken_reply()
            parts.append(part)
        return b"".join(parts)

    def _refusal(self, response: httpx.Response) -> Overloaded | DependencyUnavailable | DeadlineExceeded:
        if response.status_code in _BUSY:
            wait_s = seconds_of(response.headers.get("retry-after"))
            return Overloaded(f"The server behind {self._name} is too busy.", retry_after_s=wait_s)
        return DependencyUnavailable(
            f"The server behind {self._name} answered with status {response.status_code}."
        )


def data_uri(jpeg: bytes) -> str:
    """Return a JPEG as a `data:` URI: servers are never given an address to fetch."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")


def content_part(content: str | bytes) -> dict[str, Any]:
    """Return a part of a chat message in OpenAI's shape: a text, or a JPEG."""
    if isinstance(content, str):
        return {"type": "text", "text": content}
    return {"type": "image_url", "image_url": {"url": data_uri(content)}}


def without_controls(text: str) -> str:
    """Return the text with a space in each opening mark of a control token.

    A page could otherwise end its own prompt, or claim the place of the picture (`<|image_pad|>`).
    """
    return text.replace("<|", "< |")


def in_index_order(entries: Any, count: int) -> list[Any]:
    """Return the entries of a reply by their `index`: servers send them in any order.

    Raises `KeyError`, `TypeError` or `ValueError` if they are not one for each of `count` inputs.
    """
    ordered = sorted(entries, key=lambda entry: int(entry["index"]))
    if [entry["index"] for entry in ordered] != list(range(count)):
        raise ValueError("not one entry for each input")
    return ordered


def unit_vector(values: Any) -> "NDArray[np.float32]":
    """Return a list of numbers scaled to length 1. Raises `ValueError` for anything else, and for zeros."""
    import numpy as np  # apps without numpy have settings of remote servers, too

    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ValueError("not a list of numbers")
    length = math.hypot(*values)
    if not 0 < length < math.inf:
        raise ValueError("no direction")
    return np.asarray(np.asarray(values, np.float64) / length, np.float32)
