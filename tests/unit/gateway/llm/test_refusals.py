"""What counts as "I don't know": all spellings of it, and no answer that only contains such words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.reasoning.refusals import answer_or_none, is_refusal

REFUSALS = [
    *("I don't know", "I don't know.", "I don’t know", "I don‘t know!", "I don`t know", "i dont know"),
    *("I DON'T KNOW THE ANSWER", "I do not know", "I do not know who painted this."),
    *("I really don't know.", "I honestly do not know the answer to that", "We don't know."),
    *("Don't know", '"I don\'t know"', "'I don't know.'", "“I don’t know.”", "**I don't know**"),
    *("Answer: I don't know", "The answer is: I don't know.", "Sorry, I don't know."),
    *("I'm sorry, but I don't know which church this is.", "Unfortunately, I do not know."),
    "Based on the photo alone, I don't know.",
    *("Based on the provided evidence, I cannot determine the price.", "No, I don't know."),
    *("I think I don't know.", "The statue shows a rider, but I don't know who he is."),
    "I don't know the exact date, but it was probably in the 1920s.",
    *("It is a Fiat 500. I do not know its price.", "It is a moka pot, and I cannot say who made it."),
    *("I\u200b don\u200b't know", "Ｉ ｄｏｎ'ｔ ｋｎｏｗ", "I cannot determine the answer."),
    *("I cannot determine the model of the car", "Cannot determine", "cannot be determined"),
    *("It cannot be determined from the photo.", "The year cannot be determined from the image."),
    *("The model of the car can't be identified.", "I can't tell", "I can’t tell which one it is."),
    *("Can't tell.", "I can not say.", "I could not find the answer in the evidence."),
    *("We cannot confirm this.", "I'm not sure", "I’m not sure.", "Im not sure"),
    *("I am not entirely sure, but it may be the Louvre.", "Not sure", "I am not certain", "Unsure"),
    *("I'm unable to answer", "Unable to determine", "I am unable to identify the plant in the photo."),
    *("As an AI language model, I am unable to see that.", "I was unable to find this.", "No idea"),
    *("I have no idea.", "I have absolutely no clue", "idk", "I dunno", "", "\n", "...", "-", "?"),
    *("N/A", "N / A", "n.a.", "N/A (not shown in the photo)", "null", "unknown"),
    *("Unknown from the image", "Answer: unknown", "unclear", "Not available"),
    *("Not enough information.", "There is not enough information to answer.", "Insufficient evidence"),
    *("There is no information about its price.", "The evidence does not mention the architect."),
    *("The provided context doesn't say.", "It is unclear who built it.", "It's unknown."),
    *("It is impossible to say.", "It is not possible to tell from the photo."),
    *("The answer is unknown.", "The answer to this question is not known."),
]

ANSWERS = [
    "'I Don't Know How to Love Him' is the song",
    *('"I Don\'t Know How to Love Him" is sung by Mary Magdalene.', "I Don't Know How to Love Him"),
    *("The song is I Don't Know How to Love Him.", "The song is 'I Don't Know' by Ozzy Osbourne."),
    *("It is from “I don’t know” by Paul McCartney.", "The album is called Unknown Pleasures."),
    *("The Unknown Soldier", "The Tomb of the Unknown Warrior is in Westminster Abbey."),
    "Unknown Pleasures was released in 1979.",
    *("The painter of the icon is unknown, it is dated to about 1410.", "Can't Tell Me Nothing"),
    *("Cannot Hall stands near Cannock.", "Can't Stop by Red Hot Chili Peppers."),
    *("You can't tell them apart by their leaves, only by their fruit.", "Kiwis cannot fly.", "No"),
    *("No.", "No, the tank is nearly empty.", "None", "None of the dishes contains nuts.", "0", "Na"),
    *("NA is the country code of Namibia.", "Nile", "Nil desperandum means never despair."),
    *("Not Now, Bernard was written by David McKee.", "Sure is a brand of deodorant."),
    "Uncertain, Texas, has 85 inhabitants.",
    *("The Uncertainty principle was stated by Heisenberg in 1927.", "Clueless was released in 1995."),
    *("The notice says that visitors cannot enter.", "The sign says 'Don't know? Ask us!'"),
    *('The speech bubble says "I don\'t know".', "He said that he did not know about it."),
    *("Scientists do not know exactly why cats purr.", "Socrates said he knew that he did not know."),
    *("The museum is not sure of its date, about 1850.", "The photo does not show a cat."),
    *("This mushroom cannot be eaten.", "No Idea's Original is a song by Nas.", "Knowledge is power."),
    *("√", "♀", "7", "x is 7.", "東京", "The Great Unknown", "The evidence room opened in 1999."),
    "The information desk is closed.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_recognised(text: str) -> None:
    assert is_refusal(text)
    assert answer_or_none(text) is None


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_that_contains_such_words_stands(text: str) -> None:
    assert not is_refusal(text)
    assert answer_or_none(text) == text


def test_no_text_is_a_refusal() -> None:
    assert is_refusal(None)


@pytest.mark.parametrize("text", [t for t in REFUSALS if any(c.isalpha() for c in t)])
def test_space_and_capitals_change_nothing(text: str) -> None:
    assert is_refusal(f"  {text}\n")
    assert is_refusal(text.upper())
    assert is_refusal(text.lower())


@given(st.text(alphabet="I dontkw'\"“”‘’.,!nNaA/cant tell the image ", max_size=400))
def test_any_text_is_one_or_the_other(text: str) -> None:
    assert is_refusal(text) in (True, False)


@pytest.mark.parametrize(
    "unit",
    ["'", "'a", "based on the ", "the image ", "i ", "no idea ", "“", "as an ai so so so ", "as an ai so, "],
)
def test_long_hostile_text_is_read_only_so_far(unit: str) -> None:
    assert is_refusal(unit * 100_000) in (True, False)
