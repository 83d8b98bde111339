"""The stand-in fleet: a `capacity.standins.Node` on loopback sockets, with switches for what goes wrong.

python -m bench.fleet --seed 1        # prints one JSON line with the addresses

with Fleet(Calibration.l40s(), apart=("reranker",)) as fleet:
    GatewaySettings(**fleet.gateway_settings)      # or a process with fleet.gateway_environment
    fleet.switch("ocr", Mode.SLOW, factor=5, share=0.1)
    fleet.kill("reranker")
    fleet.restart("reranker")                      # on the same port
    fleet.counts()["vlm"]["cancelled"]
"""

from bench.fleet.launch import Fleet
from bench.fleet.serving import Served, serving
from bench.fleet.switches import Mode, Switch

__all__ = ["Fleet", "Mode", "Served", "Switch", "serving"]
