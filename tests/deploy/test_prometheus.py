"""Rules, alerts, dashboards and scalers: checked by promtool, and held against the code that measures."""

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import Queue
from typing import Any

import httpx
import pytest
import yaml

from bench.processes import serving
from contracts.answer import Reason
from gateway.app import create_app
from gateway.serving.admission import Refusal
from gateway.settings import GatewaySettings
from tests.deploy.metrics import metrics
from tests.loopback import taking_posts

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "deploy" / "prometheus"
RUNBOOK = ROOT / "docs" / "operations" / "alerts.md"
CONFIG, POCKET = HERE / "prometheus.yml", HERE / "pocket.yml"
ALERTMANAGER = HERE / "alertmanager.yml"
RULES = sorted((HERE / "rules").glob("*.yml"))
TESTS = sorted((HERE / "tests").glob("*.yml"))

_OUTCOME = re.compile(r'^ALERTS\{alertname="(\w+)",alertstate="firing"\}$')


def installed(name: str, package: str) -> str:
    """The program's path. Skips where it is missing, but fails in CI."""
    program = shutil.which(name)
    if program is None and os.environ.get("CI"):
        pytest.fail(f"CI must have {package}: what it checks may not go untested there")
    if program is None:
        pytest.skip(f"{name} is not installed here (apt-get install {package})")
    return program


def run(*command: str | Path) -> str:
    """The output of a command that must succeed, run in deploy/prometheus."""
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@cache
def rules() -> list[dict[str, Any]]:
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


@pytest.mark.parametrize("config", [CONFIG, POCKET], ids=lambda path: path.stem)
def test_promtool_accepts_configuration_and_rules(config: Path) -> None:
    promtool = installed("promtool", "prometheus")
    run(promtool, "check", "config", config)
    run(promtool, "check", "rules", *RULES)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_prometheus_rules_pass_their_tests(path: Path) -> None:
    run(installed("promtool", "prometheus"), "test", "rules", path)


def test_every_alert_has_a_severity_and_a_paragraph_in_the_runbook() -> None:
    headings = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    for each in alerts():
        assert each["labels"] in ({"severity": "page"}, {"severity": "ticket"}), each["alert"]
        assert set(each["annotations"]) == {"summary", "description", "runbook_url"}, each["alert"]
        anchor = "alert-" + re.sub(r"(?<=[a-z])(?=[A-Z])", "-", each["alert"]).lower()
        assert each["annotations"]["runbook_url"] == "{{ $externalLabels.runbook }}#" + anchor
        assert anchor in anchors


def test_every_alert_has_a_firing_and_a_silent_test() -> None:
    outcomes: dict[str, set[bool]] = defaultdict(set)
    for path in TESTS:
        for case in yaml.safe_load(path.read_text())["tests"]:
            for check in case["promql_expr_test"]:
                if match := _OUTCOME.match(check["expr"]):
                    outcomes[match[1]].add(bool(check["exp_samples"]))
    assert outcomes == {each["alert"]: {True, False} for each in alerts()}


def test_rules_use_only_measured_or_recorded_series() -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    for rule in rules():
        assert {name for name, _ in selectors(rule["expr"])} <= recorded | METRICS.keys(), rule


def test_reasons_and_routes_in_rules_exist() -> None:
    reasons = {each.value for each in Reason} | {each.value for each in Refusal} | {"left", "failed"}
    routes = set(create_app(GatewaySettings(port=0)).openapi()["paths"])
    for rule in rules():
        for named in re.findall(r'\breason!?=~?"([^"]+)"', rule["expr"]):
            assert set(named.split("|")) <= reasons, rule
        for named in re.findall(r'job="gateway",route=~"([^"]+)"', rule["expr"]):
            assert set(named.split("|")) <= routes, rule


@pytest.mark.parametrize(
    ("label", "receiver"),
    [("severity=page", "page"), ("severity=ticket", "ticket"), ("of=somebody", "ticket")],
)
def test_alerts_reach_their_receiver(label: str, receiver: str) -> None:
    amtool = installed("amtool", "prometheus-alertmanager")
    run(amtool, "check-config", ALERTMANAGER)
    routes = (amtool, "config", "routes", "test", f"--config.file={ALERTMANAGER}")
    assert run(*routes, "alertname=GatewayDown", label).split() == [receiver]


def test_alert_message_has_its_name_and_runbook_link(tmp_path: Path) -> None:
    """A real Alertmanager with the example's routes and texts, sent what Prometheus would send."""
    program = installed("prometheus-alertmanager", "prometheus-alertmanager")
    annotations = {"summary": "No gateway answers", "description": "Start it.", "runbook_url": "https://r/#a"}
    alert = {"labels": {"alertname": "GatewayDown", "job": "gateway", "severity": "page"}}
    messages: Queue[dict[str, Any]] = Queue()

    def keep(request: BaseHTTPRequestHandler, body: bytes) -> None:
        messages.put(json.loads(body))
        request.send_response(200)
        request.end_headers()

    with taking_posts(keep) as webhook, alertmanager(program, webhook, tmp_path) as url:
        httpx.post(f"{url}/api/v2/alerts", json=[alert | {"annotations": annotations}]).raise_for_status()
        (message,) = messages.get(timeout=60)["attachments"]
    assert message["title"] == "FIRING: GatewayDown gateway"
    assert message["title_link"] == "https://r/#a"
    assert message["text"] == "No gateway answers. Start it.\n"
    assert message["color"] == "danger"


@contextmanager
def alertmanager(program: str, webhook: str, folder: Path) -> Iterator[str]:
    """One with the example's configuration, but for the secret's place and the half minute's wait."""
    (folder / "webhook").write_text(webhook)
    example = ALERTMANAGER.read_text().replace("group_wait: 30s", "group_wait: 0s")
    example = example.replace("/run/secrets/alert_webhook", str(folder / "webhook"))
    (folder / "alertmanager.yml").write_text(example)
    command = [program, f"--config.file={folder / 'alertmanager.yml'}", "--cluster.listen-address="]
    command += [f"--storage.path={folder / 'data'}", "--web.listen-address=127.0.0.1:{port}"]
    with serving(*command, ready="/-/ready") as server:
        yield server.url


FOLDER = ROOT / "deploy" / "grafana"
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))
SCALERS = [
    path for path in (ROOT / "k8s/overlays/scale-out").glob("*.yaml") if "ScaledObject" in path.read_text()
]

_SELECTOR = re.compile(r"(?<![\w:])([a-zA-Z_:][\w:]*)\b(?!\s*\()\s*(\{[^}]*\})?")
_GROUPING = re.compile(r"\b(?:by|on|group_left|group_right|ignoring|without)\s*\(([^)]*)\)")
_OPERATORS = {"or", "and", "unless", "group_left", "group_right"}


METRICS = metrics()


def panels(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())["panels"]
    return [panel for panel in rows if panel["type"] != "row"]


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


def selectors(expr: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric of an expression with the labels that it is selected by."""
    plain = re.sub(r"\[[^]]*\]|offset \w+", " ", _GROUPING.sub(" ", expr))
    for name, selector in _SELECTOR.findall(re.sub(r'"[^"]*"', '""', plain)):
        if name not in _OPERATORS:
            yield name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))


@pytest.mark.parametrize("path", [*DASHBOARDS, *SCALERS], ids=lambda path: str(path.stem))
def test_every_metric_and_label_exists(path: Path) -> None:
    for expr, legend in queries(path):
        uses = list(selectors(expr))
        assert uses, expr
        for name, labels in uses:
            assert name in METRICS, f"{name} in {expr}"
            assert labels <= METRICS[name], expr
        new_labels = re.findall(r'label_replace\(.*?"(\w+)"', expr) + re.findall(r', "(\w+)", "', expr)
        known_labels = set(new_labels).union(*(METRICS[name] for name, _ in uses))
        grouped = {label.strip() for group in _GROUPING.findall(expr) for label in group.split(",")} - {""}
        assert grouped | set(re.findall(r"\{\{\s*(\w+)", legend)) <= known_labels, expr


def test_prometheus_parses_every_query(tmp_path: Path) -> None:
    promtool = installed("promtool", "prometheus")
    exprs = [expr for path in (*DASHBOARDS, *SCALERS) for expr, _ in queries(path)]
    plain = [re.sub(r"\$__\w+", "1m", re.sub(r"\$\{?(?!__)\w+\}?", "x", expr)) for expr in exprs]
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(plain)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run(promtool, "check", "rules", tmp_path / "panels.yml")


def test_runbook_links_are_those_of_alerts_that_exist() -> None:
    link = re.compile(r"#alert-[\w-]+")
    anchors, linked = (
        {each for path in paths for each in link.findall(path.read_text())} for paths in (RULES, DASHBOARDS)
    )
    assert linked
    assert linked <= anchors
