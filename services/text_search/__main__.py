"""`python -m services.text_search`."""

from chassis.serving import serve
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings

if __name__ == "__main__":
    settings = TextSearchSettings()
    serve(create_app(settings), settings)
