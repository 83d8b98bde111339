"""Declarations to the JSON that Grafana loads: the schema of its versions 11 and 12."""

import json
from collections.abc import Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import yaml

from deploy.grafana.panels import BLUE, GREY, Dashboard, Kind, Panel, Place, Query, Row, Variable

Json = dict[str, Any]
SOURCE: Mapping[str, str] = {"type": "prometheus", "uid": "prometheus"}
TAG = "loreglass"
_SCHEMA = 39
_PROMETHEUS = Path(__file__).resolve().parents[1] / "prometheus" / "prometheus.yml"


def grafana_json(dashboard: Dashboard) -> str:
    """One dashboard as a file for Grafana's provisioning; the same bytes each time.

    A line for each key of a panel: a change is seen in a diff, and all of them fit into one ConfigMap.
    """
    told = _dashboard(dashboard)
    panels = ",\n".join("{\n" + _lines(panel) + "\n}" for panel in told.pop("panels"))
    return "{\n" + _lines(told) + ',\n"panels": [\n' + panels + "\n]\n}\n"


def _lines(told: Json) -> str:
    return ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
        for key, value in told.items()
    )


def _dashboard(dashboard: Dashboard) -> Json:
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": [TAG],
        "schemaVersion": _SCHEMA,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_restarts(), _versions()]},
        "links": [_other_dashboards()],
        "templating": {"list": [*map(_variable, dashboard.variables), _runbook()]},
        "panels": [
            _row(thing, number, place) if isinstance(thing, Row) else _panel(thing, number, place)
            for number, (thing, place) in enumerate(dashboard.laid_out(), 1)
        ],
    }


def _restarts() -> Json:
    """A line through every panel where a process began."""
    return {
        "name": "Restarts",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": GREY,
        "expr": "changes(process_start_time_seconds[1m]) > 0",
        "titleFormat": "{{job}} started",
        "step": "60s",
    }


def _versions() -> Json:
    """A line where a version of an app was first seen: what became different may be its doing."""
    running = "count by (service, version) (loreglass_build_info"
    return {
        "name": "Versions",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": BLUE,
        "expr": f"{running}) unless {running} offset 5m)",
        "titleFormat": "{{service}} {{version}}",
        "step": "60s",
    }


def _other_dashboards() -> Json:
    return {
        "type": "dashboards",
        "title": "Loreglass",
        "tags": [TAG],
        "asDropdown": False,
        "includeVars": True,
        "keepTime": True,
    }


def _variable(variable: Variable) -> Json:
    return {
        "type": "query",
        "name": variable.name,
        "label": variable.label,
        "datasource": SOURCE,
        "query": {"query": variable.query, "refId": variable.name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def _runbook() -> Json:
    """Where the runbook is kept, as alerts have it: an operator sets it in Prometheus' configuration."""
    kept = yaml.safe_load(_PROMETHEUS.read_text(encoding="utf-8"))["global"]["external_labels"]["runbook"]
    return {
        "type": "textbox",
        "name": "runbook",
        "label": "Runbook",
        "query": kept,
        "current": {"text": kept, "value": kept},
        "hide": 2,
    }


def _row(row: Row, number: int, place: Place) -> Json:
    return {"id": number, "type": "row", "title": row.title, "collapsed": False, "panels": [], **_at(place)}


def _at(place: Place) -> Json:
    return {"gridPos": {"x": place.x, "y": place.y, "w": place.width, "h": place.height}}


def _panel(panel: Panel, number: int, place: Place) -> Json:
    told: Json = {
        "id": number,
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.description,
        **_at(place),
        "datasource": SOURCE,
        "targets": [
            _target(panel, query, ref) for query, ref in zip(panel.queries, ascii_uppercase, strict=False)
        ],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": _overrides(panel)},
        "options": _options(panel),
    }
    if panel.alert:
        address = f"${{runbook}}#alert-{panel.alert}"
        told["links"] = [{"title": "Runbook", "url": address, "targetBlank": True}]
    if panel.kind is Kind.TABLE:
        told["transformations"] = _as_one_table(panel)
    return told


def _target(panel: Panel, query: Query, ref: str) -> Json:
    at_once = panel.kind in (Kind.BAR_GAUGE, Kind.TABLE)
    shape = {Kind.TABLE: "table", Kind.HEATMAP: "heatmap"}.get(panel.kind, "time_series")
    return {
        "refId": ref,
        "expr": query.expr,
        "legendFormat": query.legend,
        "format": shape,
        "instant": at_once,
        "range": not at_once,
        "exemplar": query.exemplars,
        "editorMode": "code",
    }


def _defaults(panel: Panel) -> Json:
    steps: list[Json] = [{"color": panel.base, "value": None}]
    steps += [{"color": limit.colour, "value": limit.value} for limit in panel.thresholds]
    told: Json = {
        "unit": panel.unit.value,
        "thresholds": {"mode": "absolute", "steps": steps},
        "color": {"mode": "palette-classic" if panel.kind is Kind.TIMESERIES else "thresholds"},
        "custom": _custom(panel),
    }
    for name, value in (("min", panel.minimum), ("max", panel.maximum), ("decimals", panel.decimals)):
        if value is not None:
            told[name] = value
    if panel.states:
        told["mappings"] = [{"type": "value", "options": _states(panel)}]
    return told


def _states(panel: Panel) -> Json:
    return {
        str(value): {"text": word, "color": colour, "index": place}
        for place, (value, (word, colour)) in enumerate(panel.states.items())
    }


def _custom(panel: Panel) -> Json:
    """Of a kind's own settings those that are not Grafana's default."""
    if panel.kind is Kind.TIMELINE:
        return {"fillOpacity": 70, "lineWidth": 0}
    if panel.kind is Kind.TABLE:
        return {"align": "auto", "cellOptions": {"type": "color-text"}}
    if panel.kind is not Kind.TIMESERIES:
        return {}
    return {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 60 if panel.stacked else 8,
        "lineInterpolation": "stepAfter" if panel.steps else "linear",
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        "scaleDistribution": {"type": "log", "log": 10} if panel.logarithmic else {"type": "linear"},
        "thresholdsStyle": {"mode": "dashed" if panel.thresholds else "off"},
    }


def _overrides(panel: Panel) -> list[Json]:
    """Series and columns that have a colour or a unit of their own; a total is a line over the stack."""
    if panel.kind is Kind.TABLE:
        units = [query for query in panel.queries if query.unit is not None]
        return [_override(query.legend, {"unit": query.unit}) for query in units]
    told = [
        _override(name, {"color": {"mode": "fixed", "fixedColor": colour}})
        for name, colour in panel.colours.items()
    ]
    if panel.stacked:
        lines = [query.legend for query in panel.queries[1:]]
        unstacked = {"custom.stacking": {"mode": "none"}, "custom.fillOpacity": 0, "custom.lineWidth": 2}
        told += [_override(name, unstacked) for name in lines]
    return told


def _override(name: str, properties: Mapping[str, object]) -> Json:
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": key, "value": value} for key, value in properties.items()],
    }


def _options(panel: Panel) -> Json:
    last: Json = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    legend: Json = {"displayMode": "list", "placement": "bottom", "showLegend": True}
    match panel.kind:
        case Kind.TIMESERIES:
            return {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
        case Kind.STAT:
            return {"reduceOptions": last, "graphMode": "area", "colorMode": "value", "textMode": "value"}
        case Kind.BAR_GAUGE:
            return {
                "reduceOptions": last,
                "displayMode": "basic",
                "orientation": "horizontal",
                "showUnfilled": True,
            }
        case Kind.HEATMAP:
            return {
                "calculate": False,
                "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5},
                "exemplars": {"color": "rgba(255,255,255,0.7)"},
                "yAxis": {"unit": panel.unit.value, "axisPlacement": "left"},
                "rowsFrame": {"layout": "auto"},
                "cellGap": 1,
                "filterValues": {"le": 1e-9},
                "tooltip": {"mode": "single", "yHistogram": True},
                "legend": {"show": True},
            }
        case Kind.TABLE:
            return {"showHeader": True, "sortBy": [{"displayName": panel.sort_by, "desc": _falling(panel)}]}
        case Kind.TIMELINE:
            return {"showValue": "never", "mergeValues": True, "rowHeight": 0.8, "legend": legend}


def _falling(panel: Panel) -> bool:
    """Values: the largest first. Names: in the order of the alphabet."""
    return any(query.legend == panel.sort_by for query in panel.queries)


def _as_one_table(panel: Panel) -> list[Json]:
    """One line for each set of labels, one column for each query, without the time."""
    alone = len(panel.queries) == 1
    values = {
        "Value" if alone else f"Value #{ref}": query.legend
        for query, ref in zip(panel.queries, ascii_uppercase, strict=False)
    }
    order = {name: place for place, name in enumerate([*panel.columns, *values])}
    tidied = {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": values}
    return [{"id": "merge", "options": {}}, {"id": "organize", "options": tidied}]
