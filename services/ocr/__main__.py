"""`python -m services.ocr`."""

from chassis.http.serving import run
from services.ocr.app import create_app
from services.ocr.settings import OcrSettings

if __name__ == "__main__":
    run(OcrSettings, create_app)
