"""`python -m evaluation --gateway URL --world DIR`: asks a running gateway everything and scores it."""

from pathlib import Path
from typing import Annotated

import typer

from evaluation.asking import Asking
from evaluation.rows import WorldError
from evaluation.run import Part, main

app = typer.Typer(add_completion=False)


@app.command()
def evaluate(
    gateway: Annotated[str, typer.Option(help="the gateway's URL")],
    world: Annotated[Path, typer.Option(help="folder of questions, truth and photos", file_okay=False)],
    out: Annotated[Path | None, typer.Option(help="results, one JSON line a question")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="at most so many conversations of a part")] = None,
    only: Annotated[Part | None, typer.Option(help="only this part")] = None,
    seed: Annotated[int | None, typer.Option(help="choose those of --limit at random")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="conversations at once")] = 2,
    deadline_ms: Annotated[int | None, typer.Option(help="for each question")] = None,
    pipeline: Annotated[str | None, typer.Option(help="the pipeline that answers")] = None,
    show_wrong: Annotated[int, typer.Option(min=0, help="print so many hallucinations")] = 0,
) -> None:
    """Score a running gateway by the CRAG-MM protocol."""
    asking = Asking(concurrency, deadline_ms, pipeline)
    try:
        main(gateway, world, out, limit=limit, only=only, seed=seed, asking=asking, show_wrong=show_wrong)
    except WorldError as error:
        raise typer.BadParameter(str(error), param_hint="--world") from error


if __name__ == "__main__":
    app()
