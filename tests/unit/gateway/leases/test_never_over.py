"""Three gateways, a real Redis, and what may happen to them: never are more inside than there are places."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from redis import Redis

from bench.settings import ROOT
from tests.unit.gateway.leases.gateway_process import GATEWAYS, WHOLE
from tests.unit.gateway.sessions.redis_server import RedisServer, redis_of_ones_own

_KEY = "loreglass:budget:1:{node}:vlm"
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Line:
    """What a gateway wrote; see `gateway_process`."""

    at: float
    caller: int
    inside: bool
    alone: bool


@dataclass(eq=False)
class Process:
    """A gateway. `gone`: when it was killed, or stopped: what it had under way then is lost, or late."""

    process: subprocess.Popen[bytes]
    log: Path
    gone: list[float] = field(default_factory=list)

    def send(self, number: signal.Signals) -> None:
        if number is not signal.SIGCONT:
            self.gone.append(time.monotonic())
        self.process.send_signal(number)

    def lines(self) -> list[Line]:
        whole = self.log.read_text().rpartition("\n")[0].splitlines()
        return [
            Line(float(at), int(no), way == "1", own == "1") for at, no, way, own in map(str.split, whole)
        ]

    def changes(self) -> list[tuple[float, int]]:
        """When one more was inside, or one less."""
        told, inside = self.lines(), set[int]()
        told += [
            Line(at, caller, False, False) for at in self.gone for caller in {each.caller for each in told}
        ]
        changes = []
        for line in sorted(told, key=lambda line: line.at):
            if line.inside is not (line.caller in inside):
                changes.append((line.at, 1 if line.inside else -1))
                inside ^= {line.caller}
        return changes


@dataclass
class Node:
    """Everything, and who holds what of it."""

    redis: RedisServer
    gateways: list[Process]

    def leased(self) -> list[int]:
        with Redis.from_url(self.redis.url) as client:
            rows = client.hvals(_KEY)
        return sorted(int(row.split()[2]) for row in rows)  # type: ignore[union-attr]

    def alone(self) -> list[bool]:
        return [each.lines()[-1].alone for each in self.gateways if each.process.poll() is None]

    def most_inside(self, after: float = 0.0) -> int:
        """At any time."""
        inside, most = 0, 0
        for at, change in sorted(change for gateway in self.gateways for change in gateway.changes()):
            inside += change
            most = max(most, inside if at > after else 0)
        return most


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with redis_of_ones_own(tmp_path) as redis:
        logs = [tmp_path / f"{number}.log" for number in range(GATEWAYS)]
        command = [sys.executable, "-m", gateway_process, redis.url]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        started = [subprocess.Popen([*command, str(log)], cwd=ROOT, env=environment) for log in logs]
        try:
            made = Node(redis, [Process(each, log) for each, log in zip(started, logs, strict=True)])
            until(lambda: made.leased() == [2, 3, 3])
            yield made
        finally:
            for each in started:
                each.kill()
                each.wait(timeout=10)


gateway_process = "tests.unit.gateway.leases.gateway_process"


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, "it did not come to that"
        time.sleep(0.02)


def test_what_a_killed_gateway_held_is_the_others_after_its_time(node: Node) -> None:
    node.gateways[0].send(signal.SIGKILL)
    until(lambda: node.leased() == [4, 4])
    assert node.most_inside() == WHOLE


def test_a_gateway_that_was_stopped_uses_nothing_that_others_have_by_then(node: Node) -> None:
    for _ in range(3):
        node.gateways[0].send(signal.SIGSTOP)
        until(lambda: node.leased() == [4, 4])
        node.gateways[0].send(signal.SIGCONT)
        until(lambda: node.leased() == [2, 3, 3])
    assert node.most_inside() == WHOLE


def test_while_redis_hangs_each_takes_an_equal_part_and_then_all_is_shared_again(node: Node) -> None:
    node.gateways[0].send(signal.SIGKILL)
    until(lambda: node.leased() == [4, 4])
    node.redis.process.send_signal(signal.SIGSTOP)
    until(lambda: all(node.alone()))
    began = time.monotonic()
    until(lambda: all(gateway.lines()[-1].at > began + 1 for gateway in node.gateways[1:]))
    assert node.most_inside(after=began) == 2 * (WHOLE // GATEWAYS)
    node.redis.process.send_signal(signal.SIGCONT)
    until(lambda: not any(node.alone()) and node.leased() == [4, 4])
    assert node.most_inside() == WHOLE


def test_a_redis_that_forgets_everything_gives_nothing_twice(node: Node) -> None:
    for _ in range(5):
        with Redis.from_url(node.redis.url) as client:
            client.flushall()
        until(lambda: node.leased() == [2, 3, 3])
    assert node.most_inside() == WHOLE


def test_a_redis_that_was_lost_and_is_empty_gives_nothing_twice(node: Node) -> None:
    node.redis.begin_anew()
    until(lambda: node.leased() == [2, 3, 3])
    until(lambda: not any(node.alone()))
    assert node.most_inside() == WHOLE
