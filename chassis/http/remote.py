"""Calls from an engine to a ready-made model server (TEI, Infinity, vLLM): blocking, JSON in and out."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Overloaded
from chassis.models.cancellation import current_call
from chassis.resilience.deadlines import Deadline
from chassis.resilience.retries import seconds_of
from chassis.telemetry.spans import trace_headers

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
