"""`python -m evaluation`: the same as `loreglass eval`."""

from evaluation.cli import app

if __name__ == "__main__":
    app()
