"""`python -m services.text_search`."""

from chassis.http.serving import run
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings

if __name__ == "__main__":
    run(TextSearchSettings, create_app)
