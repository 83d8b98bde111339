"""`python -m services.reranker`."""

from chassis.http.serving import run
from services.reranker.app import create_app
from services.reranker.settings import RerankerSettings

if __name__ == "__main__":
    run(RerankerSettings, create_app)
