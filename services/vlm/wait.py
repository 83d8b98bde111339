"""`python -m services.vlm.wait URL`: wait until the model answers, and say how far it is.

Listening is not answering: vLLM takes connections long before its weights are loaded and its graphs are
built. The gate opens after one real completion of one token.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import httpx

from services.vlm.settings import GateSettings

_EVERY_S = 2.0
_SAID_AGAIN_S = 10.0
_PROBE_S = 30.0  # the first completion may build graphs
_OPEN, _TOO_LATE, _NEVER = 0, 1, 2


class State(Enum):
    """How far a server is."""

    AWAY = "not listening yet"
    LOADING = "listening, still loading"
    ANSWERS = "answers"
    REFUSES = "will not answer"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found. `detail` is for people."""

    state: State
    detail: str = ""

    @property
    def line(self) -> str:
        """For a report of progress."""
        return f"{self.state.value}: {self.detail}" if self.detail else self.state.value


def look(http: httpx.Client, model: str) -> Finding:
    """One look at the server: its health, its models, one token."""
    try:
        if http.get("/health").status_code != httpx.codes.OK:
            return Finding(State.LOADING)
        listed = http.get("/v1/models")
        if listed.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return Finding(State.REFUSES, "the key is wrong or missing (VLLM_API_KEY)")
        served = [entry["id"] for entry in listed.raise_for_status().json()["data"]]
        if not served:
            return Finding(State.LOADING)
        if model and model not in served:
            return Finding(State.REFUSES, f"{model} is not served; {', '.join(served)} is")
        return _completion(http, model or served[0])
    except (httpx.ConnectError, httpx.ConnectTimeout):
        return Finding(State.AWAY)
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        return Finding(State.LOADING, type(error).__name__)


def _completion(http: httpx.Client, model: str) -> Finding:
    started = time.monotonic()
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": "Say yes."}],
        "max_tokens": 1,
        "temperature": 0,
    }
    response = http.post("/v1/chat/completions", json=body, timeout=_PROBE_S)
    if response.status_code in (httpx.codes.BAD_REQUEST, httpx.codes.NOT_FOUND):
        return Finding(State.REFUSES, f"{model} does not chat (status {response.status_code})")
    written = response.raise_for_status().json()["usage"]["completion_tokens"]
    milliseconds = (time.monotonic() - started) * 1000
    return Finding(State.ANSWERS, f"{model}, {written} token in {milliseconds:.0f} ms")


def wait(
    probe: Callable[[], Finding],
    deadline_s: float,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """0 when the model answers, 1 when time is over, 2 when waiting longer cannot help."""
    started = clock()
    latest: tuple[Finding, float] | None = None
    while True:
        finding = probe()
        elapsed = clock() - started
        if latest is None or latest[0] != finding or elapsed - latest[1] >= _SAID_AGAIN_S:
            latest = finding, elapsed
            say(f"{elapsed:5.0f} s  {finding.line}")
        if finding.state is State.ANSWERS:
            return _OPEN
        if finding.state is State.REFUSES:
            return _NEVER
        if elapsed + _EVERY_S > deadline_s:
            return _TOO_LATE
        pause(_EVERY_S)


def main(words: Sequence[str]) -> int:
    """The gate as a command."""
    parser = argparse.ArgumentParser(prog="python -m services.vlm.wait", description=__doc__)
    parser.add_argument("url", help="the server's base URL, with or without /v1")
    parser.add_argument("--deadline", type=float, default=900, metavar="SECONDS")
    parser.add_argument("--model", default="", help="must be served under this name")
    options = parser.parse_args(words)
    key = GateSettings().api_key.get_secret_value()
    base_url = options.url.rstrip("/").removesuffix("/v1")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=base_url, headers=headers, timeout=5) as http:
        return wait(lambda: look(http, options.model), options.deadline, _say)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
