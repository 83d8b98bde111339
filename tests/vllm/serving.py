"""Start a real vLLM on a free port and stop it."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.ports import free_ports
from services.vlm.launch import Placement, serve_arguments
from services.vlm.presets import Preset
from tests.vllm.environment import SITE, VllmEnvironment

_ROOT = Path(__file__).parents[2]
_UP_WITHIN_S = 420
_DOWN_WITHIN_S = 30
_LOOK_EVERY_S = 2.0
_FIRST_REPLY_S = 30.0  # it may build graphs
_PLAIN = ("--dtype", "float32", "--enforce-eager")
_CPU = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}


@dataclass(frozen=True, slots=True)
class Serving:
    """A running vLLM."""

    url: str
    model: str

    def metric(self, name: str) -> float:
        """The sum of a gauge or counter in its metrics."""
        lines = httpx.get(f"{self.url}/metrics").text.splitlines()
        return sum(
            float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name}{{", f"{name} "))
        )


@contextmanager
def serving_preset(
    environment: VllmEnvironment, preset: Preset, folder: Path, *, chats: bool = True
) -> Iterator[Serving]:
    """Serve a preset unchanged except for tiny weights on the CPU."""
    [port] = free_ports(1)
    extra = (*_PLAIN, "--max-model-len", "16384") if chats else _PLAIN
    arguments = serve_arguments(preset, Placement(port=port, weights=str(folder), extra=extra))
    started = Serving(f"http://127.0.0.1:{port}", preset.name)
    with _up(environment, arguments, started, _chats if chats else _healthy, dict(preset.environment)):
        yield started


@contextmanager
def serving(environment: VllmEnvironment, folder: Path, *flags: str) -> Iterator[Serving]:
    """Serve a model without a chat API, for example embeddings."""
    [port] = free_ports(1)
    arguments = [str(folder), "--served-model-name", folder.name, "--host", "127.0.0.1", "--port", str(port)]
    started = Serving(f"http://127.0.0.1:{port}", folder.name)
    with _up(environment, [*arguments, *_PLAIN, *flags], started, _healthy, {}):
        yield started


@contextmanager
def _up(
    environment: VllmEnvironment,
    arguments: Sequence[str],
    started: Serving,
    answers: Callable[[httpx.Client, str], bool],
    variables: dict[str, str],
) -> Iterator[None]:
    """Run a vLLM server in its own process group; yield once `answers` is true."""
    give_up = time.monotonic() + _UP_WITHIN_S
    with (environment.home / f"{started.model}.log").open("wb") as output:
        process = subprocess.Popen(
            [str(environment.command), "serve", *arguments],
            cwd=_ROOT,
            env=os.environ | _CPU | variables | {"PYTHONPATH": str(SITE)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        with httpx.Client(base_url=started.url, timeout=_FIRST_REPLY_S) as http:
            while not answers(http, started.model):
                assert process.poll() is None, f"vLLM ended with status {process.returncode}"
                assert time.monotonic() < give_up, f"vLLM does not answer; see {environment.home}"
                time.sleep(_LOOK_EVERY_S)
        yield
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The whole group: the engine outlives an API server that is killed alone."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            break
        try:
            process.wait(_DOWN_WITHIN_S)
        except subprocess.TimeoutExpired:
            continue


def _healthy(http: httpx.Client, _model: str) -> bool:
    try:
        return http.get("/health").is_success
    except httpx.HTTPError:
        return False


def _chats(http: httpx.Client, model: str) -> bool:
    """It takes connections long before its weights are loaded: ask for a token."""
    body = {"model": model, "messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 1}
    try:
        return _healthy(http, model) and http.post("/v1/chat/completions", json=body).is_success
    except httpx.HTTPError:
        return False
