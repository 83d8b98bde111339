"""The `loreglass` command: what asks the platform, what measures it, and what reckons how it fits."""

from capacity.cli import app as capacity_app
from clients.cli import app
from evaluation.cli import app as evaluation_app

app.add_typer(capacity_app)
app.add_typer(evaluation_app, name="eval")


def main() -> None:
    """The console script."""
    app()


if __name__ == "__main__":
    main()
