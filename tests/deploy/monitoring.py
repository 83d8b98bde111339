"""A real Prometheus before live apps: the pocket platform, and a gateway on the stand-in fleet of an L40S."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import httpx

from bench.fleet import Mode
from bench.on_fleet import Platform, platform
from bench.ports import free_ports
from capacity.standins import Calibration
from deploy.inventory import APPS, VLM_HOST
from tests.journey.deployments import ROOT, OverHttp

BINARY = "prometheus"
_UP_S = 60.0
_GATEWAY = "LOREGLASS_GATEWAY_"
_PLAN = ROOT / "deploy" / "placement" / "l40s" / "gateway.env"
_RULES = ROOT / "deploy" / "prometheus" / "rules"
HELD = {
    "cropper": 0.83,
    "image_search": 0.94,
    "text_search": 0.88,
    "reranker": 0.97,
    "domain_router": 0.9,
    "reader": 0.7,
}
"""How much of its planned memory each service on the card says that it has held."""

Targets = Mapping[str, Mapping[str, str]]
"""Addresses (host:port) by job and by the name that the instance has in series."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Two platforms, and the Prometheus that scrapes every app of them."""

    prometheus: str
    pocket: OverHttp
    l40s: Platform
    scrape_s: float

    def value(self, expr: str) -> list[float]:
        """What an expression is now, a value for each series. Raises `ValueError` where it is none."""
        reply = httpx.post(f"{self.prometheus}/api/v1/query", data={"query": expr}, timeout=30)
        if reply.status_code == httpx.codes.BAD_REQUEST:
            raise ValueError(f"{reply.json()['error']}: {expr}")
        return [float(series["value"][1]) for series in reply.raise_for_status().json()["data"]["result"]]

    def until(self, expr: str, most_s: float = _UP_S) -> None:
        """Return once the expression has a value above 0. Raises `TimeoutError`."""
        pause, end = Event(), time.monotonic() + most_s
        while time.monotonic() < end:
            if any(value > 0 for value in self.value(expr)):
                return
            pause.wait(0.1)
        raise TimeoutError(f"Never above 0: {expr}")


@contextmanager
def watched(pocket: OverHttp, folder: Path, scrape_s: float, *, rules: bool = False) -> Iterator[Watched]:
    """`pocket` must be up already; the fleet, its gateway and Prometheus are started and ended here.

    `rules`: with those of deploy/prometheus, which cost as much as the rest.
    """
    with ExitStack() as stack:
        l40s = stack.enter_context(
            platform(settings=l40s_settings(), calibration=calibration(), apart=("ocr", "reranker"))
        )
        for service in HELD:
            hold_memory(l40s, service)
        url = stack.enter_context(prometheus(_targets(pocket, l40s), folder, scrape_s, rules=rules))
        yield Watched(url, pocket, l40s, scrape_s)


@contextmanager
def prometheus(targets: Targets, folder: Path, scrape_s: float, *, rules: bool) -> Iterator[str]:
    """A server of its own with its data in `folder`; ready when it yields its address."""
    (port,) = free_ports(1)
    (folder / "prometheus.yml").write_text(json.dumps(_config(targets, scrape_s, rules)))
    command = [
        str(shutil.which(BINARY)),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--enable-feature=exemplar-storage",
        "--log.level=warn",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            until_ready(f"http://127.0.0.1:{port}", process, folder / "prometheus.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def calibration() -> Calibration:
    """The L40S of `deploy/placement`: its sequences and shares."""
    return replace(Calibration.l40s(), sequences=_plan()["vlm_sequences"], memory_mib=_planned_mib())


def hold_memory(l40s: Platform, service: str) -> None:
    """End the service's fault, if it has one; from now on it says that it has held its part of the plan."""
    held = round(_planned_mib()[service] * HELD[service])
    l40s.fleet.switch(service, Mode.MEMORY, memory_mib=held)


def _plan() -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(l40s_settings()["placement"])
    return plan


def _planned_mib() -> dict[str, int]:
    return {name: share["memory_mib"] for name, share in _plan()["services"].items()}


def l40s_settings() -> dict[str, str]:
    """The gateway's settings of the placement, but for the model's name."""
    lines = [line for line in _PLAN.read_text().splitlines() if line.startswith(_GATEWAY)]
    told = dict(line.removeprefix(_GATEWAY).split("=", 1) for line in lines)
    return {name.lower(): value for name, value in told.items() if name != "VLM_MODEL"}


def _targets(pocket: OverHttp, l40s: Platform) -> Targets:
    """Instances are named as they would be in a cluster, so that pictures and tests can tell them apart."""
    urls = {"gateway": pocket.gateway_url, **pocket.service_urls}
    told = {app.host: {"pocket": _address(urls[app.name])} for app in APPS}
    for app in APPS:
        if app.name in l40s.fleet.urls:
            told[app.host]["l40s"] = _address(l40s.fleet.urls[app.name])
    told["gateway"] = {"pocket": _address(pocket.gateway_url), "l40s": _address(l40s.gateway.url)}
    told[VLM_HOST] = {"l40s": _address(l40s.fleet.urls["vlm"])}
    return told


def _config(targets: Targets, scrape_s: float, rules: bool) -> dict[str, object]:
    """YAML takes JSON."""
    # The stand-ins share a process, which is no measure of a service's.
    not_theirs = {"source_labels": ["instance", "__name__"], "regex": "l40s;process_.*", "action": "drop"}
    jobs = [
        {
            "job_name": job,
            "metric_relabel_configs": [] if job == "gateway" else [not_theirs],
            "static_configs": [
                {"targets": [address], "labels": {"instance": name}} for name, address in instances.items()
            ],
        }
        for job, instances in targets.items()
    ]
    every = f"{scrape_s:g}s"
    return {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": "5s"},
        "rule_files": [str(_RULES / "*.yml")] if rules else [],
        "scrape_configs": jobs,
    }


def _address(url: str) -> str:
    return url.removeprefix("http://")


def until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once a Prometheus or an Alertmanager answers. Raises `RuntimeError` with its log's end."""
    pause, end = Event(), time.monotonic() + _UP_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{url}/-/ready", timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        pause.wait(0.05)
    raise RuntimeError(f"It did not start:\n{log.read_text()[-2000:]}")
