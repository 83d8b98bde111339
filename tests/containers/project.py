"""One compose project with a name and a port of its own, which leaves nothing behind."""

import os
from dataclasses import dataclass
from pathlib import Path

from tests.containers.engine import compose, podman, succeeds

ROOT = Path(__file__).resolve().parents[2]
FILES = ("docker-compose.yml", "deploy/compose/podman.yml")
_NAME, _PUBLISHED, _LOG = (f"LOREGLASS_JOURNEY_{what}" for what in ("PROJECT", "PUBLISHED", "LOG"))


@dataclass(frozen=True, slots=True)
class Project:
    """`published`: the gateway's HOST:PORT; `log`: where podman-compose writes."""

    name: str
    published: str
    log: Path

    @property
    def gateway_url(self) -> str:
        """Where the gateway answers on this machine."""
        return f"http://{self.published}"

    @property
    def environment(self) -> dict[str, str]:
        """By which a test process finds it."""
        return {_NAME: self.name, _PUBLISHED: self.published, _LOG: str(self.log)}

    def compose(self, *words: str, data: Path | None = None) -> str:
        """Run podman-compose with these words; `data` is what the tool `corpus` sees as /data."""
        environment = {
            **os.environ,
            "COMPOSE_PROFILES": "pocket,tools" if words[0] == "run" else "pocket",
            "LOREGLASS_PUBLISH": self.published,
            "LOREGLASS_DATA": str(data or ROOT / "data"),
        }
        files = [word for file in FILES for word in ("--file", str(ROOT / file))]
        return compose(["--in-pod=false", "--project-name", self.name, *files, *words], environment, self.log)

    def container(self, host: str) -> str:
        """The name of an app's container."""
        return f"{self.name}_{host}_1"

    def everything(self) -> dict[str, list[str]]:
        """What there is of it now, by kind: containers, networks, volumes."""
        label = f"label=io.podman.compose.project={self.name}"
        listings = {
            "container": ("ps", "--all", "--format={{.Names}}"),
            "network": ("network", "ls", "--format={{.Name}}"),
            "volume": ("volume", "ls", "--format={{.Name}}"),
        }
        return {kind: podman(*words, "--filter", label).split() for kind, words in listings.items()}

    def remove(self) -> dict[str, list[str]]:
        """Take all of it away, in whatever state it is; returns what would not go."""
        options = {"container": ("--time=5", "--volumes", "--depend")}
        for kind in ("container", "network", "volume"):
            for _ in range(2):  # the second pass removes what others still used
                for name in self.everything()[kind]:
                    succeeds(kind, "rm", "--force", *options.get(kind, ()), name)
        return {kind: left for kind, left in self.everything().items() if left}


def project_in_environment() -> Project | None:
    """The one that this process was told of."""
    name = os.environ.get(_NAME, "")
    return Project(name, os.environ[_PUBLISHED], Path(os.environ[_LOG])) if name else None
