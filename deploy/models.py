"""`loreglass models`: fetch larger models for the services from Hugging Face's hub."""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from chassis.startup import CannotStart
from deploy.settings import VAR, loreglass_variables
from deploy.weights.__main__ import SERVICES, CannotFetch, HubSettings, Weights, fetch, present

FOLDER = VAR / "models"


@dataclass(frozen=True, slots=True)
class Model:
    """`settings`: of the service that uses the weights; in them {folder} is the folder of the weights.

    `extra`: the packages that its engine needs, an extra of `loreglass`.
    """

    weights: Weights
    extra: str
    settings: Mapping[str, str]


_WEIGHTS = {each.name: each for each in SERVICES}
_CLIP = "ViT-L-14-336-quickgelu:{folder}/open_clip_model.safetensors"
MODELS = {
    "reader": Model(
        Weights("deepset/roberta-base-squad2", ("reader",), 0.5, "adc3b06f79f797d1c575d5479d6f5efe54a9e3b4"),
        "reader-extractive",
        {"engine": "extractive", "model": "{folder}"},
    ),
    "text_search": Model(
        _WEIGHTS["bge-large-en-v1.5"], "text-search-bge", {"engine": "bge", "model": "{folder}"}
    ),
    "image_search": Model(
        _WEIGHTS["vit_large_patch14_clip_336.openai"],
        "image-search-clip",
        {"engine": "clip", "model": _CLIP},
    ),
    "reranker": Model(
        _WEIGHTS["Qwen3-Reranker-0.6B"],
        "reranker-cascade",
        {"engine": "cascade", "coarse": "false", "fine_model": "{folder}"},
    ),
}
"""By service. Licences: docs/models.md."""

app = typer.Typer(help="Larger models for the services, from Hugging Face's hub.", no_args_is_help=True)
Folder = Annotated[Path, typer.Option(help="where they are kept", show_default=str(FOLDER))]


def engine_settings(folder: Path) -> dict[str, dict[str, str]]:
    """Return the settings of each service whose weights are in `folder`, except engines set by environment.

    Raises `CannotStart` if no weights are there.
    """
    here = {name: model for name, model in MODELS.items() if present(model.weights, folder)}
    if not here:
        raise CannotStart(f"No models in {folder}. Fetch them with: loreglass models get --folder {folder}")
    variables = loreglass_variables()
    return {
        name: {
            key: value.format(folder=(folder / model.weights.name).resolve())
            for key, value in model.settings.items()
        }
        for name, model in here.items()
        if f"LOREGLASS_{name.upper()}_ENGINE" not in variables
    }


@app.command("list")
def show(folder: Folder = FOLDER) -> None:
    """List the models and say which are here."""
    for service, model in MODELS.items():
        state = "here" if present(model.weights, folder) else f"{model.weights.gb} GB to fetch"
        typer.echo(f"{service:13} {model.weights.repository:40} {state}")


@app.command()
def get(
    services: Annotated[list[str] | None, typer.Argument(help=", ".join(MODELS))] = None,
    folder: Folder = FOLDER,
) -> None:
    """Fetch models, check their hashes, and say how to use them. Without names: the reader."""
    names = services or ["reader"]
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        sys.exit(f"Unknown model {unknown[0]!r}. Choose from: {', '.join(MODELS)}.")
    if importlib.util.find_spec("huggingface_hub") is None:
        sys.exit(f"Fetching needs huggingface-hub: {_installation(['weights'], names)}")
    folder.mkdir(parents=True, exist_ok=True)
    hub = HubSettings()
    try:
        for weights in (MODELS[name].weights for name in names):
            fetch(weights, folder, hub.read_token(), weights.revision, hub.endpoint)
    except CannotFetch as error:
        sys.exit(str(error))
    if importlib.util.find_spec("torch") is None:
        typer.echo(f"Install the engines: {_installation([], names)}")
    typer.echo(f"Start with them: loreglass serve --models {folder}")
    if searches := [name for name in names if name.endswith("_search")]:
        typer.echo(f"Then index your photos and pages again, for {' and '.join(searches)}.")


def _installation(extras: Sequence[str], names: Sequence[str]) -> str:
    return f"pip install 'loreglass[{','.join([*extras, *(MODELS[name].extra for name in names)])}]'"
