"""`python -m services.image_search`."""

from chassis.http.serving import run
from services.image_search.app import create_app
from services.image_search.settings import ImageSearchSettings

if __name__ == "__main__":
    run(ImageSearchSettings, create_app)
