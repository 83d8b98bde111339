"""Benchmark: the gateway's cost beside other gateways, which make the same calls."""

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

from bench.benchmark import About, Bench, Benchmark, Table, cores, number
from bench.generator import Body, multipart, photo
from bench.overhead import KINDS, QUESTION, Cells, Subject, compare, gateway, table
from bench.processes import NODE, serving
from bench.settings import ROOT

APPS = ROOT / "bench" / "peer_apps"
ENVIRONMENTS = ROOT / "build" / "peers"
OPEA, HAYSTACK = "OPEA", "Haystack with Hayhooks"
OURS = "gateway"
ABOUT = About(
    "peers",
    "Overhead beside other gateways",
    "The gateway with the instant reasoner, OPEA's mega-service and a Haystack pipeline behind Hayhooks make"
    " the same calls to instant services: OCR beside image search, then the domain router. Each peer is"
    " written as its own documentation does it (`bench/peer_apps`) and has the versions, event loop, HTTP"
    " parser and access log of its installation. A follow-up is about the"
    " photo that came last. An upload brings one of 1280 x 960: in a form, but for OPEA, which wants base64"
    " in a chat request. The peers pass the photo on as it is, the gateway cleans it first; they keep no"
    " sessions, deadlines, quotas or breakers, and check no answer.",
    "less CPU for a follow-up than OPEA and Haystack.",
)


def environment(name: str) -> Path:
    """Return the folder for the packages of `peer_apps/<name>.txt`; another list has another folder."""
    requirements = (APPS / f"{name}.txt").read_bytes()
    return ENVIRONMENTS / f"{name}-{hashlib.sha256(requirements).hexdigest()[:12]}"


def is_installed(name: str) -> bool:
    """Return whether it has been installed to the end."""
    return (environment(name) / "complete").exists()


def install(name: str) -> Path:
    """Return its environment, made the first time. Exits with what to do if that fails."""
    folder = environment(name)
    if is_installed(name):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    requirements = APPS / f"{name}.txt"
    commands = (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "pip"), "install", "--quiet", "--requirement", str(requirements)],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
            sys.exit(
                f"{requirements.relative_to(ROOT)} could not be installed: {reason}\nIt needs a package"
                " index: run this where PyPI can be reached, or name a mirror of it in PIP_INDEX_URL."
            )
    (folder / "complete").touch()
    return folder


@contextmanager
def peer(name: str, services_url: str, cpus: Sequence[int] = ()) -> Iterator[Subject]:
    """Run `OPEA` or `HAYSTACK`, installed if it is not yet."""
    settings = {"PEER_SERVICES_URL": services_url, "PEER_PORT": "{port}", "NO_PROXY": "127.0.0.1"}
    command: tuple[str, ...]
    if name == OPEA:
        command = (str(install("opea") / "bin" / "python"), "-m", "bench.peer_apps.opea_app")
        path, ready = "/v1/visualqna", "/health"
    else:
        command = (str(install("haystack") / "bin" / "hayhooks"), "run", "--host", "127.0.0.1")
        command += ("--port", "{port}", "--pipelines-dir", str(APPS / "hayhooks"))
        settings["HAYSTACK_TELEMETRY_ENABLED"] = "False"
        path, ready = "/answer/run", "/status"
    with serving(*command, settings=settings, cpus=cpus, ready=ready) as server:
        yield Subject(name, server, server.url + path, _bodies(name))


def _bodies(name: str) -> Mapping[str, Body]:
    """Return a follow-up and an upload in the peer's format."""
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
    """Measure all of them beside the gateway."""
    for name in ("opea", "haystack"):
        bench.progress(0, f"installing {name}")
        install(name)
    measured, others = cores()
    with ExitStack() as stack:
        services = stack.enter_context(serving(*NODE, cpus=others))
        ours = stack.enter_context(gateway(OURS, services.url, measured, "--instant-reasoner"))
        peers = [stack.enter_context(peer(name, services.url, measured)) for name in (OPEA, HAYSTACK)]
        for each in peers:
            ask(each.url, each.bodies["upload"])
        cells = await compare(bench, [ours, *peers])
    return [table(cells, kind, OURS, _finding(cells, kind)) for kind in KINDS]


def ask(url: str, body: Body) -> str:
    """Return the reply's text. Raises `httpx.HTTPStatusError`."""
    reply = httpx.post(url, content=body.content, headers={"Content-Type": body.content_type}, timeout=60)
    return reply.raise_for_status().text


def _finding(cells: Cells, kind: str) -> str:
    better = min((OPEA, HAYSTACK), key=lambda name: cells[kind, name].cpu_ms)
    ratio = cells[kind, OURS].cpu_ms / cells[kind, better].cpu_ms
    finding = f"The gateway to {better}: {number(ratio, 2)}."
    if kind == KINDS[0]:
        finding += f" The goal is {'met' if ratio < 1 else 'missed'}."
    return finding


BENCHMARK = Benchmark(ABOUT, run, only_if_named="it installs other projects")
