"""A good caller beside the attack: how long the others wait."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from tests.attacks.target import Target, ask_well

_EVERY_S = 1.0
GIVE_UP_S = 75.0


@dataclass
class Waits:
    """Of the questions and of readiness: seconds each took, and the statuses other than 200."""

    asked: list[float] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)

    @property
    def slowest(self) -> float:
        """Of the questions."""
        return max(self.asked, default=0.0)

    @property
    def slowest_ready(self) -> float:
        """Of `GET /health/ready`."""
        return max(self.ready, default=0.0)

    def told(self) -> str:
        """In a few words."""
        odd = ", ".join(f"{self.statuses.count(each)} x {each}" for each in sorted(set(self.statuses)))
        return f"{len(self.asked)} asked, slowest {self.slowest:.1f} s" + (f" ({odd})" if odd else "")


class Canary:
    """Asks once a second for as long as the context lasts, each question by itself."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.waits = Waits()

    def __enter__(self) -> Waits:
        threads = [
            threading.Thread(target=self._ask, daemon=True),
            threading.Thread(target=self._look, daemon=True),
        ]
        self._threads = threads
        for thread in threads:
            thread.start()
        return self.waits

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(GIVE_UP_S + 5)

    def _ask(self) -> None:
        with _stranger() as client:
            while True:
                began = time.monotonic()
                status = _status(lambda: ask_well(self._target, client))
                self.waits.asked.append(time.monotonic() - began)
                if status != "200":
                    self.waits.statuses.append(status)
                if self._over.wait(_EVERY_S):
                    return

    def _look(self) -> None:
        with _stranger() as client:
            while True:
                began = time.monotonic()
                status = _status(lambda: client.get(f"{self._target.url}/health/ready"))
                self.waits.ready.append(time.monotonic() - began)
                if status != "200":
                    self.waits.statuses.append(f"ready: {status}")
                if self._over.wait(_EVERY_S):
                    return


def _stranger() -> httpx.Client:
    """Each request on a connection of its own: one that is open already says nothing of who comes next."""
    return httpx.Client(timeout=GIVE_UP_S, limits=httpx.Limits(max_keepalive_connections=0))


def _status(call: Callable[[], httpx.Response]) -> str:
    try:
        reply = call()
    except httpx.HTTPError:
        return "no answer"
    return str(reply.status_code)
