"""`python -m gateway`."""

from chassis.http.serving import run
from gateway.app import create_app
from gateway.settings import GatewaySettings

if __name__ == "__main__":
    run(GatewaySettings, create_app)
