"""Dashboards and autoscalers ask for metrics and labels that exist, in PromQL that Prometheus parses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.metrics import metrics
from tests.deploy.prometheus_tools import installed, run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "grafana"
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))
SCALERS = [
    path for path in (ROOT / "k8s/overlays/scale-out").glob("*.yaml") if "ScaledObject" in path.read_text()
]
RULES = ROOT / "deploy" / "prometheus" / "rules"

_SELECTOR = re.compile(r"(?<![\w:])([a-zA-Z_:][\w:]*)\b(?!\s*\()\s*(\{[^}]*\})?")
_GROUPING = re.compile(r"\b(?:by|on|group_left|group_right|ignoring|without)\s*\(([^)]*)\)")
_OPERATORS = {"or", "and", "unless", "group_left", "group_right"}


METRICS = metrics()
RUNBOOK_LINK = re.compile(r"#alert-[\w-]+")


def panels(path: Path) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(path.read_text())["panels"]
    return [panel for panel in told if panel["type"] != "row"]


def queries(path: Path) -> Iterator[tuple[str, str]]:
    """Each PromQL expression of a dashboard or a manifest, with its legend."""
    if path.suffix == ".yaml":
        for document in filter(None, yaml.safe_load_all(path.read_text())):
            for trigger in document.get("spec", {}).get("triggers", []):
                yield trigger["metadata"]["query"], ""
        return
    for panel in panels(path):
        yield from ((target["expr"], target.get("legendFormat", "")) for target in panel["targets"])
    for each in json.loads(path.read_text())["annotations"]["list"]:
        yield each["expr"], each.get("titleFormat", "")


def asked(expr: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric of an expression with the labels that it is selected by."""
    plain = re.sub(r"\[[^]]*\]|offset \w+", " ", _GROUPING.sub(" ", expr))
    for name, selector in _SELECTOR.findall(re.sub(r'"[^"]*"', '""', plain)):
        if name not in _OPERATORS:
            yield name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))


@pytest.mark.parametrize("path", [*DASHBOARDS, *SCALERS], ids=lambda path: str(path.stem))
def test_every_metric_and_label_exists(path: Path) -> None:
    for expr, legend in queries(path):
        found = list(asked(expr))
        assert found, expr
        for name, labels in found:
            assert name in METRICS, f"{name} in {expr}"
            assert labels <= METRICS[name], expr
        made = set(re.findall(r'label_replace\(.*?"(\w+)"', expr)) | set(re.findall(r', "(\w+)", "', expr))
        known = made.union(*(METRICS[name] for name, _ in found))
        grouped = {label.strip() for group in _GROUPING.findall(expr) for label in group.split(",")} - {""}
        assert grouped | set(re.findall(r"\{\{\s*(\w+)", legend)) <= known, expr


def test_prometheus_parses_every_query(tmp_path: Path) -> None:
    promtool = installed("promtool", "prometheus")
    exprs = [expr for path in (*DASHBOARDS, *SCALERS) for expr, _ in queries(path)]
    plain = [re.sub(r"\$__\w+", "1m", re.sub(r"\$\{?(?!__)\w+\}?", "x", expr)) for expr in exprs]
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(plain)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run(promtool, "check", "rules", tmp_path / "panels.yml")


def test_runbook_links_are_those_of_alerts_that_exist() -> None:
    anchors = {link for path in RULES.glob("*.yml") for link in RUNBOOK_LINK.findall(path.read_text())}
    linked = {link for path in DASHBOARDS for link in RUNBOOK_LINK.findall(path.read_text())}
    assert linked
    assert linked <= anchors
