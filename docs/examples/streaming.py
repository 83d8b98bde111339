"""Print the events of an answer while it is made."""

from pathlib import Path

from loreglass_client import Loreglass
from loreglass_client.models import Answer, IdentifiedEvent, StageEvent, TokenEvent

PHOTO = Path(__file__).parents[2] / "samples" / "photos" / "q0007.jpg"

with Loreglass.from_environment() as client:
    for event in client.stream("In which year was this game published?", PHOTO):
        match event:
            case StageEvent():
                print(f"{event.stage} {event.state} after {event.ms:.0f} ms")
            case IdentifiedEvent():
                print(f"This is {event.entity}.")
            case TokenEvent():
                print(event.text, end="")
            case Answer():
                print(f"\nconfidence {event.confidence}, sources {len(event.citations)}")
