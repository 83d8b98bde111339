"""`python -m services.domain_router`."""

from chassis.http.serving import run
from services.domain_router.app import create_app
from services.domain_router.settings import DomainRouterSettings

if __name__ == "__main__":
    run(DomainRouterSettings, create_app)
