"""Each image holds what its app needs, locked, and no more; Dockerfiles and the command that builds them."""

import re
import shutil
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.images import health, locking
from deploy.images.__main__ import main as images_command
from deploy.images.building import Builder, CannotBuild, labels
from deploy.images.catalogue import BASE, IMAGES, REGISTRY, REQUIREMENTS, ROOT, Image
from deploy.images.pip_settings import PipSettings, parsed
from deploy.inventory import APPS
from tests.deploy.compose_file import SERVICES
from tests.deploy.starting_alone import plain

CPU = [image for image in IMAGES if not image.cuda]
CUDA = [image for image in IMAGES if image.cuda]
BY_NAME = {image.name: image for image in IMAGES}
DOCKERFILES = ("cpu.Dockerfile", "cuda.Dockerfile")
SCRIPT = Path(__file__).with_name("starting_alone.py")
LOCKS = ("pocket.txt", "dev.txt", "models.txt", "ray.txt")


def pins(path: Path) -> dict[str, str]:
    """Name to version of a requirements file."""
    lines = (line.partition(";")[0].strip() for line in path.read_text().splitlines())
    return dict(line.split("==", 1) for line in lines if line)


def dockerfile(name: str) -> str:
    return (ROOT / "deploy/images" / name).read_text()


def test_every_app_has_an_image_and_one_more_where_its_engine_needs_a_gpu() -> None:
    assert {image.host for image in CPU} == {app.host for app in APPS} | {"corpus", "corpus-ray", "weights"}
    assert {image.host for image in CUDA} == {app.host for app in APPS if app.cuda_group}
    assert {path.stem for path in REQUIREMENTS.glob("*.txt")} == set(BY_NAME)


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_an_image_installs_the_versions_that_are_tested(image: Image) -> None:
    tested = {
        name: {pins(ROOT / "requirements" / lock).get(name) for lock in LOCKS}
        for name in pins(image.requirements)
    }
    for name, version in pins(image.requirements).items():
        assert version in tested[name], name


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_torch_is_in_no_lock_of_an_image(image: Image) -> None:
    kinds = re.compile("torch|torchvision|triton|nvidia-.*|cuda-.*")
    assert not [name for name in pins(image.requirements) if kinds.fullmatch(name)]


@pytest.mark.parametrize(
    ("name", "locked"),
    [("ocr", "numpy==2.4.0\nnvidia-cublas-cu12==12.8\ntorch==2.9.0\n"), ("cropper-cuda", "numpy==2.4.0\n")],
)
def test_what_comes_with_torch_is_left_out_where_torch_is_installed_apart(
    name: str, locked: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    resolved = "numpy==2.4.0\nnvidia-cublas-cu12==12.8\ntorch==2.9.0\n"
    monkeypatch.setattr(locking, "resolved", lambda _: resolved)
    monkeypatch.setattr("deploy.images.catalogue.REQUIREMENTS", tmp_path)
    locking.lock([BY_NAME[name]])
    assert (tmp_path / f"{name}.txt").read_text() == locked


def test_the_groups_of_the_images_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {group for image in IMAGES for group in image.groups} <= set(project["optional-dependencies"])
    (torch,) = [pin for pin in project["optional-dependencies"]["torch"] if pin.startswith("torch==")]
    assert f"ARG TORCH={torch}\n" in dockerfile("cuda.Dockerfile")


def test_what_is_installed_beside_torch_is_the_version_that_is_tested() -> None:
    (torchvision,) = {image.torch_beside for image in CUDA} - {""}
    assert torchvision in (ROOT / "requirements/models.txt").read_text().splitlines()


def with_only_its_own(image: Image, folder: Path, run: str) -> subprocess.CompletedProcess[str]:
    """The image's module in a Python that sees the image's code and packages, and nothing else."""
    code = folder / "app"
    for name in image.code:
        source = ROOT / "proto/contracts" if name == "contracts" else ROOT / name
        target = code / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    allowed = ",".join(plain(name) for name in pins(image.requirements))
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if image.target == "keeper":
        environment[f"{image.prefix}DATA_DIR"] = str(folder / "data")
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), str(code), packages, allowed, image.module, run],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("image", CPU, ids=lambda image: image.name)
def test_a_cpu_image_starts_with_its_own_code_and_packages_alone(image: Image, tmp_path: Path) -> None:
    done = with_only_its_own(image, tmp_path, "tool" if image.target == "tool" else "started")
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("image", CUDA, ids=lambda image: image.name)
def test_a_cuda_image_loads_its_app_with_its_own_code_and_packages_alone(
    image: Image, tmp_path: Path
) -> None:
    done = with_only_its_own(image, tmp_path, "imported")
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_package_that_is_not_locked_is_not_seen(tmp_path: Path) -> None:
    mixed = replace(BY_NAME["ocr"], host="verifier")  # one's code, another's packages
    done = with_only_its_own(mixed, tmp_path, "started")
    assert "is not in this image" in done.stderr


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_new_volume_belongs_to_the_user_who_writes_to_it(name: str) -> None:
    """Docker gives it the owner of the folder that it covers, and root where the image has no such folder."""
    (made,) = re.findall(r"install --directory --owner 10001 --group 10001 (.*)", dockerfile(name))
    ours = [service for service in SERVICES.values() if service["image"].startswith(REGISTRY)]
    mounts = [mount for service in ours for mount in service.get("volumes", []) if not mount.startswith(".")]
    assert {mount.split(":")[1] for mount in mounts} == set(made.split())


@pytest.mark.parametrize("name", DOCKERFILES)
def test_the_last_stages_run_as_nobody_in_particular_with_a_health_check(name: str) -> None:
    text = dockerfile(name)
    assert f"ARG BASE={BASE}" in text
    assert re.search(r":\d[\w.-]+(@sha256:[0-9a-f]{64})?$", BASE), "pinned by a tag"
    last = text[text.index("AS runtime") :]
    assert "\nUSER 10001:10001\n" in last
    assert "\nHEALTHCHECK " in last
    assert "pip install" not in last
    assert "apt-get" not in last


def test_both_dockerfiles_share_the_stage_of_the_projects_code() -> None:
    code, app = (
        {re.split(r"\n(?=# |FROM )", text[text.index(start) :])[0] for text in map(dockerfile, DOCKERFILES)}
        for start in ("AS code", "FROM runtime AS app")
    )
    assert len(code) == 1
    assert len({re.sub("--start-period=[0-9]+s", "", text) for text in app}) == 1


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_the_build_has_what_an_image_copies(image: Image) -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = re.findall(r"^COPY (?!--from)(\S+)", image.dockerfile.read_text(), re.MULTILINE)
    sources = [source.replace("${REQUIREMENTS}", image.requirements.name) for source in copied]
    for source in sources:
        assert (ROOT / source).exists()
        assert any(source == name or source.startswith(f"{name}/") for name in allowed), source
    places = {source.removeprefix("proto/").partition("/")[0] for source in sources}
    assert {name.partition("/")[0] for name in image.code} <= places


def test_a_build_is_told_everything_by_arguments_and_keeps_its_health_check() -> None:
    command = Builder("podman", "base:1", "--index-url https://example.org").command(
        BY_NAME["text-search-cuda"]
    )
    assert "--format=docker" in command
    assert "--target=keeper" in command
    assert "--build-arg=PREFIX=LOREGLASS_TEXT_SEARCH_" in command
    assert "--build-arg=TORCH_FROM=--index-url https://example.org" in command
    declared = set(re.findall(r"^ARG (\w+)", dockerfile("cuda.Dockerfile"), re.MULTILINE))
    assert {part.split("=")[1] for part in command if part.startswith("--build-arg")} <= declared
    assert labels(BY_NAME["ocr"], BASE)["version"] == BY_NAME["ocr"].arguments["VERSION"]


def test_where_nothing_can_build_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="install podman or docker"):
        images_command(["build", "--only", "ocr"])
    assert "revision" not in labels(BY_NAME["ocr"], BASE)


def test_packages_from_a_folder_are_not_promised_to_docker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = PipSettings("[global]\n", None, (tmp_path,))
    monkeypatch.setattr("deploy.images.building.pip_settings", lambda: folder)
    with pytest.raises(CannotBuild, match="only podman can show"):
        Builder("docker").build([BY_NAME["ocr"]])


def test_pips_settings_travel_whole_and_the_environment_wins(tmp_path: Path) -> None:
    (tmp_path / "simple").mkdir()
    (tmp_path / "wheels").mkdir()
    lines = [
        f":env:.find-links='{tmp_path}/wheels'",
        "global.index-url='https://who:secret@example.org/simple'",
        f"global.extra-index-url='file://{tmp_path}/simple'",
        "global.find-links='/nowhere'",
        "global.cert='/etc/ssl/ours.pem'",
        "global.no-color='true'",
    ]
    found = parsed("\n".join(lines))
    assert found.certificates == Path("/etc/ssl/ours.pem")
    assert found.folders == (tmp_path, tmp_path / "wheels")
    assert found.configuration.splitlines() == [
        "[global]",
        "index-url = https://who:secret@example.org/simple",
        f"extra-index-url = file://{tmp_path}/simple",
        f"find-links = {tmp_path}/wheels",
        "cert = /run/secrets/ca",
    ]


def answering(*replies: bytes) -> tuple[str, threading.Thread]:
    """A server that gives these replies, one a connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            for reply in replies:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1024)
                    connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    return f"127.0.0.1:{listener.getsockname()[1]}", thread


@pytest.mark.parametrize(
    ("replies", "code"),
    [
        ([b"HTTP/1.1 200 OK\r\n\r\n"], 0),
        ([b"HTTP/1.1 503 Service Unavailable\r\n\r\n"], 1),
        ([b""], 1),
    ],
    ids=["ready", "not ready", "silent"],
)
def test_the_health_check_says_whether_the_app_is_ready(
    replies: Sequence[bytes], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    address, thread = answering(*replies)
    assert health.main(address) == code
    thread.join()
    assert bool(capsys.readouterr().err) == bool(code)


def test_the_health_check_of_nobody_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main("127.0.0.1:1") == 1
    assert "127.0.0.1:1" in capsys.readouterr().err
