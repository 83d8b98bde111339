"""Asking questions and reading answers: the page in a real browser, before a real gateway."""

import base64
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Route, expect

from chassis.keys import ApiKey
from contracts.answer import CitationKind, Reason
from contracts.cropper import CropReply
from contracts.image_search import ImageSearchReply
from contracts.ocr import OcrReply
from contracts.text_search import TextHit, TextSearchReply
from gateway.state import Context, Query, Quote, Reply
from tests.page.browser import Wearer
from tests.page.conftest import Open
from tests.unit.gateway.fakes import (
    BOOK,
    PAGES,
    FakeServices,
    Mood,
    crop_region,
    find_in_second_crop,
    image_hit,
    text_line,
)
from tests.unit.gateway.platform import PHOTO, keys_file
from tests.unit.gateway.reasoners import ScriptedReasoner

HOSTILE = '<img src=x onerror="document.title=1"><b>bold</b>'
ARRIVE = """([kind, bytes]) => {
  const content = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([content], "photo.jpg", { type: "image/jpeg" }));
  const event = kind === "paste"
    ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true })
    : new DragEvent("drop", { dataTransfer: data, bubbles: true });
  document.body.dispatchEvent(event);
}"""


def unsure() -> ScriptedReasoner:
    return ScriptedReasoner(say=lambda *_: Reply(None, 0.0, reason=Reason.MODEL_UNSURE))


def quoting(text: str, *parts: str, kind: CitationKind = CitationKind.PAGE) -> ScriptedReasoner:
    """Return a reasoner that answers `text` and quotes it, or `parts`, from the first `kind` evidence."""

    def quote(_: Query, context: Context) -> Reply:
        place = next(n for n, each in enumerate(context.evidence) if each.kind is kind)
        return Reply(text, 0.9, tuple(Quote(place, part) for part in parts or (text,)))

    return ScriptedReasoner(say=quote)


def finds(services: FakeServices, name: str, text: str, url: str = "https://a.example/") -> None:
    """Make image search find an entity of that name, and text search a page about it."""
    hit = TextHit(id="1", url=url, title=name, snippet=text, score=0.9, query_indexes=[0])
    services.text_search.reply = TextSearchReply(hits=[hit], collection="pages")
    services.image_search.reply = ImageSearchReply(hits=[image_hit(name)], collection="images")


def sent(reasoner: ScriptedReasoner) -> list[tuple[str, bool]]:
    """The questions that reached the pipeline, each with whether it brought a photo."""
    return [(query.question, query.photo_is_new) for query in reasoner.queries]


def test_camera_question_is_answered_aloud_with_its_source_and_stays(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.look()
        turn = wearer.answer("Who wrote this?")
        expect(turn.locator(".answer")).to_have_text(PAGES)
        assert wearer.spoken() == [f"This is {BOOK}.", PAGES]
        expect(turn.locator(".thing")).to_have_text(BOOK)
        source = turn.locator("details.source").first
        expect(source.locator("blockquote")).to_be_hidden()
        source.locator("summary").click()
        expect(source.locator("blockquote")).to_have_text(PAGES)
        expect(source.get_by_role("link")).to_have_attribute("href", "https://pages.example/salt-road")
        assert "noopener" in (source.get_by_role("link").get_attribute("rel") or "")
        mark = wearer.page.locator("#regions rect.text").first
        expect(mark.locator("title")).to_have_text("THE SALT ROAD")
        left, width = (float(mark.get_attribute(name) or 0) / 960 for name in ("x", "width"))
        assert (left, left + width) == (pytest.approx(10 / 96, abs=1e-3), pytest.approx(90 / 96, abs=1e-3))
        wearer.open("/")
        expect(wearer.turn().locator(".answer")).to_have_text(PAGES)
    (question,) = reasoner.queries
    assert question.photo is not None
    assert (question.photo.width, question.photo.height) == (960, 1280)


def test_entity_and_cited_regions_alone_are_marked(services: FakeServices, open_page: Open) -> None:
    services.image_search.reply = find_in_second_crop
    regions = [crop_region(PHOTO), crop_region(PHOTO, left=40)]
    services.cropper.reply = CropReply(regions=regions, width=100, height=50)
    lines = [text_line("THE SALT ROAD"), text_line("price 9.99", 1)]
    services.ocr.reply = OcrReply(lines=lines, width=96, height=64)
    with open_page(services) as (wearer, _):
        wearer.look()
        turn = wearer.answer("Who wrote this?")
        expect(wearer.page.locator("#regions rect.crop")).to_have_count(1)
        expect(wearer.page.locator("#regions rect.crop")).to_have_attribute("x", "384")
        expect(wearer.page.locator("#regions rect.text title")).to_have_text(["THE SALT ROAD"])
        turn.locator(".how summary").click()
        assert turn.locator(".read").inner_text() == "Read in the photo\nTHE SALT ROAD\nprice 9.99"


def test_decimal_point_ends_no_sentence(services: FakeServices, open_page: Open) -> None:
    texts = ["It costs $4.99 and is 3.5 m long.", "It is red!"]
    finds(services, "Rope", " ".join(texts))
    with open_page(services, quoting(" ".join(texts))) as (wearer, _):
        wearer.answer("What does the rope cost?")
        assert wearer.spoken() == texts


def test_print_keeps_its_lines(services: FakeServices, open_page: Open) -> None:
    texts = ["MENU", "Plum cake 4.00", "Tea 2.50"]
    lines = [text_line(text, row) for row, text in enumerate(texts)]
    services.ocr.reply = OcrReply(lines=lines, width=96, height=64)
    reasoner = quoting(" ".join(texts), *texts, kind=CitationKind.PHOTO)
    with open_page(services, reasoner) as (wearer, _):
        wearer.look()
        assert wearer.answer("What does it say?").locator(".answer").inner_text().split("\n") == texts


def test_muted_page_is_silent_and_stays_muted(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.page.get_by_role("button", name="Voice").click()
        wearer.look()
        wearer.answer("Who wrote this?")
        assert wearer.spoken() == []
        wearer.open("/")
        expect(wearer.page.get_by_role("button", name="Voice")).to_have_attribute("aria-pressed", "false")
        wearer.answer("Who wrote The Salt Road?")
        assert wearer.spoken() == []


def test_follow_up_keeps_the_photo_until_a_new_one_is_taken(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.look()
        wearer.answer("Who wrote this?")
        wearer.answer("How many pages does it have?")
        wearer.page.get_by_role("button", name="New photo").click()
        wearer.answer("And this one?")
    assert [new for _, new in sent(reasoner)] == [True, False, True]
    assert len(reasoner.queries[2].history) == 2


def test_removed_photo_is_not_asked_about(open_page: Open, photo: Path) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        new_photo = wearer.page.get_by_role("button", name="New photo")
        for leave in (new_photo.click, lambda: wearer.open("/")):
            wearer.choose(photo)
            wearer.answer("Who wrote this?")
            leave()
            wearer.page.locator("#stage[data-showing=nothing]").wait_for()
            wearer.answer("Who wrote The Salt Road?")
        wearer.answer("How many pages does it have?")
    assert [query.photo is not None for query in reasoner.queries] == [True, False, True, False, False]
    assert [len(query.history) for query in reasoner.queries][-1] == 1


def test_expired_conversation_restarts_with_the_photo(open_page: Open) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.look()
        wearer.answer("Who wrote this?")
        wearer.page.evaluate(
            """() => localStorage.setItem("loreglass.conversation", JSON.stringify(
                 { ...JSON.parse(localStorage.getItem("loreglass.conversation")), session: "gone" }))"""
        )
        wearer.open("/")
        wearer.turn().get_by_role("button", name="Show this photo again").click()
        wearer.answer("How many pages does it have?")
    assert sent(reasoner)[-1] == ("How many pages does it have?", True)


def test_new_conversation_deletes_turns_and_session(open_page: Open) -> None:
    with open_page() as (wearer, _):
        wearer.look()
        wearer.answer("Who wrote this?")
        with wearer.page.expect_response(lambda reply: "/sessions/" in reply.url) as deleted:
            wearer.more("New conversation")
        assert deleted.value.status == 204
        expect(wearer.page.locator(".turn")).to_have_count(0)
        wearer.open("/")
        expect(wearer.page.locator(".turn")).to_have_count(0)


def test_history_is_deleted_entry_by_entry_and_as_a_whole(open_page: Open) -> None:
    with open_page() as (wearer, _):
        for question in ("Who wrote The Salt Road?", "How many pages has it?", "When?"):
            wearer.answer(question)
        entries = wearer.page.locator("#history-list li")
        wearer.more("History")
        expect(entries).to_have_count(3)
        expect(entries.first).to_contain_text("When?")
        entries.nth(1).get_by_role("button", name="Delete").click()
        expect(entries).to_have_count(2)
        expect(wearer.page.locator(".turn .question")).to_have_text(["Who wrote The Salt Road?", "When?"])
        with wearer.page.expect_response(lambda reply: "/sessions/" in reply.url):
            wearer.page.get_by_role("button", name="Delete all").click()
        wearer.open("/")
        expect(wearer.page.locator(".turn")).to_have_count(0)
        wearer.more("History")
        expect(wearer.page.get_by_text("No questions yet.")).to_be_visible()


def test_late_answer_does_not_join_a_new_conversation(open_page: Open) -> None:
    reasoner, held = ScriptedReasoner(), list[Route]()
    with open_page(reasoner=reasoner) as (wearer, _):
        wearer.page.route("**/answer", lambda route: held.append(route))
        with wearer.page.expect_request("**/answer"):
            wearer.ask("Who wrote The Salt Road?")
        wearer.more("New conversation")
        held[0].continue_()
        expect(wearer.turn()).to_have_attribute("data-status", "done")
        wearer.page.unroute_all()
        wearer.answer("How many pages has The Salt Road?")
    assert [len(query.history) for query in reasoner.queries] == [0, 0]


def test_ask_again_pressed_twice_asks_once(open_page: Open) -> None:
    reasoner = unsure()
    with open_page(reasoner=reasoner) as (wearer, _):
        turn = wearer.answer("Who wrote The Salt Road?")
        again = turn.get_by_role("button", name="Ask again")
        again.evaluate("(button) => { button.click(); button.click(); }")
        expect(wearer.turn()).to_have_attribute("data-status", "done")
        expect(wearer.page.locator(".turn")).to_have_count(1)
        wearer.answer("And who printed it?")
    assert len(reasoner.queries) == 3


def test_refusal_shows_the_closest_passage_and_advice_and_says_them_aloud(open_page: Open) -> None:
    with open_page(reasoner=unsure()) as (wearer, _):
        wearer.look()
        turn = wearer.answer("Who wrote this?")
        advice, closest = turn.locator(".advice").inner_text(), turn.locator(".closest")
        expect(closest.locator("blockquote")).to_have_text(PAGES)
        expect(closest.locator("blockquote")).to_be_visible()
        expect(closest.get_by_role("link")).to_have_attribute("href", "https://pages.example/salt-road")
        spoken = " ".join(wearer.spoken())
        assert f"The closest I found: “{PAGES}” ({BOOK})." in spoken
        assert advice
        assert advice in spoken
        wearer.open("/")
        expect(wearer.turn().locator(".closest blockquote")).to_have_text(PAGES)


def test_degraded_answer_names_the_missing_stage(services: FakeServices, open_page: Open) -> None:
    services.ocr.mood = Mood.CRASHES
    with open_page(services) as (wearer, _):
        wearer.look()
        turn = wearer.answer("Who wrote this?")
        expect(turn.locator(".degraded")).to_have_text("Answered without reading the text in the photo.")


def test_photo_can_be_pasted_or_dropped(open_page: Open, photo: Path) -> None:
    reasoner = ScriptedReasoner()
    with open_page(reasoner=reasoner) as (wearer, _):
        for way in ("paste", "drop"):
            wearer.page.evaluate(ARRIVE, [way, base64.b64encode(photo.read_bytes()).decode()])
            wearer.page.locator("#stage[data-showing=photo]").wait_for()
            wearer.answer("Who wrote this?")
            wearer.page.get_by_role("button", name="New photo").click()
            wearer.page.locator("#stage[data-showing=nothing]").wait_for()
    assert sent(reasoner) == [("Who wrote this?", True)] * 2


def test_photo_is_scaled_less_when_text_is_to_be_read(open_page: Open, photo: Path) -> None:
    reasoner = ScriptedReasoner()
    large = photo.with_name("large.jpg")
    with Image.open(photo) as picture:
        picture.resize((3000, 2250)).save(large)
    with open_page(reasoner=reasoner, photo_max_side=4000) as (wearer, _):
        wearer.choose(large)
        wearer.answer("Who wrote this?")
        wearer.choose(large)
        wearer.answer("Read the small print to me")
    sizes = [(query.photo.width, query.photo.height) for query in reasoner.queries if query.photo]
    assert sizes == [(1280, 960), (1920, 1440)]


def test_file_that_is_not_a_photo_is_refused(open_page: Open, tmp_path: Path) -> None:
    broken, text = tmp_path / "broken.jpg", tmp_path / "notes.txt"
    broken.write_bytes(b"\xff\xd8\xff\xe0 no more than a beginning")
    text.write_text("notes")
    with open_page() as (wearer, _):
        wearer.page.locator("#file").set_input_files(text)
        expect(wearer.page.locator("#hint")).to_have_text("This file is not a photo.")
        wearer.page.locator("#file").set_input_files(broken)
        wearer.page.locator("#stage[data-showing=unseen]").wait_for()
        wearer.ask("Who wrote this?")
        expect(wearer.turn()).to_have_attribute("data-status", "failed")
        expect(wearer.turn().locator(".advice")).to_contain_text("photo")


def test_key_is_entered_once_and_can_be_removed(open_page: Open, tmp_path: Path) -> None:
    key = ApiKey.new()
    with open_page(keys=str(keys_file(tmp_path, anna=key))) as (wearer, _):
        dialog = wearer.page.get_by_role("dialog")
        wearer.ask("Who wrote The Salt Road?")
        dialog.get_by_label("Key").fill(ApiKey.new().text)
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.get_by_role("alert")).to_contain_text("not valid")
        dialog.get_by_label("Key").fill(key.text)
        dialog.get_by_role("button", name="Save").click()
        expect(wearer.turn()).to_have_attribute("data-status", "done")
        wearer.open("/")
        wearer.answer("Who wrote The Salt Road?")
        wearer.more("Key")
        dialog.get_by_role("button", name="Remove the key").click()
        wearer.ask("Who wrote The Salt Road?")
        expect(dialog.get_by_label("Key")).to_be_visible()


def test_untrusted_markup_and_addresses_are_shown_as_text(services: FakeServices, open_page: Open) -> None:
    finds(services, HOSTILE, HOSTILE, "file:javascript:alert(1)")
    with open_page(services, quoting(HOSTILE)) as (wearer, _):
        wearer.look()
        turn = wearer.answer(HOSTILE)
        for place in (".question", ".answer", ".thing", "details.source b", "blockquote"):
            expect(turn.locator(place).first).to_have_text(HOSTILE)
        assert turn.locator("b b, .answer > *, a, img[src=x]").count() == 0
        assert wearer.page.title() == "Loreglass"


def test_keyboard_alone_reaches_everything(open_page: Open) -> None:
    with open_page() as (wearer, _):
        press = wearer.page.keyboard.press
        press("Tab")
        assert focused(wearer) == "open-camera"
        press("Enter")
        wearer.page.locator("#stage[data-showing=live]").wait_for()
        reached = []
        while len(reached) < 20 and focused(wearer) != "more":
            press("Tab")
            reached.append(focused(wearer))
        assert reached == ["question", "send", "choose", "sound", "hold", "again", "more"]
        wearer.page.locator("#question").focus()
        wearer.page.keyboard.type("Who wrote this?")
        press("Enter")
        expect(wearer.turn()).to_have_attribute("data-status", "done")


def focused(wearer: Wearer) -> str:
    name: str = wearer.page.evaluate("() => document.activeElement.id")
    return name
