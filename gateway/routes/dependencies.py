"""Dependencies of the gateway's routes."""

from contextlib import ExitStack
from typing import Annotated

from fastapi import Depends, Request

from chassis.http.access import is_sent_from_here
from contracts.headers import PRIORITY
from gateway.serving.tenants import Caller
from gateway.wiring import Gateway


async def gateway_of(request: Request) -> Gateway:
    """Return the wired gateway of this app."""
    gateway: Gateway = request.app.state.gateway
    return gateway


GatewayDep = Annotated[Gateway, Depends(gateway_of)]


async def caller_of(request: Request, gateway: GatewayDep) -> Caller:
    """Return the caller, and count the request for its tenant until the exchange ends.

    `request.state.place` may be handed to work that outlives the exchange; then the request counts until that
    work ends. Raises `Unauthorized` if keys are required, `InvalidRequest` for an unknown priority,
    `QuotaExceeded`.
    """
    sent, local = request.headers, is_sent_from_here(request.scope)
    caller = gateway.keys.caller(sent.get("authorization"), sent.get(PRIORITY), local=local)
    leave = await gateway.quotas.enter(caller.tenant)
    place: ExitStack = request.state.ended.enter_context(ExitStack())
    place.callback(leave)
    request.state.place = place
    return caller


CallerDep = Annotated[Caller, Depends(caller_of)]
