"""Who may talk to whom: Kubernetes' NetworkPolicy semantics, computed.

A pod that no policy selects for a direction is open in it. One that is selected lets through what any of
those policies allows. Traffic flows where the sender's egress and the receiver's ingress both allow it.
"""

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from tests.deploy.kustomize import NAMESPACE, Object, Party, label_selector_matches


def allowed(
    policies: Sequence[Object], sender: Party, receiver: Party, port: int, protocol: str = "TCP"
) -> bool:
    """Whether `sender` can open a connection to `port` of `receiver`."""
    out = _passes(policies, sender, receiver, port, protocol, "Egress", "to")
    return out and _passes(policies, receiver, sender, port, protocol, "Ingress", "from")


def _passes(
    policies: Sequence[Object], own: Party, other: Party, port: int, protocol: str, direction: str, peers: str
) -> bool:
    selecting = [each["spec"] for each in policies if _selects(each["spec"], own, direction)]
    if not selecting:
        return True
    rules = [rule for spec in selecting for rule in spec.get(direction.lower(), [])]
    return any(
        (peers not in rule or any(_is_peer(peer, other) for peer in rule[peers]))
        and ("ports" not in rule or any(_is_port(each, port, protocol) for each in rule["ports"]))
        for rule in rules
    )


def _selects(spec: Object, own: Party, direction: str) -> bool:
    if own.namespace != NAMESPACE or own.address:
        return False
    return direction in spec["policyTypes"] and label_selector_matches(spec["podSelector"], own.labels)


def _is_peer(peer: Object, other: Party) -> bool:
    if "ipBlock" in peer:
        return bool(other.address) and _in_block(peer["ipBlock"], other.address)
    if other.address:
        return False
    if "namespaceSelector" in peer:
        known_as = {"kubernetes.io/metadata.name": other.namespace}
        if not label_selector_matches(peer["namespaceSelector"], known_as):
            return False
    elif other.namespace != NAMESPACE:
        return False
    return label_selector_matches(peer.get("podSelector", {}), other.labels)


def _in_block(block: Any, address: str) -> bool:
    given = ip_address(address)
    inside = given in ip_network(block["cidr"])
    return inside and not any(given in ip_network(each) for each in block.get("except", []))


def _is_port(rule: Object, port: int, protocol: str) -> bool:
    if rule.get("protocol", "TCP") != protocol:
        return False
    if "port" not in rule:
        return True
    return int(rule["port"]) <= port <= int(rule.get("endPort", rule["port"]))
