"""Ask about a photo, ask a follow-up, and handle a refusal and an error."""

from pathlib import Path

from loreglass_client import Loreglass, LoreglassError

PHOTO = Path(__file__).parents[2] / "samples" / "photos" / "q0007.jpg"

with Loreglass.from_environment() as client:
    talk = client.conversation(PHOTO)
    for question in ("In which year was this game published?", "Who designed it?", "How much does it cost?"):
        try:
            answer = talk.ask(question)
        except LoreglassError as error:
            print(f"{question} failed: {error.kind}: {error.detail}")
            continue
        print(question, answer.answer)
        for citation in answer.citations:
            print(f"    from {citation.title}: {citation.snippet}")
        if answer.abstained and answer.closest:
            print(f"    closest passage: {answer.closest.sentence}")
