"""`python -m services.image_search`."""

from chassis.serving import serve
from services.image_search.app import create_app
from services.image_search.settings import ImageSearchSettings

if __name__ == "__main__":
    settings = ImageSearchSettings()
    serve(create_app(settings), settings)
