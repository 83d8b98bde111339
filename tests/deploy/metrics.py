"""The series that the code and the programs beside it expose, with their labels."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

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


@cache
def metrics() -> dict[str, set[str]]:
    """Return the labels of each series by its name."""
    results = {name: labels | SCRAPED for name, labels in OTHERS.items()}
    for name in VLLM:
        results |= dict.fromkeys((f"vllm:{name}{end}" for end in ("", "_sum", "_count")), SCRAPED)
        results[f"vllm:{name}_bucket"] = SCRAPED | {"le"}
    for package in ("chassis", "gateway", "services"):
        for path in (ROOT / package).rglob("*.py"):
            for kind, name, labels in _defined(ast.parse(path.read_text())):
                if kind == "histogram":
                    results |= dict.fromkeys((f"{name}_sum", f"{name}_count"), labels | SCRAPED)
                    results[f"{name}_bucket"] = labels | SCRAPED | {"le"}
                else:
                    results[name] = labels | SCRAPED
    return results


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
