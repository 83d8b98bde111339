"""What Prometheus answers, as named series."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any, Self

import httpx
import numpy as np
from numpy.typing import NDArray

from deploy.grafana.panels import Query

Floats = NDArray[np.float64]
_POINTS = 240
_TIMEOUT_S = 30.0
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class View:
    """Which Prometheus, which span of time and what the variables stand for (regexes).

    `minutes` up to `until` (Unix time; 0: now). `scrape_s`: how often Prometheus asks.
    """

    url: str
    minutes: float = 60
    until: float = 0
    variables: Mapping[str, str] = field(default_factory=dict)
    scrape_s: float = 15

    def settled(self) -> "View":
        """With its end fixed, so that all panels show the same time."""
        return View(self.url, self.minutes, self.until or time.time(), self.variables, self.scrape_s)

    @property
    def start(self) -> float:
        """Unix time of the left edge."""
        return self.until - self.minutes * 60

    def promql(self, expr: str) -> str:
        """The expression with Grafana's and the dashboard's variables put in."""
        told = expr.replace("$__rate_interval", f"{max(1, round(4 * self.scrape_s))}s")
        told = told.replace("$__range", f"{max(1, round(60 * self.minutes))}s")
        return re.sub(r"\$([a-z]+)", lambda found: self.variables.get(found[1], ".*"), told)


@dataclass(frozen=True, slots=True)
class Series:
    """`times` (Unix seconds) and `values`, both (n,); nan where there was no sample."""

    name: str
    labels: Mapping[str, str]
    times: Floats
    values: Floats

    @property
    def last(self) -> float:
        """The newest value; nan where there is none."""
        known = self.values[~np.isnan(self.values)]
        return float(known[-1]) if known.size else float("nan")


class Prometheus:
    """Asks one Prometheus for what a view shows. Raises `httpx.HTTPError` where it refuses or is away."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._http = httpx.Client(base_url=view.url, timeout=_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def over_time(self, query: Query) -> list[Series]:
        """The query along the whole span, `_POINTS` points."""
        view = self.view
        step = max(view.scrape_s, view.minutes * 60 / _POINTS)
        found = self._ask(
            "query_range", query=view.promql(query.expr), start=view.start, end=view.until, step=step
        )
        grid = np.arange(view.start, view.until + step / 2, step)
        return [
            Series(
                name_of(query.legend, each["metric"]),
                each["metric"],
                grid,
                _on_grid(grid, each["values"], step),
            )
            for each in found["result"]
        ]

    def at_once(self, query: Query) -> list[Series]:
        """The query at the end of the span: one value each."""
        view = self.view
        found = self._ask("query", query=view.promql(query.expr), time=view.until)
        return list(
            starmap(_one, ((query.legend, each["metric"], each["value"]) for each in found["result"]))
        )

    def exemplars(self, query: Query) -> list[tuple[float, float, str]]:
        """Time, value and trace id of single observations in the span."""
        view = self.view
        found = self._ask("query_exemplars", query=view.promql(query.expr), start=view.start, end=view.until)
        return [
            (float(each["timestamp"]), float(each["value"]), str(each["labels"].get("trace_id", "")))
            for series in found
            for each in series["exemplars"]
        ]

    def _ask(self, what: str, **parameters: object) -> Any:
        reply = self._http.post(f"/api/v1/{what}", data={k: str(v) for k, v in parameters.items()})
        if reply.status_code == httpx.codes.BAD_REQUEST:
            raise ValueError(f"{reply.json().get('error')}: {parameters['query']}")
        return reply.raise_for_status().json()["data"]


def name_of(legend: str, labels: Mapping[str, str]) -> str:
    """The legend with the series' labels put in."""
    return _PLACEHOLDER.sub(lambda found: labels.get(found[1], ""), legend).strip() or "value"


def _one(legend: str, labels: Mapping[str, str], sample: Sequence[Any]) -> Series:
    at, value = np.array([float(sample[0])]), np.array([float(sample[1])])
    return Series(name_of(legend, labels), labels, at, value)


def _on_grid(grid: Floats, samples: Sequence[Sequence[Any]], step: float) -> Floats:
    """Samples at their places; Prometheus leaves out those that it does not have."""
    values = np.full(grid.shape, np.nan)
    for at, value in samples:
        place = round((float(at) - grid[0]) / step)
        if 0 <= place < values.size:
            values[place] = float(value)
    return values
