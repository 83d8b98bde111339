"""Users of a gateway: `locust -f bench/load/locustfile.py --host http://localhost:7100`.

A user sends a photo with a question, then asks follow-up questions with pauses between them. A quarter of
the answers are streamed, and some questions have no answer. Locust's table counts the requests by how they
ended. When Locust quits, the service level objectives are checked against that table; the exit status is 1
if one is missed, also after a run from Locust's web page. `make load` starts platforms and runs this file.
"""

import logging
import random
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import gevent  # type: ignore[import-untyped]
from locust import FastHttpUser, events, task
from locust.argument_parser import LocustArgumentParser
from locust.contrib.fasthttp import FAILURE_EXCEPTIONS
from locust.env import Environment

from bench.generator import Fate, Reply, multipart
from bench.load.contract import ContractBroken, Expected, read_reply, reply_to, request_name, verdicts
from bench.load.conversations import Conversation, another_shot, conversations
from contracts.answer import Answer
from gateway.planning.stages import Stage

_LOG = logging.getLogger("loreglass.load")
_GRACE_S = 15
_TRANSPORT_MS = 1_000
"""On top of the deadline, for the way there and back."""
_STREAMED, _FORGOTTEN = 0.25, 0.3
"""Shares of the answers that are streamed, and of the conversations that are deleted at their end."""
_PRIORITIES = {"interactive": 14, "standard": 4, "background": 2}
"""Priorities of twenty requests."""
_ANY_STATUS = frozenset(range(100, 600))
"""For locust's client a status from 400 is an exception, and the problem in its body is not read."""
_GOOD = (Fate.FULL, Fate.DEGRADED, Fate.REFUSED, Fate.TURNED_AWAY)
_talks: list[Conversation] = []


def _add_options(parser: LocustArgumentParser, **_: Any) -> None:
    add = parser.add_argument
    add("--wearers-material", default="signs", help="signs, sample, routes, or a folder with asked.jsonl")
    add("--wearers-think", type=float, default=4.0, help="seconds between questions, mean")
    add("--wearers-deadline-ms", type=int, default=10_000, help="deadline of a question")
    add("--wearers-pipeline", default="", help="in place of the gateway's default")
    keys = {"env_var": "LOREGLASS_WEARERS_KEYS", "is_secret": True}
    add("--wearers-keys", default="", help="API keys, separated by commas; users take them in turn", **keys)


def _prepare(environment: Environment, **_: Any) -> None:
    _talks[:] = conversations(_options(environment).wearers_material)
    environment.stop_timeout = environment.stop_timeout or _GRACE_S
    gevent.get_hub().loop.update_now()  # making photos took seconds, which `--run-time` must not count


def _judge(environment: Environment, **_: Any) -> None:
    counts = Counter[str]()
    for (ending, _kind), entry in environment.stats.entries.items():
        counts[ending] += entry.num_requests
    results = verdicts(counts)
    for each in results:
        level = logging.INFO if each.held else logging.ERROR
        _LOG.log(level, "%s %s: %s", "held  " if each.held else "missed", each.name, each.sentence)
    stumbled = environment.runner is not None and environment.runner.exceptions
    environment.process_exit_code = 0 if all(each.held for each in results) and not stumbled else 1


events.init_command_line_parser.add_listener(_add_options)  # type: ignore[no-untyped-call]
events.init.add_listener(_prepare)  # type: ignore[no-untyped-call]
events.quitting.add_listener(_judge)  # type: ignore[no-untyped-call]


def _options(environment: Environment) -> Any:
    assert environment.parsed_options is not None
    return environment.parsed_options


class Wearer(FastHttpUser):
    connection_timeout = 10.0
    network_timeout = 75.0
    _came = 0

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        setattr(self.client.client, "valid_response_codes", _ANY_STATUS)  # noqa: B010 - a class variable there
        Wearer._came += 1
        self._options = _options(environment)
        self._chance = random.Random(Wearer._came)
        keys = [key.strip() for key in self._options.wearers_keys.split(",") if key.strip()]
        self._key = keys[Wearer._came % len(keys)] if keys else ""
        possible = [each for each in _talks if not each.impossible]
        self._talks = self._chance.sample(possible, len(possible))
        self._unanswerable = [each for each in _talks if each.impossible]

    def wait_time(self) -> float:
        """Return a person's pause in seconds: around the mean, never three times as long."""
        mean: float = self._options.wearers_think
        return min(self._chance.gammavariate(4, mean / 4), 3 * mean)

    def on_start(self) -> None:
        """Wait a random time, so that users do not all begin at once."""
        time.sleep(self._chance.uniform(0, self._options.wearers_think))

    @task(8)
    def converse(self) -> None:
        """Ask about a new photo, then go on without sending it again."""
        self._talks.append(talk := self._talks.pop(0))
        session_id = self._ask(talk, "photo", talk.turns[0], None)
        for question in talk.turns[1:]:
            if session_id is None:
                return
            self.wait()  # type: ignore[no-untyped-call]
            self._ask(talk, "follow-up", question, session_id)
        if session_id is not None and self._chance.random() < _FORGOTTEN:
            self._send("forget", f"/sessions/{session_id}", {}, None, Expected())

    @task(1)
    def ask_unanswerable(self) -> None:
        """Ask a question that must be refused in time."""
        if self._unanswerable:
            talk = self._chance.choice(self._unanswerable)
            self._ask(talk, "impossible", talk.turns[0], None)
        else:
            self.converse()

    def _ask(self, talk: Conversation, kind: str, question: str, session_id: str | None) -> str | None:
        """Return the answer's session; None without an answer, or if the session was not stored."""
        options = self._options
        fields = {
            "question": question,
            "deadline_ms": str(options.wearers_deadline_ms),
            "pipeline": options.wearers_pipeline,
            "session_id": session_id or "",
        }
        photo = another_shot(talk.photo, self._chance) if session_id is None else None
        body = multipart({name: value for name, value in fields.items() if value}, photo)
        marks = frozenset(each.mark for each in _talks if each.mark not in ("", talk.mark))
        accept = "text/event-stream" if self._chance.random() < _STREAMED else "application/json"
        headers = {"Accept": accept, "Content-Type": body.content_type}
        answer = self._send(kind, "/answer", headers, body.content, Expected(session_id, marks))
        return answer.session_id if answer is not None and Stage.SESSION not in answer.degraded else None

    def _send(
        self, kind: str, path: str, headers: dict[str, str], body: Any, expected: Expected
    ) -> Answer | None:
        """Send, read to the last byte, check, and tell locust how it ended."""
        options, began = self._options, time.perf_counter()
        headers["X-Priority"] = self._chance.choices(list(_PRIORITIES), list(_PRIORITIES.values()))[0]
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        method = "POST" if body is not None else "DELETE"
        with self.client.request(
            method, path, data=body, headers=headers, catch_response=True, stream=True
        ) as response:
            status, content = _read(response)
            ms = (time.perf_counter() - began) * 1000
            answer, reply, trouble = _check_reply(status, response.headers or {}, content, expected)
            name = request_name(reply, ms, options.wearers_deadline_ms + _TRANSPORT_MS, trouble)
            sizes = {"response_time": ms, "response_length": len(content)}
            response.request_meta |= {"request_type": kind, "name": name, **sizes}
            if trouble or name not in _GOOD:
                response.failure(trouble or f"{reply.status} {reply.kind}")
            else:
                response.success()
        return answer


def _check_reply(
    status: int, headers: Mapping[str, Any], content: bytes, expected: Expected
) -> tuple[Answer | None, Reply, str]:
    """Return the answer, the reply as it is counted, and how it breaks the contract."""
    try:
        reply = read_reply(status, {name: str(value) for name, value in headers.items()}, content, expected)
    except ContractBroken as error:
        return None, Reply(status), str(error)
    return (reply, reply_to(reply), "") if isinstance(reply, Answer) else (None, reply, "")


def _read(response: Any) -> tuple[int, bytes]:
    """Return the status, 0 if the reply did not come whole, and the body."""
    if not response.status_code:
        return 0, b""
    try:
        return response.status_code, b"".join(response.iter_content(65_536, decode_content=False))
    except FAILURE_EXCEPTIONS:
        return 0, b""
