"""Each image holds what its app needs, locked, and no more; and how its app starts and is checked."""

import os
import re
import runpy
import subprocess
import sys
from functools import cache
from http.server import BaseHTTPRequestHandler
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from deploy.inventory import APPS, App
from tests.deploy.compose_file import ROOT, SERVICES
from tests.loopback import loopback

IMAGES = ROOT / "deploy" / "images"
ENTRY = IMAGES / "app.py"
LOCKS = sorted((ROOT / "requirements/images").glob("*.txt"))
TESTED = ("pocket.txt", "dev.txt", "models.txt", "ray.txt")
MODULES = {app.host: app.module for app in APPS} | {
    "corpus": "clients",
    "corpus-ray": "clients",
    "weights": "deploy.weights",
}
each_image = pytest.mark.parametrize("lock", LOCKS, ids=lambda path: str(path.stem))


def pins(path: Path) -> dict[str, str]:
    """Name to version of a requirements file."""
    lines = (line.partition(";")[0].strip() for line in path.read_text().splitlines())
    return dict(line.split("==", 1) for line in lines if line)


@each_image
def test_an_image_installs_versions_that_are_tested_and_torch_apart(lock: Path) -> None:
    tested = [pins(ROOT / "requirements" / name) for name in TESTED]
    for name, version in pins(lock).items():
        assert version in {each.get(name) for each in tested}, name
        assert not re.fullmatch("torch|torchvision|triton|nvidia-.*|cuda-.*", name)


@each_image
def test_an_image_starts_with_only_its_own_code_and_packages(lock: Path, tmp_path: Path) -> None:
    done = run_alone(lock.stem, lock, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_package_that_is_not_locked_is_missing(tmp_path: Path) -> None:
    done = run_alone("verifier", ROOT / "requirements/images/ocr.txt", tmp_path)
    assert "is not in this image" in done.stderr


def run_alone(image: str, lock: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Start the app of an image in a Python that sees the image's code and packages, and nothing else."""
    subprocess.run(["sh", IMAGES / "code.sh", image, ROOT, folder / "app"], check=True)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    name = image.removesuffix("-cuda")
    how = "imported" if image != name else "started" if name in {app.host for app in APPS} else "tool"
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment[f"LOREGLASS_{name.upper().replace('-', '_')}_DATA_DIR"] = str(folder / "data")
    script = Path(__file__).with_name("starting_alone.py")
    hidden = ",".join(name for name, owners in installed().items() if not owners & {*pins(lock), "loreglass"})
    command = [sys.executable, "-I", "-S", script, folder / "app", packages, hidden, MODULES[name], how]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@cache
def installed() -> dict[str, set[str]]:
    """Each importable package, with the distributions that it is from, as a lock writes their names."""
    return {
        top: {re.sub(r"[_.]", "-", name.lower()) for name in names}
        for top, names in packages_distributions().items()
    }


def test_new_volumes_belong_to_the_writing_user() -> None:
    """Docker gives it the owner of the folder that it covers, and root where the image has no such folder."""
    (made,) = re.findall(
        r"install --directory --owner 10001 --group 10001 (.*)", (IMAGES / "Dockerfile").read_text()
    )
    ours = [service for service in SERVICES.values() if service["image"].startswith("localhost/loreglass")]
    mounts = [mount for service in ours for mount in service.get("volumes", []) if not mount.startswith(".")]
    assert {mount.split(":")[1] for mount in mounts} == set(made.split())


def health_check(port: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.defpath, "LOREGLASS_APP": "ocr", "LOREGLASS_OCR_PORT": port}
    command = [sys.executable, "-I", "-S", ENTRY, "ready"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("app", APPS, ids=lambda app: str(app.host))
def test_an_image_starts_its_app_on_every_address(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    assert became(app.host, [], monkeypatch) == ["-m", app.module]
    assert os.environ[f"{app.prefix}HOST"] == "0.0.0.0"
    assert runpy.run_path(str(ENTRY))["PORTS"][app.host] == app.port


def test_image_passes_arguments_to_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    assert became("weights", ["--list"], monkeypatch) == ["-m", "deploy.weights", "--list"]
    assert became("reranker-cuda", [], monkeypatch) == ["-m", "services.reranker"]


def became(image: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command that replaces the process."""
    seen: list[list[str]] = []
    monkeypatch.setattr(os, "environ", {"LOREGLASS_APP": image})
    monkeypatch.setattr(os, "execv", lambda program, words: seen.append(words))
    runpy.run_path(str(ENTRY))["main"](words)
    return seen[0][1:]


@pytest.mark.parametrize(("reply", "code"), [(b"HTTP/1.1 200 OK", 0), (b"HTTP/1.1 503 Busy", 1), (b"", 1)])
def test_health_check_reports_readiness(reply: bytes, code: int) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(reply and reply + b"\r\n\r\n")

    with loopback(Handler) as url:
        results = [health_check(url.rpartition(":")[2])]
    results += [health_check("1")] if code else []  # no server listens on port 1
    for result in results:
        assert (result.returncode, bool(result.stderr)) == (code, bool(code))
        assert "Traceback" not in result.stderr
