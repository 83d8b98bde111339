"""`python -m services.reranker`."""

from chassis.serving import serve
from services.reranker.app import create_app
from services.reranker.settings import RerankerSettings

if __name__ == "__main__":
    settings = RerankerSettings()
    serve(create_app(settings), settings)
