"""`python -m deploy.prometheus_rule`: the rules of deploy/prometheus, as Prometheus' operator reads them."""

import sys
from pathlib import Path
from typing import Any

import yaml

_RULES = Path(__file__).with_name("prometheus") / "rules"


def prometheus_rule() -> dict[str, Any]:
    """All groups of all files."""
    groups = [
        group for path in sorted(_RULES.glob("*.yml")) for group in yaml.safe_load(path.read_text())["groups"]
    ]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "loreglass", "namespace": "loreglass"},
        "spec": {"groups": groups},
    }


if __name__ == "__main__":
    yaml.safe_dump(prometheus_rule(), sys.stdout, sort_keys=False, width=120)
