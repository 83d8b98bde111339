"""Worlds made once for all tests of the generator: text only, which takes a fraction of a second."""

from __future__ import annotations

import pytest

from evaluation.world.generate import Generated, generate
from evaluation.world.plan import Split, plan_for


@pytest.fixture(scope="session")
def dev() -> Generated:
    return generate(plan_for(Split.DEV))


@pytest.fixture(scope="session")
def held_out() -> Generated:
    return generate(plan_for(Split.TEST))


@pytest.fixture(scope="session")
def sample() -> Generated:
    return generate(plan_for(Split.SAMPLE))


@pytest.fixture(scope="session")
def wild() -> Generated:
    return generate(plan_for(Split.WILD))
