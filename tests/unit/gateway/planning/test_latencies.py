"""The latency tables: complete, refused in one sentence when they cannot be used, and plausible."""

from importlib.resources import files
from pathlib import Path

import pytest

from gateway.clients.services import Services
from gateway.planning.latencies import PACKAGED, VlmSpeed, Work, load_latencies
from gateway.planning.stages import Stage
from tests.unit.gateway.planning.stage_graphs import STAGE_GRAPHS

POCKET = files("gateway.planning.latencies").joinpath("pocket.toml").read_text("utf-8")


@pytest.mark.parametrize("name", PACKAGED)
def test_a_packaged_table_has_every_stage_and_every_service(name: str) -> None:
    latencies = load_latencies(name, VlmSpeed())
    for graph in STAGE_GRAPHS.values():
        for step in graph.steps:
            assert all(latencies.expected_ms(stage) > 0 for stage in step)
    for service in Services.names():
        assert latencies.service(service).median_ms(1) > 0
    assert latencies.service("ocr") == latencies.stages[Stage.OCR]
    with pytest.raises(ValueError, match="painter"):
        latencies.service("painter")


def test_a_call_takes_the_longer_the_more_it_is_asked_to_do() -> None:
    pocket, l40s = load_latencies("pocket"), load_latencies("l40s", VlmSpeed())
    assert pocket.expected_ms(Stage.CROP_SEARCH, Work(4)) > pocket.expected_ms(Stage.CROP_SEARCH, Work(1))
    short, usual, long = Work(max_output_tokens=10), Work(), Work(extra_prompt_tokens=2_000)
    times = [l40s.expected_ms(Stage.ANSWER, work) for work in (short, usual, long)]
    assert times == sorted(set(times))
    assert l40s.expected_ms(Stage.ANSWER, Work(max_output_tokens=4_000)) == times[1]  # more than usual
    without_model = load_latencies("l40s")
    assert without_model.expected_ms(Stage.ANSWER) == without_model.stages[Stage.ANSWER].fixed_ms


def test_a_server_with_prefix_caching_reads_the_photo_once() -> None:
    speed = VlmSpeed(vision_ms=100.0, prefix_caching=True)
    l40s, plain = load_latencies("l40s", speed), load_latencies("l40s", VlmSpeed(vision_ms=100.0))
    assert plain.expected_ms(Stage.JUDGE) - l40s.expected_ms(Stage.JUDGE) == pytest.approx(100.0)
    assert plain.expected_ms(Stage.DRAFT) == l40s.expected_ms(Stage.DRAFT)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("judge ", "jugde "), "stages.jugde"),
        (("session           = { fixed_ms = 1 }", ""), "stages.session is missing"),
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
    assert change[0] in POCKET
    path = tmp_path / "mine.toml"
    path.write_text(POCKET.replace(*change), "utf-8")
    with pytest.raises(ValueError, match=r"\.$") as refused:
        load_latencies(path)
    assert sentence in str(refused.value)


def test_a_table_that_is_not_there_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot be read\.$"):
        load_latencies(tmp_path / "none.toml")
