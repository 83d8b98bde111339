"""`python -m clients`: asks, indexes, makes keys; `loreglass` without what it measures and reckons with."""

from clients.cli import app

if __name__ == "__main__":
    app()
