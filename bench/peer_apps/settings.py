"""Settings that `bench.peers` passes to the apps."""

import os

SERVICES_URL = os.environ["PEER_SERVICES_URL"]
PORT = int(os.environ["PEER_PORT"])
