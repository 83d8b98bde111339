"""`python -m bench.draws` on a small corpus: no draw always wins, and the model ranks all that was found."""

from pathlib import Path
from statistics import median

import pytest

from bench.draws import DEPTH, DRAWS, measure
from gateway.pipelines.three_step.pipeline import LIST_CHARS

pytestmark = pytest.mark.anyio


async def test_each_draw_wins_now_and_then_and_all_it_found_is_ranked(tmp_path: Path) -> None:
    asked = await measure(1_000, 30, tmp_path)
    assert {each.winner for each in asked} == set(range(DRAWS))
    assert max(size for each in asked for size in each.sizes) <= DEPTH
    assert median(size for each in asked for size in each.sizes) < DEPTH
    assert all(each.shown == max(each.sizes) for each in asked)
    assert max(each.chars for each in asked) <= LIST_CHARS
