"""A scripted OpenAI-compatible server on a loopback socket: what a VLM server says, without a model.

    script = {                                                 # or a function of the request
        "understand": says({"object": "book", "answer": None}),  # JSON, cut into tokens, with probabilities
        "answer": [overloaded(), says("A book.")],             # one after the other; the last one repeats
        "judge": lambda request: says("yes", probability=0.4),
    }
    async with vlm_server(script, ServerTraits(json_schema=False)) as server:
        server.url            # "http://127.0.0.1:PORT" (append nothing: the client adds /v1/...)
        server.model          # "scripted-vlm"; server.key is "" unless the traits name one
        server.requests       # list[ScriptedRequest], in order of arrival

`ScriptedRequest`: `.name` (the prompt's: `response_format.json_schema.name`, or what its first line tells),
`.body` (the JSON), `.text` (all text parts joined by newlines), `.system`, `.images`
(decoded JPEG bytes), `.parts` (the user's content parts), `.refused` (answered 400 for a missing ability),
`.abandoned` (the caller closed the connection before the end), `await .finished` (an anyio.Event: nothing
more will happen to it).

Replies: `says(value | str, ...)`, `fails(status, body, headers)`; see `replies.py` for truncation
(`max_tokens=8`), token probabilities by field (`probabilities={"answer": 0.3}`,
`alternatives={"answer": {"tea": 0.7, "coffee": 0.2}}` for a field of one token, `rivals={"yes": 0.7,
"no": 0.2}` for the first token of a text), delays that wait for an event instead of a clock
(`hold=anyio.Event()`), a disconnect in mid-stream (`drop_after=tokens`), and the error bodies that vLLM and
others send. Requests that OpenAI's API would refuse are refused with 400, and `server.violations` lists why;
`vlm_server` raises AssertionError at its end when there are any.

`python -m tests.vlm_server.walkthrough three-step` shows one question's whole way through that pipeline.
"""

from tests.vlm_server.playback import TokenStyle
from tests.vlm_server.replies import (
    Fails,
    Reply,
    Says,
    context_too_long,
    fails,
    overloaded,
    says,
    unavailable,
)
from tests.vlm_server.server import RunningServer, ScriptedRequest, ServerTraits, vlm_server

__all__ = [
    "Fails",
    "Reply",
    "RunningServer",
    "Says",
    "ScriptedRequest",
    "ServerTraits",
    "TokenStyle",
    "context_too_long",
    "fails",
    "overloaded",
    "says",
    "unavailable",
    "vlm_server",
]
