"""Settings of the one-process profile, from `LOREGLASS_*`, and the folders that it uses."""

import os
from pathlib import Path
from typing import Literal

from platformdirs import user_data_path
from pydantic import Field, SecretStr

from chassis.addresses import LocalPorts
from gateway.settings import HttpAddress

_IN_A_CHECKOUT = (Path(__file__).parents[1] / "pyproject.toml").is_file()
VAR = Path("var") if _IN_A_CHECKOUT else user_data_path("loreglass")
"""The data folder: beside the checkout; if a wheel is installed, in the user's data folder."""
SAMPLE = Path(__file__).resolve().parents[1] / "samples"
"""Photos, pages and questions for the demo and tests, in a checkout and a wheel; images do not have it."""


class LiteSettings(LocalPorts):
    """One process: the gateway on `host:port`, every service on a loopback port of its own."""

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    lan: bool = Field(default=False, description="Serve other devices over HTTPS, each with its own key.")
    lan_port: int = Field(default=7143, ge=0, le=65535, description="Port of HTTPS; 0 picks a free one.")
    data_dir: Path = Field(default=VAR / "loreglass", description="Folder of the indexes.")
    log_level: str = Field(
        default="info",
        description="`debug`, `info`, `warning`, `error` or `critical`. Unset, in a terminal: `warning`.",
    )
    models: Path | None = Field(
        default=None, description="Folder that `loreglass models get` filled. Its models are used."
    )
    model: HttpAddress | None = Field(
        default=None, description="A model server: `http://127.0.0.1:11434/v1` (Ollama)."
    )
    model_name: str = Field(default="", description="Which of its models. Not needed if it has one.")
    model_key: SecretStr = Field(default=SecretStr(""), description="The model server's API key.")
    web: HttpAddress | Literal["brave", "tavily"] | None = Field(
        default=None,
        description="Search the web if the index has no answer: a SearXNG's address, `brave` or `tavily`.",
    )
    web_key: SecretStr = Field(default=SecretStr(""), description="The API key of `brave` or `tavily`.")


def one_thread_each() -> None:
    """For services side by side in one process, unless the environment says otherwise: the threads of their
    numeric libraries get in each other's way. To be called before these are imported, which read it then.
    """
    for library in ("OMP", "OPENBLAS"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def loreglass_variables() -> dict[str, str]:
    """Return every `LOREGLASS_*` variable of the environment."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("LOREGLASS_")}
