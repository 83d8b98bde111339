"""`python -m services.ocr`."""

from chassis.serving import serve
from services.ocr.app import create_app
from services.ocr.settings import OcrSettings

if __name__ == "__main__":
    settings = OcrSettings()
    serve(create_app(settings), settings)
