"""`loreglass models`: fetch larger models for the services from Hugging Face's hub."""

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

from deploy.settings import VAR
from deploy.weights.__main__ import SERVICES, CannotFetch, HubSettings, Weights, fetch, present

FOLDER = VAR / "models"
MODELS = {
    "reader": Weights(
        "deepset/roberta-base-squad2", ("reader",), 0.5, "adc3b06f79f797d1c575d5479d6f5efe54a9e3b4"
    ),
    "text_search": next(each for each in SERVICES if "text_search" in each.used_by),
    "image_search": next(each for each in SERVICES if "image_search" in each.used_by),
}
"""By service. Licences: docs/models.md."""
_ENGINES = {"reader": "extractive", "text_search": "bge", "image_search": "clip"}

app = typer.Typer(help="Larger models for the services, from Hugging Face's hub.", no_args_is_help=True)
Folder = Annotated[Path, typer.Option(help="where they are kept", show_default=str(FOLDER))]


@app.command("list")
def show(folder: Folder = FOLDER) -> None:
    """List the models and say which are here."""
    for service, weights in MODELS.items():
        state = "here" if present(weights, folder) else f"{weights.gb} GB to fetch"
        typer.echo(f"{service:13} {weights.repository:40} {state}")


@app.command()
def get(
    services: Annotated[list[str] | None, typer.Argument(help=", ".join(MODELS))] = None,
    folder: Folder = FOLDER,
) -> None:
    """Fetch models, check their hashes, and print the settings that use them. Without names: the reader."""
    names = services or ["reader"]
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        sys.exit(f"There is no model for {unknown[0]!r}: {', '.join(MODELS)}.")
    if importlib.util.find_spec("huggingface_hub") is None:
        sys.exit("Fetching needs huggingface-hub: pip install 'loreglass[weights]'.")
    folder.mkdir(parents=True, exist_ok=True)
    hub = HubSettings()
    try:
        for name in names:
            fetch(MODELS[name], folder, hub.read_token(), MODELS[name].revision, hub.endpoint)
    except CannotFetch as error:
        sys.exit(f"{error} The models that came with the platform are used until then.")
    typer.echo("The engines need torch and transformers (pip install 'loreglass[models]'). Use them by:")
    for name in names:
        prefix, model = f"LOREGLASS_{name.upper()}", str((folder / MODELS[name].name).resolve())
        if name == "image_search":
            file = next(each for each in MODELS[name].files if (Path(model) / each).exists())
            model = f"ViT-L-14-336-quickgelu:{model}/{file}"
        typer.echo(f"    export {prefix}_ENGINE={_ENGINES[name]} {prefix}_MODEL={model}")
