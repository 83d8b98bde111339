"""A server that answers like a vision-language model and the model services, without a model.

Unit tests script the model in their own event loop:

    script = {                                                 # or a function of the request
        "understand": says({"object": "book", "answer": None}),  # JSON, cut into tokens with probabilities
        "answer": [overloaded(), says("A book.")],             # one after the other; the last one repeats
        "judge": lambda request: says("yes", probability=0.4),
    }
    async with vlm_server(script, ServerTraits(json_schema=False)) as server:
        server.url            # "http://127.0.0.1:PORT" (append nothing: the client adds /v1/...)
        server.model          # "scripted-vlm"; server.key is "" unless the traits name one
        server.requests       # list[ScriptedRequest], in order of arrival

`vlm_server` raises AssertionError at its end if a request broke the rules of OpenAI's API.

Benchmarks and load tests run a whole node in a process of its own, with all services on one port:

    python -m bench.node --port 7200 --pace l40s
    curl http://127.0.0.1:7200/node/counts

`model` is the chat API, `services` the model services' contracts, `scene` what both of them say, `pace` how
long they take, `app` puts them together.
"""

from bench.node.model import LLAMA_ON_VLLM_0_10_2, PROBED, RunningServer, Script, vlm_server
from bench.node.playback import ServerTraits, TokenStyle
from bench.node.replies import (
    Fails,
    Reply,
    Says,
    Spelled,
    context_too_long,
    fails,
    overloaded,
    says,
    vllm_error,
)
from bench.node.requests import ScriptedRequest

__all__ = [
    "LLAMA_ON_VLLM_0_10_2",
    "PROBED",
    "Fails",
    "Reply",
    "RunningServer",
    "Says",
    "Script",
    "ScriptedRequest",
    "ServerTraits",
    "Spelled",
    "TokenStyle",
    "context_too_long",
    "fails",
    "overloaded",
    "says",
    "vllm_error",
    "vlm_server",
]
