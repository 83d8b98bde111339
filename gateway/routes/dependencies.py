"""What every route of the gateway asks for."""

from typing import Annotated

from fastapi import Depends, Request

from gateway.wiring import Gateway


def gateway_of(request: Request) -> Gateway:
    """The wired gateway of this app."""
    gateway: Gateway = request.app.state.gateway
    return gateway


GatewayDep = Annotated[Gateway, Depends(gateway_of)]
