"""The search router (QA-Dragon, section 3.2): answer directly, verify the draft, or look everything up."""

from gateway.steps.routing.router import SearchRouter

__all__ = ["SearchRouter"]
