"""What is installed is what was locked, byte for byte, and what is known against it has been looked at."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from rich.console import Console

from deploy.advisories.__main__ import advisories, told
from deploy.advisories.__main__ import main as audit
from deploy.advisories.locked import Package, packages
from deploy.images import pinning
from services.speech import presets as speech
from services.vlm import presets as vlm

ROOT = Path(__file__).parents[2]
LOCKS = [
    path
    for path in (*(ROOT / "requirements").glob("*.txt"), *(ROOT / "requirements/images").glob("*.txt"))
    if path.name != "hashes.txt"
]
HASHED = ROOT / "requirements/hashed.py"
VLLM, PILLOW = Package("PyPI", "vllm", "0.10.2"), Package("PyPI", "pillow", "1.0")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_locked_package_is_installed_by_its_hash(lock: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(HASHED), str(lock)], capture_output=True, text=True, check=True
    )
    asked = [line for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    given = done.stdout.splitlines()
    assert [line.partition(" --hash=")[0] for line in given] == asked
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}(?: |$)", line) for line in given)


def test_a_package_without_a_hash_stops_the_install(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("stranger==1.0\n")
    command = [sys.executable, str(HASHED), str(tmp_path / "new.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "stranger==1.0 has no hash in requirements/hashes.txt: make lock writes it.\n"


def test_pip_refuses_a_file_that_is_not_the_locked_one(tmp_path: Path) -> None:
    wheel = tmp_path / "stranger-1.0-py3-none-any.whl"
    wheel.write_bytes(b"another")
    (tmp_path / "locked.txt").write_text(f"stranger==1.0 --hash=sha256:{'0' * 64}\n")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--isolated",
        "--no-index",
        "--find-links",
        str(tmp_path),
    ]
    command += ["--no-deps", "--require-hashes", "--target", str(tmp_path / "out"), "-r"]
    done = subprocess.run(
        [*command, str(tmp_path / "locked.txt")], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_nothing_is_installed_without_its_hash_but_torch() -> None:
    texts = {
        name: (ROOT / name).read_text()
        for name in ("Makefile", "deploy/images/cpu.Dockerfile", "deploy/images/cuda.Dockerfile")
    }
    reading = re.compile(r"(?:-r|--requirement) \S+")
    for name, text in texts.items():
        lines = re.sub(r"\\\n\s*", " ", text).splitlines()
        assert all("--require-hashes" in line for line in lines if reading.search(line)), name


def test_targets_that_are_made_at_once_do_not_share_the_list_of_what_they_install(tmp_path: Path) -> None:
    targets = [str(tmp_path / name) for name in (".measure", ".models")]
    command = ["make", "--dry-run", f"VENV={tmp_path}", f"PYTHON={sys.executable}", *targets]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    written = re.findall(r"requirements/hashed\.py .* > (\S+)", told)
    assert sorted(written) == [
        str(tmp_path / f".{name}.txt") for name in ("dev", "measure", "models", "pocket")
    ]
    assert re.findall(r"--require-hashes -r (\S+)", told) == written


def test_secrets_are_not_sent_to_who_builds_images() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"**/secrets", "**/.env", "**/*.key", "**/*.pem"} <= set(ignored)
    assert max(map(ignored.index, ("**/secrets", "**/.env"))) > ignored.index("!deploy")


def osv(known: Mapping[str, list[str]], aliases: Mapping[str, list[str]]) -> httpx.Client:
    """An OSV that knows these advisories, one a page; as documented at google.github.io/osv.dev."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/v1/vulns/"):
            name = request.url.path.rpartition("/")[2]
            return httpx.Response(200, json={"id": name, "aliases": aliases.get(name, [])})
        results: list[dict[str, Any]] = []
        for query in json.loads(request.content)["queries"]:
            ids, page = known.get(query["package"]["name"], []), int(query.get("page_token", 0))
            found: dict[str, Any] = {"vulns": [{"id": ids[page]}]} if ids else {}
            if page + 1 < len(ids):
                found["next_page_token"] = str(page + 1)
            results.append(found)
        return httpx.Response(200, json={"results": results})

    return httpx.Client(base_url="http://osv", transport=httpx.MockTransport(answer))


def test_advisories_are_found_by_all_of_their_names_and_on_every_page() -> None:
    with osv({"vllm": ["GHSA-1", "GHSA-2"]}, {"GHSA-1": ["CVE-1"]}) as http:
        found = advisories(http, [PILLOW, VLLM])
    assert found == {VLLM: [frozenset({"GHSA-1", "CVE-1"}), frozenset({"GHSA-2"})]}


@pytest.mark.parametrize(
    ("accepted", "to_do", "said"),
    [
        ({("vllm", "CVE-1"): "nobody reaches it"}, False, "nobody reaches it"),
        ({}, True, "nobody has looked at it"),
        ({("pillow", "CVE-1"): "another package's"}, True, "no longer applies to pillow"),
    ],
)
def test_an_advisory_is_accepted_for_its_package_and_while_it_applies(
    accepted: dict[tuple[str, str], str], to_do: bool, said: str
) -> None:
    console = Console(record=True, width=160)
    found = {VLLM: [frozenset({"GHSA-1", "CVE-1"})]}
    assert told(found, accepted, 1, console) is to_do
    assert said in console.export_text()


def test_an_audit_that_cannot_ask_says_so_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        audit(["--osv", "http://127.0.0.1:1"])
    assert exit.value.code == 2
    assert "nothing was checked" in capsys.readouterr().err


def test_what_is_audited_is_everything_that_is_locked() -> None:
    audited = {(each.ecosystem, each.name) for each in packages(ROOT)}
    pinned = re.findall(r"^([\w.-]+)==", "".join(lock.read_text() for lock in LOCKS), re.MULTILINE)
    assert {("PyPI", name) for name in pinned} <= audited
    assert {("PyPI", "torch"), ("npm", "@mentra/sdk"), ("Bitnami", "redis"), ("PyPI", "vllm")} <= audited


OTHERS = ("docker.io/", "ghcr.io/", "quay.io/")
PRESETS = """
import json
from services.speech import presets as speech
from services.vlm import presets as vlm
both = [*vlm.PRESETS.values(), *speech.PRESETS.values()]
print(json.dumps([[each.image for each in both], [each.version for each in vlm.PRESETS.values()]]))
"""
SKOPEO = """#!/bin/sh
[ "$1 $2" = "inspect --raw" ] && printf 'manifest of %s' "$3"
"""


@pytest.fixture
def skopeo(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that knows every image."""
    tool = tmp_path_factory.mktemp("bin") / "skopeo"
    tool.write_text(SKOPEO)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")


@pytest.mark.usefixtures("skopeo")
def test_presets_and_manifests_agree_when_they_are_pinned(tmp_path: Path) -> None:
    for folder in ("deploy", "k8s", "services"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "docker-compose.yml", tmp_path)
    list(pinning.pin(tmp_path))
    manifests = [tmp_path / "docker-compose.yml", *(tmp_path / "deploy/compose").glob("*.yml")]
    manifests += (tmp_path / "k8s").rglob("*.yaml")
    run = {word for path in manifests for word in path.read_text().split() if word.startswith(OTHERS)}
    assert run
    assert all("@sha256:" in image for image in run)
    told = subprocess.run(
        [sys.executable, "-c", PRESETS], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    images, versions = json.loads(told.stdout)
    of_preset = {image.partition("@")[0]: image for image in images}
    served = (*vlm.PRESETS.values(), *speech.PRESETS.values())
    assert set(of_preset) == {preset.image.partition("@")[0] for preset in served}
    assert versions == [preset.version for preset in vlm.PRESETS.values()]
    shared = [image for image in run if image.partition("@")[0] in of_preset]
    assert len(shared) >= 5
    assert all(image == of_preset[image.partition("@")[0]] for image in shared)


@pytest.mark.usefixtures("skopeo")
def test_other_peoples_images_are_pinned_by_the_digest_of_their_manifests(tmp_path: Path) -> None:
    (tmp_path / "k8s").mkdir()
    (tmp_path / "deploy/images").mkdir(parents=True)
    (tmp_path / "deploy/images/catalogue.py").write_text('BASE = "docker.io/library/python:3.11"\n')
    old = f"docker.io/library/redis:7.4.10-alpine@sha256:{'0' * 64}"
    compose = {"services": {"redis": {"image": old}, "ours": {"image": "localhost/loreglass/ocr:1"}}}
    (tmp_path / "docker-compose.yml").write_text(yaml.safe_dump(compose))
    pinned = list(pinning.pin(tmp_path))
    assert [reference.partition("@")[0] for reference in pinned] == [
        "docker.io/library/python:3.11",
        "docker.io/library/redis:7.4.10-alpine",
    ]
    services = yaml.safe_load((tmp_path / "docker-compose.yml").read_text())["services"]
    assert services["redis"]["image"] == pinned[1] != old
    assert services["ours"]["image"] == "localhost/loreglass/ocr:1"
    assert pinned[0] in runpy.run_path(str(tmp_path / "deploy/images/catalogue.py"))["BASE"]


def test_a_pin_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "deploy/images").mkdir(parents=True)
    (tmp_path / "deploy/images/catalogue.py").write_text("")
    text = "image: docker.io/library/redis:7.4.10-alpine\n"
    (tmp_path / "docker-compose.yml").write_text(text)
    with pytest.raises(pinning.CannotPin, match="skopeo"):
        list(pinning.pin(tmp_path))
    assert (tmp_path / "docker-compose.yml").read_text() == text
