"""`python -m clients`: `loreglass` with its commands ask, index and key only."""

from clients.cli import app

if __name__ == "__main__":
    app()
