"""`python -m gateway`."""

from chassis.serving import serve
from gateway.app import create_app
from gateway.settings import GatewaySettings

if __name__ == "__main__":
    settings = GatewaySettings()
    serve(create_app(settings), settings)
