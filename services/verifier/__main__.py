"""`python -m services.verifier`."""

from chassis.serving import serve
from services.verifier.app import create_app
from services.verifier.settings import VerifierSettings

if __name__ == "__main__":
    settings = VerifierSettings()
    serve(create_app(settings), settings)
