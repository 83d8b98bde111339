"""The dashboards ask for metrics and labels that exist, in PromQL that Prometheus parses."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.prometheus_tools import installed, run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "grafana"
FILES = [pytest.param(path, id=path.stem) for path in sorted((FOLDER / "dashboards").glob("*.json"))]
RULES = ROOT / "deploy" / "prometheus" / "rules"

SCRAPED = {"job", "instance"}
"""Prometheus adds these labels to every series."""
OTHERS = {
    "ALERTS": {"alertname", "alertstate", "severity"},
    "up": set(),
    "process_start_time_seconds": set(),
    "process_resident_memory_bytes": set(),
    "process_cpu_seconds_total": set(),
    "rest_responses_duration_seconds_bucket": {"le", "method", "endpoint", "status"},  # Qdrant
    "DCGM_FI_DEV_GPU_UTIL": {"gpu"},
    "DCGM_FI_DEV_FB_USED": {"gpu"},
    "redis_memory_used_bytes": set(),
    "redis_memory_max_bytes": set(),
    "node_filesystem_avail_bytes": {"fstype", "mountpoint"},
    "node_filesystem_size_bytes": {"fstype", "mountpoint"},
}
VLLM = [
    *("generation_tokens_total", "prompt_tokens_total", "num_requests_running", "num_requests_waiting"),
    *("num_preemptions_total", "kv_cache_usage_perc", "gpu_cache_usage_perc", "prefix_cache_hits_total"),
    *("prefix_cache_queries_total", "time_to_first_token_seconds", "inter_token_latency_seconds"),
    *("time_per_output_token_seconds", "request_queue_time_seconds", "request_prefill_time_seconds"),
    "request_decode_time_seconds",
]

_DEFINITION = re.compile(r"(counter|gauge|histogram)(metricfamily)?", re.IGNORECASE)
_SELECTOR = re.compile(r"(?<![\w:])([a-zA-Z_:][\w:]*)\b(?!\s*\()\s*(\{[^}]*\})?")
_GROUPING = re.compile(r"\b(?:by|on|group_left|group_right|ignoring|without)\s*\(([^)]*)\)")
_OPERATORS = {"or", "and", "unless", "group_left", "group_right"}


def metrics() -> dict[str, set[str]]:
    """The series that the code and the programs beside it expose, with their labels."""
    found = {name: labels | SCRAPED for name, labels in OTHERS.items()}
    for name in VLLM:
        found |= dict.fromkeys((f"vllm:{name}{end}" for end in ("", "_sum", "_count")), SCRAPED)
        found[f"vllm:{name}_bucket"] = SCRAPED | {"le"}
    for package in ("chassis", "gateway", "services"):
        for path in (ROOT / package).rglob("*.py"):
            for kind, name, labels in _defined(ast.parse(path.read_text())):
                if kind == "histogram":
                    found |= dict.fromkeys((f"{name}_sum", f"{name}_count"), labels | SCRAPED)
                    found[f"{name}_bucket"] = labels | SCRAPED | {"le"}
                else:
                    found[name] = labels | SCRAPED
    return found


def _defined(tree: ast.Module) -> Iterator[tuple[str, str, set[str]]]:
    """Kind, name and labels of each metric that a module makes; labels may be named by a variable."""
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
            continue
        kind = _DEFINITION.fullmatch(ast.unparse(node.func).rpartition(".")[2])
        if kind and str(node.args[0].value).startswith("loreglass_"):
            given = node.args[2:3] + [each.value for each in node.keywords if each.arg == "labels"]
            default = {"service"} if ast.unparse(node.func) == "self.gauge" and not given else set()
            labels = {label for each in given for label in _strings(each, named)} | default
            yield kind[1].lower(), str(node.args[0].value), labels


def _strings(node: ast.AST, named: dict[str, ast.expr]) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
        elif isinstance(each, ast.Name) and each.id in named:
            yield from _strings(named[each.id], named)


METRICS = metrics()


def panels(path: Path) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(path.read_text())["panels"]
    return [panel for panel in told if panel["type"] != "row"]


def queries(path: Path) -> Iterator[tuple[str, str]]:
    """Each PromQL expression with its legend, of panels and of annotations."""
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


@pytest.mark.parametrize("path", FILES)
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
    exprs = [expr for path in FILES for expr, _ in queries(path.values[0])]  # type: ignore[arg-type]
    plain = [re.sub(r"\$__\w+", "1m", re.sub(r"\$\{?(?!__)\w+\}?", "x", expr)) for expr in exprs]
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(plain)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run(promtool, "check", "rules", tmp_path / "panels.yml")


@pytest.mark.parametrize("path", FILES)
def test_every_variable_and_data_source_is_declared(path: Path) -> None:
    told = json.loads(path.read_text())
    declared = {variable["name"] for variable in told["templating"]["list"]}
    assert set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(told["panels"]))) <= declared
    (source,) = yaml.safe_load((FOLDER / "provisioning/datasources/prometheus.yml").read_text())[
        "datasources"
    ]
    for panel in panels(path):
        assert panel["datasource"] == {"type": source["type"], "uid": source["uid"]}


def test_runbook_links_are_those_of_alerts_that_exist() -> None:
    anchors = set(re.findall(r"#alert-[\w-]+", "".join(path.read_text() for path in RULES.glob("*.yml"))))
    text = "".join(path.read_text() for path in (FOLDER / "dashboards").glob("*.json"))
    linked = set(re.findall(r"#alert-[\w-]+", text))
    assert linked
    assert linked <= anchors
