"""Attacks in full size, each of which has stopped a platform of this kind."""

from tests.attacks.killers import requests, wire

KILLERS = (*requests.KILLERS, *wire.KILLERS)
