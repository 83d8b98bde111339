"""docker-compose.yml as compose reads it: variables put in, environment files read."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
Service = dict[str, Any]
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::-([^}]*))?\}")


class _Loader(yaml.SafeLoader):
    """With compose's tags for overrides."""


_Loader.add_constructor("!reset", lambda loader, node: None)


def version() -> str:
    """The version of the release, from pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def read_env(path: Path) -> dict[str, str]:
    """NAME=VALUE lines, the values as they are."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def load(name: str = "docker-compose.yml", variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """One file, with the variables of `.env` and these."""
    known = read_env(ROOT / ".env") | dict(variables or {})
    read: dict[str, Any] = _put_in(yaml.load((ROOT / name).read_text(), _Loader), known)
    return read


def of_profile(profile: str) -> dict[str, Service]:
    """Its services."""
    return {name: each for name, each in load()["services"].items() if profile in each["profiles"]}


TWIN = "-l40s"
ONCE = {"weights", "corpus", "tokens"}
"""Those that end by themselves."""


def networks_of(service: Service) -> dict[str, list[str]]:
    """Each network that it is on, with the other names it has there."""
    given = service.get("networks", [] if service.get("network_mode") == "none" else ["default"])
    named = given if isinstance(given, dict) else dict.fromkeys(given)
    return {name: (options or {}).get("aliases", []) for name, options in named.items()}


def environment_of(service: Service) -> dict[str, str]:
    """What its process is told: the environment files, then `environment`."""
    files = [read_env(ROOT / name) for name in service.get("env_file", [])]
    variables = {key: value for file in files for key, value in file.items()}
    return variables | {key: str(value) for key, value in service.get("environment", {}).items()}


def _put_in(node: Any, known: Mapping[str, str]) -> Any:
    if isinstance(node, dict):
        return {key: _put_in(value, known) for key, value in node.items()}
    if isinstance(node, list):
        return [_put_in(value, known) for value in node]
    return _VARIABLE.sub(lambda found: _value(found, known), node) if isinstance(node, str) else node


def _value(match: re.Match[str], known: Mapping[str, str]) -> str:
    if match[0] == "$$":
        return "$"
    value = known.get(match[1]) or match[2]
    if value is None:
        raise KeyError(f"{match[1]} is neither in .env nor has it a default")
    return value


SERVICES: dict[str, Service] = load()["services"]
