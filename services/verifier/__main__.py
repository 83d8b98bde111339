"""`python -m services.verifier`."""

from chassis.http.serving import run
from services.verifier.app import create_app
from services.verifier.settings import VerifierSettings

if __name__ == "__main__":
    run(VerifierSettings, create_app)
