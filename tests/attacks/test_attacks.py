"""A few inputs of every class against one platform: the whole suite is `make attack`."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.attacks.classes import CLASSES
from tests.attacks.inputs import Scene
from tests.attacks.judging import Judge
from tests.attacks.pictures import saved
from tests.attacks.running import Result, send_all
from tests.attacks.target import Target, running_target

SEED = 7
INPUTS = 24


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A platform that all classes share."""
    with running_target(tmp_path_factory.mktemp("target"), SEED, indexed=False) as made:
        yield made


@pytest.fixture(scope="module")
def scene(target: Target) -> Scene:
    """What the inputs are made of."""
    return Scene(target.planted.attacker.text, saved("jpeg"))


@pytest.mark.parametrize("name", CLASSES)
def test_every_input_gets_a_reply_that_is_no_fault_and_tells_nothing(
    target: Target, scene: Scene, name: str
) -> None:
    found = Result(name)
    inputs = CLASSES[name].inputs(INPUTS, SEED, scene)
    asyncio.run(send_all(inputs, target, found, at_once=4))
    assert [(each.why, each.given.what, each.given.data[:200]) for each in found.failures] == []
    assert found.inputs == INPUTS
    assert set(target.pids()) == set(target.ports)


@pytest.mark.parametrize("name", CLASSES)
def test_the_same_seed_draws_the_same_inputs(name: str) -> None:
    scene = Scene("lg_AAAAAAAA_" + "B" * 43, saved("jpeg"))
    first, again, other = (list(CLASSES[name].inputs(INPUTS, seed, scene)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_no_log_tells_a_secret(target: Target) -> None:
    judge = Judge(target.planted.secrets(target.folder))
    assert {name: told for name, content in target.logs() if (told := judge.leaks_of_log(content))} == {}
