"""`python -m services.cropper`."""

from chassis.serving import serve
from services.cropper.app import create_app
from services.cropper.settings import CropperSettings

if __name__ == "__main__":
    settings = CropperSettings()
    serve(create_app(settings), settings)
