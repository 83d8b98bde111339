"""Live estimates, close to what was observed at a load and quick to forget; and the latency tables."""

import math
import random
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.clients.services import Services
from gateway.planning.estimates import LEVELS, WINDOW, Estimates, level_of
from gateway.planning.latencies import ONE, PACKAGED, UNLISTED, VlmSpeed, Work, load_latencies
from gateway.planning.stages import Stage
from tests.unit.gateway.planning.stage_graphs import STAGE_GRAPHS
from tests.unit.gateway.sessions.harness import ManualClock

TABLE = load_latencies("l40s", VlmSpeed())
STAGE = Stage.TEXT_SEARCH
IDLE_MS = TABLE.expected_ms(STAGE)
LOADS = st.integers(1, 40)
RATIOS = st.floats(0.05, 50.0)


def estimates(clock: ManualClock | None = None) -> Estimates:
    return Estimates(TABLE, clock or ManualClock())


def observe_ratios(live: Estimates, ratios: list[float], load: int = 1) -> None:
    for ratio in ratios:
        live.observe(STAGE, ONE, ratio * IDLE_MS, load)


def test_without_observations_the_table_is_used() -> None:
    live = estimates()
    assert live.p50_ms(STAGE) == pytest.approx(IDLE_MS, rel=0.06)
    sigma = TABLE.stages[STAGE].sigma
    assert live.p90_ms(STAGE) == pytest.approx(IDLE_MS * math.exp(1.2816 * sigma), rel=0.1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0])
def test_quantiles_agree_with_those_of_the_data(seed: int, sigma: float) -> None:
    rng, live = random.Random(seed), estimates()
    ratios = [rng.lognormvariate(0.7, sigma) for _ in range(100)]
    observe_ratios(live, ratios)
    p50, p90 = np.quantile(ratios[-WINDOW:], [0.5, 0.9], method="inverted_cdf")
    assert live.p50_ms(STAGE) == pytest.approx(p50 * IDLE_MS, rel=0.05)
    assert live.p90_ms(STAGE) == pytest.approx(p90 * IDLE_MS, rel=0.05)


def test_observations_at_one_size_apply_to_all_sizes() -> None:
    live, large = estimates(), Work(items=16)
    observe_ratios(live, [3.0] * 50)
    assert live.p50_ms(STAGE, large) == pytest.approx(3.0 * TABLE.expected_ms(STAGE, large), rel=0.05)


@given(st.lists(st.tuples(RATIOS, LOADS), max_size=40), LOADS)
def test_estimates_grow_with_the_load_and_p90_is_never_below_p50(
    observations: list[tuple[float, int]], load: int
) -> None:
    live = estimates()
    for ratio, at_load in observations:
        observe_ratios(live, [ratio], at_load)
    assert 0 < live.p50_ms(STAGE, ONE, load) <= live.p90_ms(STAGE, ONE, load)
    by_level = [live.ratios(STAGE, 2**level) for level in range(LEVELS)]
    assert [each.p50 for each in by_level] == sorted(each.p50 for each in by_level)
    assert [each.p90 for each in by_level] == sorted(each.p90 for each in by_level)


def test_load_levels_double() -> None:
    loads = {0: 0, 1: 0, 2: 1, 3: 1, 4: 2, 7: 2, 8: 3, 15: 3, 16: 4, 500: 4}
    assert {load: level_of(load) for load in loads} == loads


def test_each_load_level_has_its_own_estimate_or_borrows_the_nearest() -> None:
    live = estimates()
    observe_ratios(live, [2.0] * 50, load=1)
    observe_ratios(live, [6.0] * 50, load=8)
    for load, ratio in ((1, 2), (2, 2), (9, 6), (30, 6)):
        assert live.p50_ms(STAGE, ONE, load) == pytest.approx(ratio * IDLE_MS, rel=0.05)
    busy = estimates()
    observe_ratios(busy, [8.0] * 50, load=20)
    assert IDLE_MS <= busy.p50_ms(STAGE, ONE, 1) < 1.3 * IDLE_MS


def test_new_calls_or_silence_replace_the_past() -> None:
    clock = ManualClock()
    busy, silent = estimates(clock), estimates(clock)
    for live in (busy, silent):
        observe_ratios(live, [10.0] * 100)
        assert live.p50_ms(STAGE) > 9 * IDLE_MS
    for _ in range(60):
        clock.now += 5.0
        observe_ratios(busy, [1.0])
    assert busy.p50_ms(STAGE) == pytest.approx(IDLE_MS, rel=0.1)
    assert silent.p50_ms(STAGE) == pytest.approx(IDLE_MS, rel=0.1)


@pytest.mark.parametrize("pause_s", [0.0, 1e7])
def test_estimates_recover_after_any_pause(pause_s: float) -> None:
    clock = ManualClock()
    live = estimates(clock)
    observe_ratios(live, [3.0] * 10)
    clock.now += pause_s
    assert math.isfinite(live.p90_ms(STAGE))
    observe_ratios(live, [5.0] * 60)
    clock.now += 1.0  # what was read a moment ago is given again
    assert live.p50_ms(STAGE) == pytest.approx(5 * IDLE_MS, rel=0.05)


@given(st.lists(st.floats(), max_size=30))
def test_estimates_stay_finite_for_any_duration(durations: list[float]) -> None:
    live, untouched = estimates(), estimates()
    for ms in (math.nan, math.inf, -math.inf, -1.0):
        live.observe(STAGE, ONE, ms, 1)
    assert live.p90_ms(STAGE) == untouched.p90_ms(STAGE)
    for ms in durations:
        live.observe(STAGE, ONE, ms, 1)
    assert 0 < live.p50_ms(STAGE) <= live.p90_ms(STAGE) < math.inf


def test_estimate_is_bounded_by_the_longest_reply() -> None:
    live = estimates()
    unbounded, short = Work(), Work(max_output_tokens=32)
    assert live.p50_ms(Stage.ANSWER, short) == live.p50_ms(Stage.ANSWER, unbounded)
    assert live.p90_ms(Stage.ANSWER, short) < live.p90_ms(Stage.ANSWER, unbounded)


def test_model_and_fallback_have_separate_estimates() -> None:
    live = estimates()
    for _ in range(50):
        live.observe(Stage.ANSWER, ONE, 20.0, 1, by_model=False)
    assert live.p50_ms(Stage.ANSWER, by_model=False) == pytest.approx(20.0, rel=0.05)
    assert live.p50_ms(Stage.ANSWER) == pytest.approx(TABLE.expected_ms(Stage.ANSWER), rel=0.06)


LITE = files("gateway.planning.latencies").joinpath("lite.toml").read_text("utf-8")


@pytest.mark.parametrize("name", PACKAGED)
def test_a_packaged_table_lists_every_service_and_plans_every_stage(name: str) -> None:
    latencies = load_latencies(name, VlmSpeed())
    for graph in STAGE_GRAPHS.values():
        for step in graph.steps:
            assert all(latencies.expected_ms(stage) > 0 for stage in step)
    for service in Services.names():
        assert latencies.service(service).median_ms(1) > 0
        assert latencies.service(service) is not UNLISTED
    assert latencies.service("ocr") == latencies.stages[Stage.OCR]
    with pytest.raises(ValueError, match="painter"):
        latencies.service("painter")


def test_estimate_grows_with_the_work() -> None:
    lite, l40s = load_latencies("lite"), load_latencies("l40s", VlmSpeed())
    assert lite.expected_ms(Stage.CROP_SEARCH, Work(4)) > lite.expected_ms(Stage.CROP_SEARCH, Work(1))
    short, usual, long = Work(max_output_tokens=10), Work(), Work(extra_prompt_tokens=2_000)
    times = [l40s.expected_ms(Stage.ANSWER, work) for work in (short, usual, long)]
    assert times == sorted(set(times))
    assert l40s.expected_ms(Stage.ANSWER, Work(max_output_tokens=4_000)) == times[1]  # more than usual
    without_model = load_latencies("l40s")
    assert without_model.expected_ms(Stage.ANSWER) == without_model.stages[Stage.ANSWER].fixed_ms


def test_prefix_caching_counts_the_photo_once() -> None:
    speed = VlmSpeed(vision_ms=100.0, prefix_caching=True)
    l40s, plain = load_latencies("l40s", speed), load_latencies("l40s", VlmSpeed(vision_ms=100.0))
    assert plain.expected_ms(Stage.JUDGE) - l40s.expected_ms(Stage.JUDGE) == pytest.approx(100.0)
    assert plain.expected_ms(Stage.DRAFT) == l40s.expected_ms(Stage.DRAFT)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("judge ", "jugde "), "stages.jugde"),
        (("cropper           = { fixed_ms = 150, sigma = 0.40 }", ""), "stages.cropper is missing"),
        (("item_ms = 200", "item_ms = -1"), "stages.image_search.item_ms: "),
        (("item_ms = 200", 'item_ms = "200"'), "stages.image_search.item_ms: "),
        (("[stages]", "[stages"), "is not TOML"),
        (("follows_photo = false", "follows_photo = 0"), "draft.follows_photo: "),
        (("reader = ", "painter = "), "services.painter"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    assert change[0] in LITE
    path = tmp_path / "mine.toml"
    path.write_text(LITE.replace(*change), "utf-8")
    with pytest.raises(ValueError, match=r"\.$") as refused:
        load_latencies(path)
    assert sentence in str(refused.value)
    with pytest.raises(ValueError, match=r"cannot be read\.$"):
        load_latencies(tmp_path / "none.toml")


def test_latency_file_may_use_the_earlier_names_of_stages(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(LITE.replace("lite_draft", "pocket_draft").replace("lite_answer", "pocket_answer"))
    assert load_latencies(file) == load_latencies("lite")
