"""The extractive reasoner: question understanding and reading, with no model."""

from gateway.reasoning.extractive.reasoner import ExtractiveReasoner

__all__ = ["ExtractiveReasoner"]
