"""Attacks in full size, each of which has stopped a platform of this kind."""

from tests.attacks.killers import bodies, engines, photos, wire

KILLERS = (*photos.KILLERS, *bodies.KILLERS, *wire.KILLERS, *engines.KILLERS)
