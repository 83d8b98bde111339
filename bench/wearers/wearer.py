"""One wearer, as locust runs them. Importing locust makes `time.sleep` and sockets gevent's."""

import random
import time
from collections.abc import Mapping
from typing import Any

from locust import FastHttpUser, task
from locust.contrib.fasthttp import FAILURE_EXCEPTIONS
from locust.env import Environment

from bench.wearers.material import Conversation, another_shot
from bench.wearers.notebook import NOTEBOOK
from bench.wearers.records import Asked, Fate, Record, of_reply
from bench.wearers.replies import Expected, Reply, read_reply
from gateway.planning.stages import Stage

_BOUNDARY = "wearer-7d1c0a"
_PRIORITIES = {"interactive": 14, "standard": 4, "background": 2}
"""What wearers ask for, of twenty."""
_ANY_STATUS = frozenset(range(100, 600))
"""For locust's client a status from 400 is an exception, and the problem in its body is not read."""
_FORGET = 0.3
"""The share of conversations after which the platform is told to forget them."""


class Wearer(FastHttpUser):
    """Somebody with a camera who wants to know."""

    connection_timeout = 10.0
    network_timeout = 75.0
    _came = 0

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        setattr(self.client.client, "valid_response_codes", _ANY_STATUS)  # noqa: B010 - a class variable there
        Wearer._came += 1
        options = environment.parsed_options
        assert options is not None
        self._options = options
        self._chance = random.Random(f"{options.wearers_seed} {Wearer._came}")
        keys = [key.strip() for key in options.wearers_keys.split(",") if key.strip()]
        self._key = keys[Wearer._came % len(keys)] if keys else ""
        possible = [each for each in NOTEBOOK.conversations if not each.impossible]
        self._talks = self._chance.sample(possible, len(possible))
        self._riddles = [each for each in NOTEBOOK.conversations if each.impossible]

    def wait_time(self) -> float:
        """A person's pause in seconds: around the mean, never three times as long."""
        mean: float = self._options.wearers_think
        return min(self._chance.gammavariate(4, mean / 4), 3 * mean)

    def on_start(self) -> None:
        """Not all begin at the same moment."""
        time.sleep(self._chance.uniform(0, self._options.wearers_think))

    @task(8)
    def converse(self) -> None:
        """Ask about a new photo, then go on without sending it again."""
        self._talks.append(talk := self._talks.pop(0))
        session_id = self._ask(talk, Asked.PHOTO, talk.turns[0], None)
        for question in talk.turns[1:]:
            if session_id is None:
                return
            self.wait()  # type: ignore[no-untyped-call]
            self._ask(talk, Asked.FOLLOW_UP, question, session_id)
        if session_id is not None and self._chance.random() < _FORGET:
            self._exchange(
                Asked.FORGET, f"/sessions/{session_id}", None, Expected(nothing=True), streamed=False
            )

    @task(1)
    def ask_what_nobody_knows(self) -> None:
        """It must be refused in time, too."""
        if self._riddles:
            riddle = self._chance.choice(self._riddles)
            self._ask(riddle, Asked.IMPOSSIBLE, riddle.turns[0], None)
        else:
            self.converse()

    def _ask(self, talk: Conversation, asked: Asked, question: str, session_id: str | None) -> str | None:
        """The session in which it was answered, if it was and is remembered."""
        options = self._options
        fields = {
            "question": question,
            "deadline_ms": str(options.wearers_deadline_ms),
            "pipeline": options.wearers_pipeline,
            "session_id": session_id or "",
        }
        photo = another_shot(talk.photo, self._chance) if session_id is None else None
        expected = Expected(session_id, NOTEBOOK.strangers(talk))
        streamed = self._chance.random() < options.wearers_streams
        reply = self._exchange(asked, "/answer", _form(fields, photo), expected, streamed)
        remembered = reply.answer is not None and Stage.SESSION not in reply.answer.degraded
        return reply.answer.session_id if reply.answer is not None and remembered else None

    def _exchange(self, asked: Asked, path: str, body: Any, expected: Expected, streamed: bool) -> Reply:
        """Send, read to the last byte, write it down, and tell locust how it went."""
        priority = self._chance.choices(list(_PRIORITIES), list(_PRIORITIES.values()))[0]
        wearers, sent, began = NOTEBOOK.wearers, time.time(), time.perf_counter()
        with self.client.request(
            "DELETE" if asked is Asked.FORGET else "POST",
            path,
            data=body,
            name=f"{asked}, streamed" if streamed else asked.value,
            headers=self._headers(priority, streamed, has_body=body is not None),
            catch_response=True,
            stream=True,
        ) as response:
            first_ms = (time.perf_counter() - began) * 1000
            status, content = _read(response)
            ms = (time.perf_counter() - began) * 1000
            response.request_meta |= {"response_time": ms, "response_length": len(content)}
            headers = {name: str(value) for name, value in (response.headers or {}).items()}
            reply = read_reply(status, headers, content, expected)
            record = Record(
                asked=asked,
                sent=sent,
                ms=ms,
                first_ms=first_ms,
                late_after_ms=self._options.wearers_deadline_ms + self._options.wearers_transport_ms,
                streamed=streamed,
                priority=priority,
                users=wearers,
                **of_reply(reply),
            )
            NOTEBOOK.records.append(record)
            _tell(response, record)
        return reply

    def _headers(self, priority: str, streamed: bool, has_body: bool) -> dict[str, str]:
        given = {"X-Priority": priority, "Accept": "text/event-stream" if streamed else "application/json"}
        if has_body:
            given["Content-Type"] = f"multipart/form-data; boundary={_BOUNDARY}"
        return given | ({"Authorization": f"Bearer {self._key}"} if self._key else {})


def _form(fields: Mapping[str, str], photo: bytes | None) -> bytes:
    """Those fields that say something, and the photo if it is sent."""
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
        if value
    ]
    if photo is not None:
        head = (
            'Content-Disposition: form-data; name="image"; filename="photo.jpg"\r\nContent-Type: image/jpeg'
        )
        parts.append(f"--{_BOUNDARY}\r\n{head}\r\n\r\n".encode() + photo + b"\r\n")
    return b"".join(parts) + f"--{_BOUNDARY}--\r\n".encode()


def _read(response: Any) -> tuple[int, bytes]:
    """The status, 0 where the reply did not come whole, and the body."""
    if not response.status_code:
        return 0, b""
    try:
        return response.status_code, b"".join(response.iter_content(65_536, decode_content=False))
    except FAILURE_EXCEPTIONS:
        return 0, b""


def _tell(response: Any, record: Record) -> None:
    """Who is turned away has a line of its own in locust's tables, not to look like a quick answer."""
    if record.trouble:
        response.failure(record.trouble)
    elif record.fate is Fate.SHED:
        response.request_meta["name"] = "turned away"
        response.success()
    elif record.fate in (Fate.FULL, Fate.DEGRADED, Fate.REFUSED):
        response.success()
    else:
        response.failure(f"{record.fate}: {record.problem or record.reason or record.status}")
