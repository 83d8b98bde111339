"""Every image as data: what is installed in it, which of the project's folders it holds, what it runs."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from deploy.inventory import APPS, App

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements" / "images"
BASE = "docker.io/library/python:3.11-slim-bookworm"
"""What both Dockerfiles start from unless told otherwise."""
REGISTRY = "localhost/loreglass"
"""Nobody's on any registry: an image that is not there is missing, and never somebody else's."""

_SHARED = ("contracts", "chassis")
_READ_ENGLISH = ("gateway", "reranker", "verifier", "reader")
"""Apps that import `language`."""
_TELEMETRY = "telemetry"
_QDRANT_SERVER = "qdrant-server"


@dataclass(frozen=True, slots=True)
class Image:
    """One image. `groups`: of pyproject.toml; `code`: paths in the root, contracts as `contracts`; `target`:
    the Dockerfile's last stage; `torch_beside`: what must be of the same build as torch.
    """

    host: str
    module: str
    groups: tuple[str, ...]
    code: tuple[str, ...]
    target: str = "tool"
    prefix: str = ""
    port: int = 0
    cuda: bool = False
    torch_beside: str = ""

    @property
    def name(self) -> str:
        """How the command line calls it."""
        return f"{self.host}-cuda" if self.cuda else self.host

    @property
    def requirements(self) -> Path:
        """Its locked packages."""
        return REQUIREMENTS / f"{self.name}.txt"

    @property
    def dockerfile(self) -> Path:
        """What it is built by."""
        return Path(__file__).with_name("cuda.Dockerfile" if self.cuda else "cpu.Dockerfile")

    @property
    def reference(self) -> str:
        """`localhost/loreglass/cropper-cuda:0.1.0`."""
        return f"{REGISTRY}/{self.name}:{version()}"

    @property
    def arguments(self) -> dict[str, str]:
        """The Dockerfile's."""
        arguments = {
            "REQUIREMENTS": self.requirements.name,
            "CODE": " ".join(self.code),
            "MODULE": self.module,
            "VERSION": version(),
        }
        if self.port:
            arguments |= {"PREFIX": self.prefix, "PORT": str(self.port)}
        if self.cuda:
            arguments["TORCH_BESIDE"] = self.torch_beside
        return arguments


def version() -> str:
    """The project's, from pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def _code_of(app: App) -> tuple[str, ...]:
    own = ("gateway",) if app.name == "gateway" else ("services/__init__.py", f"services/{app.name}")
    return (*_SHARED, *(("language",) if app.name in _READ_ENGLISH else ()), *own)


def _image_of(app: App, cuda: bool) -> Image:
    groups = [app.cuda_group if cuda else app.host, _TELEMETRY]
    if app.keeps_data:
        groups.append(_QDRANT_SERVER)
    return Image(
        host=app.host,
        module=app.module,
        groups=tuple(groups),
        code=_code_of(app),
        target="keeper" if app.keeps_data else "app",
        prefix=app.prefix,
        port=app.port,
        cuda=cuda,
        torch_beside="torchvision==0.28.0" if cuda and app.cuda_group == "image-search-clip" else "",
    )


CORPUS = Image(
    host="corpus",
    module="clients",
    groups=("corpus", "clients"),
    code=(*_SHARED, "clients", "loreglass_client", "corpus"),
)
"""Indexes and asks; what measures and plans runs where the project is checked out."""

CORPUS_RAY = Image(host="corpus-ray", module="clients", groups=("ray-cluster", "clients"), code=CORPUS.code)
"""The same where it indexes on Ray: its head, its workers and the job that is sent to them."""

WEIGHTS = Image(
    host="weights",
    module="deploy.weights",
    groups=("weights",),
    code=("services/__init__.py", "services/speech", "services/vlm", "deploy/__init__.py", "deploy/weights"),
)
"""Fetches the production engines' weights; it reads from the engines which they are."""

IMAGES: tuple[Image, ...] = (
    *(_image_of(app, cuda=False) for app in APPS),
    CORPUS,
    CORPUS_RAY,
    WEIGHTS,
    *(_image_of(app, cuda=True) for app in APPS if app.cuda_group),
)
