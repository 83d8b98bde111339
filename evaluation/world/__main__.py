"""`python -m evaluation.world --split dev --out DIR` writes a synthetic world."""

from evaluation.world.generate import app

if __name__ == "__main__":
    app()
