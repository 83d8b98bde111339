"""Dashboards as pictures: what their queries return of a Prometheus, drawn as Grafana would.

For readmes and reviews, where no Grafana runs. Needs matplotlib, which only the group `load` installs.
"""

from deploy.grafana.drawing.page import draw_all
from deploy.grafana.drawing.source import View

__all__ = ["View", "draw_all"]
