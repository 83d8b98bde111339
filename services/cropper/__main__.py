"""`python -m services.cropper`."""

from chassis.http.serving import run
from services.cropper.app import create_app
from services.cropper.settings import CropperSettings

if __name__ == "__main__":
    run(CropperSettings, create_app)
