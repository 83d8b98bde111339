"""The `loreglass` command: ask the platform, measure it, and plan its capacity."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from capacity.cli import app as capacity_app
from chassis.startup import CannotStart
from clients.cli import app
from deploy.models import app as models_app
from deploy.settings import VAR, one_thread_each
from evaluation.cli import app as evaluation_app
from training.cli import app as training_app

app.add_typer(capacity_app)


@app.command()
def serve(
    model_url: Annotated[
        str | None, typer.Option(help="a model server: Ollama, llama.cpp, LM Studio, vLLM, a hosted one")
    ] = None,
    model_name: Annotated[str | None, typer.Option(help="which of its models")] = None,
    models: Annotated[
        Path | None, typer.Option(help="folder of `loreglass models get`: use the models in it")
    ] = None,
    host: Annotated[str | None, typer.Option(help="address on which the gateway listens")] = None,
    port: Annotated[int | None, typer.Option(help="port of the gateway")] = None,
    service_port: Annotated[
        int | None, typer.Option(help="port of the first service; the others use the next seven")
    ] = None,
    lan: Annotated[
        bool, typer.Option("--lan", help="also listen on HTTPS for phones: shows a QR code to join")
    ] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="where indexes are kept", show_default=str(VAR / "loreglass"))
    ] = None,
) -> None:
    """Run the whole platform on this machine, with a model or without. A model's key: LOREGLASS_MODEL_KEY."""
    one_thread_each()
    from deploy.one_process import main as run

    options = {"model": model_url, "model_name": model_name, "host": host, "port": port, "data_dir": data_dir}
    options |= {"service_port": service_port, "lan": lan or None, "models": models}
    run(**{name: value for name, value in options.items() if value is not None})


@app.command()
def doctor(
    model_url: Annotated[str | None, typer.Option(help="also check this model server")] = None,
    model_name: Annotated[str, typer.Option(help="which of its models")] = "",
) -> None:
    """Check the installation and say what to do next. Exits with 1 if a problem is found."""
    from deploy.doctor import main as examine

    if not examine(model_url, model_name):
        raise typer.Exit(1)


@app.command()
def demo() -> None:
    """Index sample photographs and pages, start the platform, ask questions, print the answers."""
    from deploy.demo import main as run

    run()


app.add_typer(evaluation_app, name="eval")
app.add_typer(models_app, name="models")
app.add_typer(training_app, name="train")


def main() -> None:
    """Run the console script. A wrong setting ends it with one sentence."""
    try:
        app()
    except CannotStart as error:
        sys.exit(str(error))
