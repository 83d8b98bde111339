"""Benchmark: what the gateway costs beside the gateways of others, which make the same calls."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from bench.benchmark import Bench, Benchmark, cores
from bench.figures import Table, number, percentile
from bench.generator import Body
from bench.overhead import (
    QUESTION,
    UNLIMITED,
    Cell,
    Subject,
    bodies,
    gateway_environment,
    measure,
)
from bench.photo import multipart, photo
from bench.ports import free_ports
from bench.processes import Running, running, until_ready
from bench.report import About
from bench.settings import ROOT

APPS = ROOT / "bench" / "peer_apps"
ENVIRONMENTS = ROOT / "build" / "peers"
FASTAPI, OPEA, HAYSTACK = "FastAPI with aiohttp", "OPEA", "Haystack with Hayhooks"
OURS = "gateway"
ABOUT = About(
    "peers",
    "Overhead beside other gateways",
    "The gateway with the instant reasoner, a page of FastAPI with aiohttp, OPEA's mega-service and a"
    " Haystack pipeline behind Hayhooks make the same calls to instant services: OCR beside image search,"
    " then the domain router. Each peer is written as its own documentation does it (`bench/peer_apps`) and"
    " has the versions, event loop, HTTP parser and access log of its installation. A follow-up is about the"
    " photo that came last. An upload brings one of 1280 x 960: in a form, but for OPEA, which wants base64"
    " in a chat request. The peers pass the photo on as it is, the gateway cleans it first; they keep no"
    " sessions, deadlines, quotas or breakers, and check no answer.",
    "less CPU for a follow-up than OPEA and Haystack.",
)
KINDS = ("follow-up", "upload")
HEADERS = (
    "p50 ms at 25/s",
    "p50 ms, 1 caller",
    "p50 ms, 16 callers",
    "CPU ms a request",
    "req/s a core",
    "gateway's CPU to it",
)


def environment(name: str) -> Path:
    """Where the peer of `peer_apps/<name>.txt` is installed; another list is another folder."""
    wanted = (APPS / f"{name}.txt").read_bytes()
    return ENVIRONMENTS / f"{name}-{hashlib.sha256(wanted).hexdigest()[:12]}"


def installed(name: str) -> bool:
    """Whether it has been installed to the end."""
    return (environment(name) / "complete").exists()


def install(name: str) -> Path:
    """Its environment, made the first time. Exits with what to do."""
    folder = environment(name)
    if installed(name):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    wanted = APPS / f"{name}.txt"
    commands = (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "pip"), "install", "--quiet", "--requirement", str(wanted)],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
            sys.exit(
                f"{wanted.relative_to(ROOT)} could not be installed: {said}\nIt wants a package index:"
                " run this where PyPI can be reached, or name a mirror of it in PIP_INDEX_URL."
            )
    (folder / "complete").touch()
    return folder


@contextmanager
def peer(name: str, services_url: str, cpus: Sequence[int] = ()) -> Iterator[Subject]:
    """One of `FASTAPI`, `OPEA` and `HAYSTACK`, ready, until the context ends."""
    [port] = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    settings = {"PEER_SERVICES_URL": services_url, "PEER_PORT": str(port), "NO_PROXY": "127.0.0.1"}
    arguments: tuple[str, ...] = ()
    by = [sys.executable, "-m"]
    if name == FASTAPI:
        module, path, health = "bench.peer_apps.fastapi_app", "/answer", "/health"
    elif name == OPEA:
        by = [str(install("opea") / "bin" / "python"), "-m"]
        module, path, health = "bench.peer_apps.opea_app", "/v1/visualqna", "/health"
    else:
        by, module = [], str(install("haystack") / "bin" / "hayhooks")
        settings["HAYSTACK_TELEMETRY_ENABLED"] = "False"
        arguments = ("run", "--host", "127.0.0.1", "--port", str(port))
        arguments += ("--pipelines-dir", str(APPS / "hayhooks"))
        path, health = "/answer/run", "/status"
    with running(module, *arguments, settings=settings, cpus=cpus, speaks=False, by=by) as server:
        until_ready(url, server.process, path=health)
        yield Subject(name, server, url + path)


def peer_bodies(name: str) -> Mapping[str, Body]:
    """A follow-up and an upload as the peer takes them."""
    if name != OPEA:
        part = "files" if name == HAYSTACK else "image"
        return {
            "follow-up": multipart({"question": QUESTION}),
            "upload": multipart({"question": QUESTION}, photo(), part),
        }
    words = {"type": "text", "text": QUESTION}
    picture = {"type": "image_url", "image_url": {"url": base64.b64encode(photo()).decode()}}
    return {"follow-up": _chat([words]), "upload": _chat([words, picture])}


def _chat(content: list[object]) -> Body:
    return Body(json.dumps({"messages": [{"role": "user", "content": content}]}).encode(), "application/json")


async def run(bench: Bench) -> Sequence[Table]:
    """Interleaved rounds over all of them and both kinds of request."""
    for name in ("opea", "haystack"):
        bench.progress(0, f"installing {name}")
        install(name)
    measured, others = cores()
    cells: dict[tuple[str, str], Cell] = {}
    with ExitStack() as stack:
        services = stack.enter_context(running("bench.node", cpus=others))
        ours = stack.enter_context(_gateway(services, measured))
        peers = [
            stack.enter_context(peer(name, services.url, measured)) for name in (FASTAPI, OPEA, HAYSTACK)
        ]
        asked = {ours.name: bodies(ours.url)} | {each.name: peer_bodies(each.name) for each in peers}
        for each in peers:
            ask(each.url, asked[each.name]["upload"])
        rounds = bench.count(3, least=1)
        for turn in range(rounds + 1):  # the first one warms up
            for subject in (*peers, ours):
                bench.progress(turn / (rounds + 1), subject.name)
                for kind, body in asked[subject.name].items():
                    cell = cells.setdefault((kind, subject.name), Cell()) if turn else Cell()
                    await measure(bench, subject, body, cell)
    return [_table(cells, kind) for kind in KINDS]


@contextmanager
def _gateway(services: Running, cpus: Sequence[int]) -> Iterator[Subject]:
    settings = gateway_environment(services.url) | UNLIMITED
    with running("bench.gateway", "--instant-reasoner", settings=settings, cpus=cpus) as server:
        until_ready(server.url)
        yield Subject(OURS, server, f"{server.url}/answer")


def ask(url: str, body: Body) -> str:
    """The reply's text. Raises `httpx.HTTPStatusError`."""
    reply = httpx.post(url, content=body.content, headers={"Content-Type": body.content_type}, timeout=60)
    return reply.raise_for_status().text


def _table(cells: Mapping[tuple[str, str], Cell], kind: str) -> Table:
    ours = cells[kind, OURS]
    rows = []
    for name in (OURS, FASTAPI, OPEA, HAYSTACK):
        cell = cells[kind, name]
        if failed := sum(each.reply.status != 200 for each in (*cell.alone, *cell.crowded, *cell.paced)):
            raise RuntimeError(f"{name} did not answer {failed} of its requests.")
        p50 = (percentile([each.ms for each in some], 0.5) for some in (cell.paced, cell.alone, cell.crowded))
        figures = (*(number(each, 2) for each in p50), number(cell.cpu_ms, 2), number(cell.rate, 0))
        rows.append((name, *figures, number(ours.cpu_ms / cell.cpu_ms, 2)))
    better = min((OPEA, HAYSTACK), key=lambda name: cells[kind, name].cpu_ms)
    ratio = ours.cpu_ms / cells[kind, better].cpu_ms
    finding = f"The gateway to {better}: {number(ratio, 2)}."
    if kind == KINDS[0]:
        finding += f" The goal is {'met' if ratio < 1 else 'missed'}."
    return Table((kind, *HEADERS), tuple(rows), finding)


BENCHMARK = Benchmark(ABOUT, run, only_if_named="it installs other projects")
