"""A short attack on one platform, with no load beside it: the whole suite is `make attack`."""

import asyncio
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from tests.attacks.attack import Attack, Course
from tests.attacks.generated import generated
from tests.attacks.lines import LINES
from tests.attacks.target import Target, running_target

SEED = 7


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A platform without an index, which the tests share."""
    with running_target(tmp_path_factory.mktemp("target"), SEED, indexed=False) as made:
        yield made


def replies(attack: Attack, target: Target) -> dict[str, int]:
    """Attack once; return how many replies had which status."""
    course = Course(target, late_s=inf)  # other tests run beside it
    asyncio.run(attack.send(course))
    assert course.wrong == []
    assert set(target.pids()) == set(target.ports)
    return course.statuses


def test_generated_requests_cause_no_server_error_and_leak_no_secret(target: Target, tmp_path: Path) -> None:
    few = generated(tmp_path, SEED, "--phases", "fuzzing", "--max-examples", "8", "--no-shrink")
    statuses = replies(few, target)
    assert statuses["200"] > 10
    assert statuses["422"] > 10


def test_malformed_lines_cause_no_server_error_and_no_second_reply(target: Target) -> None:
    assert replies(LINES, target)["400"] > 10


def test_logs_contain_no_secret(target: Target) -> None:
    assert target.leaks() == {}
