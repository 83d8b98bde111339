"""The benchmark of search at size: what it holds searches against is what is exactly nearest."""

from pathlib import Path

import numpy as np
import pytest

from bench.search_at_size import build
from bench.sized_index import QUERIES, SERVICES
from bench.sized_search import exact, served
from bench.synthetic_index import BLOCK, NEAREST, Meanings, Terms
from chassis.vectors.dense_index import DenseIndex


@pytest.mark.parametrize("service", SERVICES)
def test_an_index_too_small_for_a_graph_finds_all_that_is_exactly_nearest(
    tmp_path: Path, service: str
) -> None:
    nearest = exact(service, BLOCK)
    build(service, tmp_path, DenseIndex(), BLOCK, lambda done, doing: None)
    found = served(service, tmp_path, DenseIndex(), nearest)
    assert found.dense.recall == 1.0
    assert len(found.dense.times_ms) == 5 * QUERIES


def test_points_are_near_others_and_a_query_near_one_and_equal_to_none() -> None:
    meanings = Meanings(1_024)
    points = meanings.block(0)
    assert np.linalg.norm(points, axis=1) == pytest.approx(1.0, abs=1e-5)
    among = np.sort(points @ points.T, axis=1)
    assert np.median(among[:, -2]) > 0.4  # noise of 1,024 dimensions has nobody nearer than 0.12
    best = (meanings.queries(50) @ points.T).max(axis=1)
    assert (best > 0.8).all()
    assert (best < 0.9).all()


def test_blocks_are_the_same_each_time_and_differ_from_each_other() -> None:
    assert (Meanings(64).block(3) == Meanings(64).block(3)).all()
    assert (Meanings(64).block(3) != Meanings(64).block(4)).any()
    terms = Terms()
    assert (terms.block(1).words == Terms().block(1).words).all()
    held = [len(vector.indices) for vector in terms.sparse(terms.block(1))]
    assert len(held) == BLOCK
    assert min(held) > NEAREST
