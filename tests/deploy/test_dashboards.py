"""The dashboards: generated as declared, over metrics that exist, leading to a runbook; and each panel tells
something when asked of a real Prometheus that watches real apps under load."""

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard as GrafanaDashboard
from PIL import Image

from deploy.grafana.__main__ import FOLDER, outdated
from deploy.grafana.boards import DASHBOARDS
from deploy.grafana.drawing import View, draw_all
from deploy.grafana.panels import COLUMNS, Kind, Panel, Row
from tests.deploy.monitored_load import Story, ask_again, crowd, tell
from tests.deploy.monitoring import BINARY, Watched, watched
from tests.journey.deployments import ROOT, OneProcess

PROVISIONING = FOLDER.parent / "provisioning"
RULES = ROOT / "deploy" / "prometheus" / "rules"
LOAD = Story(seconds=10, steady=1.5, rush=12, hurried=0.7, pocket=0.8)

FILES = [pytest.param(path, id=path.stem) for path in sorted(FOLDER.glob("*.json"))]


def _panels(path: Path) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads(path.read_text())["panels"]
    return [panel for panel in panels if panel["type"] != "row"]


def _declared() -> list[Panel]:
    return [panel for dashboard in DASHBOARDS for row in dashboard.rows for panel in row.panels]


def test_the_committed_dashboards_are_what_is_declared() -> None:
    assert not outdated(), "python -m deploy.grafana --write"


@pytest.mark.parametrize("path", FILES)
def test_panels_lie_side_by_side_on_the_grid(path: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(path.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < COLUMNS
        taken |= cells


@pytest.mark.parametrize("path", FILES)
def test_every_panel_says_what_it_means_and_asks_the_one_source(path: Path) -> None:
    told = json.loads(path.read_text())
    (source,) = yaml.safe_load((PROVISIONING / "datasources" / "prometheus.yml").read_text())["datasources"]
    for panel in _panels(path):
        assert len(panel["description"]) > 20, panel["title"]
        assert panel["datasource"] == {"type": source["type"], "uid": source["uid"]}
        assert panel["fieldConfig"]["defaults"]["unit"]
    ids = [panel["id"] for panel in told["panels"]]
    assert len(set(ids)) == len(ids)
    assert told["uid"] == path.stem


@pytest.mark.parametrize("path", FILES)
def test_grafana_s_own_models_read_it(path: Path) -> None:
    register_default_plugins()
    told = json.loads(path.read_text())
    read = GrafanaDashboard.from_json(told)
    assert [panel.title for panel in read.panels or ()] == [panel["title"] for panel in told["panels"]]
    assert read.uid == path.stem


@pytest.mark.parametrize("path", FILES)
def test_every_variable_that_is_used_is_declared(path: Path) -> None:
    told = json.loads(path.read_text())
    declared = {variable["name"] for variable in told["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z_]+)", json.dumps(told["panels"])))
    assert used - {"__rate_interval", "__range"} <= declared


def test_runbook_links_are_those_of_alerts_that_exist() -> None:
    anchors = {
        anchor for path in RULES.glob("*.yml") for anchor in re.findall(r"#alert-([\w-]+)", path.read_text())
    }
    linked = {panel.alert for panel in _declared() if panel.alert}
    assert linked
    assert linked <= anchors


def test_histograms_lead_to_traces() -> None:
    shown = [query for panel in _declared() for query in panel.queries if query.exemplars]
    asked = {match for query in shown for match in re.findall(r"(\w+)_bucket", query.expr)}
    assert asked == {
        "loreglass_question_seconds",
        "loreglass_stage_seconds",
        "loreglass_request_seconds",
        "loreglass_photo_decode_seconds",
    }


def test_thresholds_rise() -> None:
    for panel in _declared():
        values = [limit.value for limit in panel.thresholds]
        assert values == sorted(values), panel.title


@pytest.fixture(scope="module")
def platforms(tmp_path_factory: pytest.TempPathFactory, small_world: Path) -> Iterator[Watched]:
    """After a few seconds in which everything happened that the panels show."""
    if shutil.which(BINARY) is None:
        pytest.skip(f"there is no {BINARY} here")
    folder = tmp_path_factory.mktemp("watched")
    pocket = OneProcess(folder / "pocket")
    pocket.start()
    try:
        with watched(pocket, folder, scrape_s=1) as platforms:
            platforms.until("min(up) and count(up) > 18")
            pocket.index(small_world)
            asyncio.run(crowd(platforms))  # first: a gateway that has seen many sends them away at once
            asyncio.run(tell(LOAD, platforms, small_world))
            asyncio.run(ask_again(platforms, small_world))
            platforms.until('loreglass_cache_lookups_total{outcome="hit"}')
            yield platforms
    finally:
        pocket.stop()


@pytest.mark.parametrize("path", FILES)
def test_every_panel_shows_data_of_apps_under_load(platforms: Watched, path: Path) -> None:
    view = View(platforms.prometheus, scrape_s=15)
    silent = [
        f"{panel['title']}: {target['expr']}"
        for panel in _panels(path)
        for target in panel["targets"]
        if not platforms.value(view.promql(target["expr"]))
    ]
    assert not silent


@pytest.mark.parametrize("path", FILES)
def test_a_line_is_drawn_where_a_process_starts_and_where_a_version_comes(
    platforms: Watched, path: Path
) -> None:
    marks = {mark["name"]: mark["expr"] for mark in json.loads(path.read_text())["annotations"]["list"]}
    assert set(marks) == {"Restarts", "Versions"}
    for expr in marks.values():
        platforms.value(expr)
    assert platforms.value(marks["Versions"].replace("offset 5m", "offset 1d"))
    assert not platforms.value(marks["Versions"].replace(" offset 5m", ""))


@pytest.mark.parametrize(
    "happened",
    [
        'loreglass_questions_total{reason="overloaded"} > 0',
        'loreglass_questions_total{reason="answered"} > 0',
        'loreglass_questions_total{reason="left"} > 0',
        'loreglass_stages_total{state="failed"} > 0',
        'loreglass_degraded_total{kind="ocr"} > 0',
        'loreglass_admission_refused_total{tier="full"} > 0',
        "loreglass_ingested_total > 0",
        'loreglass_cache_lookups_total{outcome="hit"} > 0',
        "vllm:generation_tokens_total > 0",
        "vllm:request_decode_time_seconds_sum > 0",
        "loreglass_placement_peak_bytes > 0",
        "loreglass_placement_planned_bytes >= loreglass_placement_peak_bytes",
        'loreglass_question_vlm_calls_sum{instance="l40s"} > 0',
    ],
)
def test_the_load_made_happen_what_the_panels_are_for(platforms: Watched, happened: str) -> None:
    assert platforms.value(happened)


def test_a_picture_is_drawn_of_every_kind_of_panel(platforms: Watched, tmp_path: Path) -> None:
    one_each = tuple({panel.kind: panel for panel in _declared()}.values())
    assert {panel.kind for panel in one_each} == set(Kind)
    drawn = replace(DASHBOARDS[0], rows=(Row("All kinds", one_each),))
    (path,) = draw_all([drawn], View(platforms.prometheus, minutes=1, scrape_s=2), tmp_path)
    with Image.open(path) as picture:
        assert picture.width > 1000
        assert len(picture.getcolors() or ()) > 50
