"""`python -m services.reader`."""

from chassis.http.serving import run
from services.reader.app import create_app
from services.reader.settings import ReaderSettings

if __name__ == "__main__":
    run(ReaderSettings, create_app)
