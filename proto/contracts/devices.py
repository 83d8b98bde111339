"""The reply that devices read which ask with a photo: Xiaozhi boards, and glasses of Mentra's Bluetooth SDK.

The boards' shape and not ours, with our additions: there is no `.proto` for it.
"""

from typing import Literal

from contracts.answer import Answer
from contracts.message import Message


class PhotoQuestionReply(Message):
    """`response`: what to say; a refusal brings its closest passage and advice. `message`: of a failure, why.

    `action`: the words are to be said as they are. `requestId`: the device's own, where it sent one.
    `loreglass`: the body that `POST /answer` would have sent, for all but boards, which have no room for it.
    """

    success: bool
    action: Literal["RESPONSE"] | None = None
    response: str | None = None
    message: str | None = None
    requestId: str | None = None  # noqa: N815 - as the devices spell it
    loreglass: Answer | None = None
