"""What is measured, reckoned and alerted on: checked by promtool, and held against the code that measures."""

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from contracts.answer import Reason
from deploy.inventory import APPS, VLM_HOST, VLM_PORT
from gateway.app import create_app
from gateway.serving.admission import Refusal
from gateway.settings import GatewaySettings

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "deploy" / "prometheus"
RUNBOOK = ROOT / "docs" / "operations.md"
CONFIG = HERE / "prometheus.yml"
RULES = sorted((HERE / "rules").glob("*.yml"))
TESTS = sorted((HERE / "tests").glob("*.yml"))

BESIDE = {VLM_HOST: VLM_PORT, "qdrant": 6333}
"""Measured, but no app of ours."""
OF_THE_CLIENT_LIBRARY = {"process_start_time_seconds"}

_DEFINED = re.compile(r"\b(counter|gauge|histogram)\w*\(\s*\"(loreglass_\w+)\"", re.IGNORECASE)
_NAME = re.compile(r"[a-zA-Z_][\w:]*")
_OUTCOME = re.compile(r'^ALERTS\{alertname="(\w+)",alertstate="firing"\}$')


def rules() -> list[dict[str, Any]]:
    return [
        rule
        for path in RULES
        for group in yaml.safe_load(path.read_text())["groups"]
        for rule in group["rules"]
    ]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def names_in(expression: str) -> set[str]:
    """Words of a PromQL expression that may be metrics: not those in quotes or in braces."""
    return set(_NAME.findall(re.sub(r"\{[^}]*\}|\"[^\"]*\"", "", expression)))


def measured() -> Iterator[str]:
    """Every series that the code can expose."""
    for package in ("chassis", "gateway", "services"):
        for path in (ROOT / package).rglob("*.py"):
            for kind, name in _DEFINED.findall(path.read_text()):
                if kind.lower() == "histogram":
                    yield from (f"{name}_bucket", f"{name}_sum", f"{name}_count")
                else:
                    yield name


def kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


@pytest.fixture(scope="module")
def promtool() -> str:
    program = shutil.which("promtool")
    if program is None and os.environ.get("CI"):
        pytest.fail("CI must have prometheus: its rules may not go untested there")
    if program is None:
        pytest.skip("promtool is not installed here (apt-get install prometheus)")
    return program


def run(*command: str | Path) -> None:
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_the_configuration_and_its_rules(promtool: str) -> None:
    run(promtool, "check", "config", CONFIG)
    run(promtool, "check", "rules", *RULES)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_the_rules_reckon_and_alert_as_their_tests_say(promtool: str, path: Path) -> None:
    run(promtool, "test", "rules", path)


def test_every_app_is_measured_where_it_listens() -> None:
    scraped = yaml.safe_load(CONFIG.read_text())["scrape_configs"]
    targets = {each["job_name"]: each["static_configs"][0]["targets"] for each in scraped}
    wanted = {app.host: app.port for app in APPS} | BESIDE
    assert targets == {host: [f"{host}:{port}"] for host, port in wanted.items()}


def test_a_job_that_vanishes_is_missed() -> None:
    [missing] = [each["expr"] for each in alerts() if each["alert"] == "TargetMissing"]
    assert set(re.findall(r'absent\(up\{job="([\w-]+)"\}\)', missing)) == {app.host for app in APPS} | set(
        BESIDE
    )


def test_every_alert_says_how_urgent_it_is_what_it_is_and_what_to_do() -> None:
    for each in alerts():
        assert each["labels"] in ({"severity": "page"}, {"severity": "ticket"}), each["alert"]
        assert set(each["annotations"]) == {"summary", "description", "runbook_url"}, each["alert"]
        assert each["annotations"]["runbook_url"] == f"docs/operations.md#alert-{kebab(each['alert'])}"


def test_every_alert_has_a_paragraph_in_the_runbook() -> None:
    if not RUNBOOK.exists():
        pytest.skip("there is no runbook to look into")
    headings = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    assert {f"alert-{kebab(each['alert'])}" for each in alerts()} <= anchors


def test_every_alert_is_seen_to_fire_and_to_keep_quiet() -> None:
    outcomes: dict[str, set[bool]] = defaultdict(set)
    for path in TESTS:
        for case in yaml.safe_load(path.read_text())["tests"]:
            for check in case["promql_expr_test"]:
                if found := _OUTCOME.match(check["expr"]):
                    outcomes[found[1]].add(bool(check["exp_samples"]))
    assert outcomes == {each["alert"]: {True, False} for each in alerts()}


def test_rules_ask_for_nothing_that_is_not_measured_or_recorded() -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    known = recorded | set(measured()) | OF_THE_CLIENT_LIBRARY
    for rule in rules():
        asked = {
            name for name in names_in(rule["expr"]) if "loreglass_" in name or name.startswith("process_")
        }
        assert asked <= known, rule


def test_rules_are_not_recorded_for_nobody_under_names_that_say_nothing() -> None:
    for rule in rules():
        if "record" in rule:
            assert re.fullmatch(r"job(_[a-z]+)?:loreglass_\w+:\w+", rule["record"])


def test_reasons_and_routes_that_rules_name_exist() -> None:
    reasons = {each.value for each in Reason} | {each.value for each in Refusal} | {"left", "failed"}
    routes = set(create_app(GatewaySettings(port=0)).openapi()["paths"])
    for rule in rules():
        for named in re.findall(r'\breason!?=~?"([^"]+)"', rule["expr"]):
            assert set(named.split("|")) <= reasons, rule
        for named in re.findall(r'job="gateway",route=~"([^"]+)"', rule["expr"]):
            assert set(named.split("|")) <= routes, rule
