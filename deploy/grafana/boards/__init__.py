"""The dashboards."""

from deploy.grafana.boards.latency import LATENCY
from deploy.grafana.boards.models import MODELS
from deploy.grafana.boards.overview import OVERVIEW

DASHBOARDS = (OVERVIEW, LATENCY, MODELS)

__all__ = ["DASHBOARDS"]
