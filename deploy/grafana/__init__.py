"""Grafana's dashboards as code: `python -m deploy.grafana --write`; see README.md."""
