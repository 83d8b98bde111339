"""Names, and which language a text is in."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.identification import ForeignLanguage, foreign_language_of, foreign_languages, is_english
from language.names import agreement, alike, coverage, mentions, name_words, names, same_name
from tests.unit.language.hostile import TEXTS

ASKED = {
    "fr": "COMBIEN DE PAGES A CE LIVRE ?|Où se trouve ce pont?|combien ça coûte|comment ça marche ?|Lis ceci",
    "de": "Wer hat das geschrieben?|Was ist das?|Was kostet die Flasche|Lies das vor|übersetze das hier",
    "es": "¿Quién pintó esto?|Quién escribió este libro|cuánto cuesta esto|qué es esto|léeme esto ahora",
    "it": "Chi ha scritto questo libro?|Quanto costa?|Come si chiama?|leggi questo cartello",
    "pt": "Quem pintou isto?|Quanto custa isso|onde fica este museu?",
    "nl": "Wat is dit?|Hoe hoog is deze toren|Waar is het museum?|wie heeft dit gemaakt",
    "sv": "Vem har målat det här?|vad kostar den här|Hur gammal är kyrkan?",
    "da": "Hvem har malet det?|Hvad er det for en bygning|hvor gammel er den?",
    "pl": "Kto jest autorem tej książki?|ile to kosztuje jest|Gdzie jest ten most?",
    "cs": "Kdo to napsal?|Jak se jmenuje tato ulice|kolik to je",
    "ro": "Cine a pictat acest tablou?|Unde este muzeul?|ce este asta",
    "hu": "Mennyi ez?|Ki volt az építész, és mikor|Milyen magas ez a torony?",
    "tr": "Bu nedir?|Bu kitap ne kadar ve kim|Nerede bu müze?",
    "id": "Berapa harga ini?|Siapa yang menulis buku ini|ini apa",
    "vi": "Cái này là gì?|Ai viết cuốn sách này được không|đây là cái gì",
    "ru": "Кто это написал?|сколько это стоит",
    "uk": "Хто це написав і коли?|Скільки коштує цей стіл і її висота",
    "el": "Ποιος το έγραψε;",
    "ar": "من كتب هذا الكتاب؟",
    "fa": "این کتاب را چه کسی نوشته است؟",
    "he": "מי כתב את הספר הזה?",
    "hi": "यह किताब किसने लिखी?",
    "bn": "এই বইটি কে লিখেছেন?",
    "th": "ใครเขียนหนังสือเล่มนี้",
    "ko": "이 책은 누가 썼나요?",
    "ja": "この本は誰が書きましたか|これは何？",
    "zh": "这本书是谁写的|這是什麼？",
}
NAME_OF_ENGLISH = {
    **{"fr": "anglais", "de": "Englisch", "es": "inglés", "it": "inglese", "pt": "inglês", "nl": "Engels"},
    **{"sv": "engelska", "da": "engelsk", "pl": "angielsku", "cs": "angli", "ro": "englez", "hu": "angol"},
    **{"tr": "İngilizce", "id": "bahasa Inggris", "vi": "tiếng Anh", "ru": "английск", "uk": "англійськ"},
    **{"el": "αγγλικά", "ar": "الإنجليزية", "fa": "انگلیسی", "he": "אנגלית", "hi": "अंग्रेज़ी", "bn": "ইংরেজি"},
    **{"th": "ภาษาอังกฤษ", "ko": "영어", "ja": "英語", "zh": "英语"},
}
_ENGLISH = (
    "who painted La Primavera?|Who wrote Das Kapital?|Who painted La Gioconda de Leonardo da Vinci?|"
    "La Dolce Vita|price?|Was Das Boot directed by him?|Die Zauberflöte: who composed it?|Rio de Janeiro|"
    "And the author?|Que Sera Sera singer?|Plaza de la Constitución opening hours?|"
    "El Palacio de los Deportes seats?|Casa de las Conchas: built when|Read the Wo ist was sign|"
    "translate Quanto costa questo|explain tutti frutti|Cine lens price?|Lis Pendens?|"
    "Lees Summit population?|Lies of P developer?|comment section?|Leia actress?|"
    "Comment te dire adieu singer?|Quanta magazine?|Wo Hop address?|Ou Yang?|Vem Chang net worth?|"
    "What is umami?|who sings 99 Luftballons|who sings Ne me quitte pas|How do you say Guten Tag|"
    "sushi or sashimi?|pho ingredients|pad thai recipe|piñata filling|crème brûlée calories?|"
    "who is Wie geht's by?|where does jambon de Bayonne come from|is that a croque monsieur|"
    "el capitan height|Museo del Prado architect?|Les Demoiselles d'Avignon painter?|"
    "Der Ring des Nibelungen length|Der Spiegel, what does an issue cost?|Dove soap ingredients?|"
    "Ile de France population?|Wat Arun height?|Che Guevara born when?|Come Together writer?|"
    "Chi energy meaning?|Kim Possible voice actress?|Mi Band battery?|AI camera price?|Hoe blade size?|"
    "KDE logo?|Var function?|Van der Waals force?|Ludwig van Beethoven's birthplace?|"
    "Vincent van Gogh Museum ticket price|Jean de La Fontaine fables|Da Vinci or Della Robbia?|"
    "El Niño and La Niña difference|Los Angeles de los Santos?|São Paulo or Porto Alegre?|"
    "Citroën DS Pallas horsepower?|Le Corbusier house?|Château de Chambord rooms?|"
    'Mont Saint-Michel et sa baie?|how old is Notre-Dame de Paris?|what does "où sont les toilettes" mean?|'
    "what is qué es esto in English?|Whose is Kde domov můj?|translate Wo ist der Bahnhof|"
    "is Bir Hakeim near?|can you read Как дела?|tell me about Ta Prohm|Quo vadis?|Ben Hur|"
    "WHO PAINTED LA PRIMAVERA?|Tokyo 東京 tower height|height in metres|Cat breed?|Dan Brown book?|"
    "Ben ist who?"
)
ENGLISH = _ENGLISH.split("|")


@pytest.mark.parametrize(
    ("code", "question"), [(code, each) for code, asked in ASKED.items() for each in asked.split("|")]
)
def test_language_of_a_question_is_identified(code: str, question: str) -> None:
    assert not is_english(question)
    result = foreign_language_of(question)
    assert result is not None
    assert result.code == code


@pytest.mark.parametrize("question", ENGLISH)
def test_a_name_does_not_make_a_question_foreign(question: str) -> None:
    assert is_english(question)
    assert foreign_language_of(question) is None


def test_a_script_that_is_not_listed_is_not_english_either() -> None:
    assert not is_english("இந்த புத்தகத்தை எழுதியவர் யார்?")
    assert foreign_language_of("இந்த புத்தகத்தை எழுதியவர் யார்?") is None


@pytest.mark.parametrize("language", foreign_languages(), ids=lambda language: language.code)
def test_language_refusals_are_in_their_own_language(language: ForeignLanguage) -> None:
    assert NAME_OF_ENGLISH[language.code] in language.refusal
    assert NAME_OF_ENGLISH[language.code] in language.advice


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_has_a_language_or_none(text: str) -> None:
    result = foreign_language_of(text)
    assert result is None or not is_english(text)


@given(st.sampled_from(ENGLISH), st.sampled_from(["", " ", "\n", "​"]))
def test_invisible_characters_change_nothing(question: str, hidden: str) -> None:
    assert is_english(hidden + question + hidden)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It hangs in the Museum of Modern Art in New York.", ["Museum of Modern Art", "New York"]),
        ("The Great Bridge was built by J. K. Mason.", ["Great Bridge", "J. K. Mason"]),
        ("He wrote The Great Gatsby.", ["The Great Gatsby"]),
        ("We flew in a Boeing 747 from St. John's.", ["Boeing 747", "St. John"]),
        ("She owns an iPhone 14 and a Fiat 500.", ["iPhone 14", "Fiat 500"]),
        ("It was opened on Monday, 3 June 1894.", []),
        ("Painting is hard. Usually nobody cares.", []),
        ("Visitors like it; visitors return.", []),
        ("Einstein was born in Ulm.", ["Einstein", "Ulm"]),
        ("Vincent van Gogh met Jean-Paul de la Tour.", ["Vincent van Gogh", "Jean-Paul de la Tour"]),
        ("a poem by Homer\nopen daily", ["Homer"]),
        ("nothing here", []),
    ],
)
def test_capitalised_words_are_names_except_at_a_sentence_start(text: str, expected: list[str]) -> None:
    assert [name.text for name in names(text)] == expected


@given(st.text(alphabet=st.sampled_from("aAbB. \n'’-&19ofde")))
def test_names_are_verbatim_and_in_order(text: str) -> None:
    result = names(text)
    assert all(name.text == text[name.start : name.end] != "" for name in result)
    assert all(a.end <= b.start for a, b in pairwise(result))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        *[("harbour", "harbcur", True), ("lighthouse", "1ighthouse", False), ("gold", "cold", False)],
        *[("tower", "towr", True), ("1894", "1895", False), ("observatory", "observclory", True)],
        ("observatory", "obscrvatoy", False),
    ],
)
def test_ocr_errors_are_tolerated_in_long_words_only(a: str, b: str, same: bool) -> None:
    assert alike(a, b) is alike(b, a) is same


@given(st.text(min_size=1), st.text())
def test_any_texts_can_be_compared(name: str, text: str) -> None:
    assert 0.0 <= coverage(name, text) <= 1.0
    assert mentions(text, name) in {True, False}
    assert same_name(name, text) == same_name(text, name)
    share = agreement(name, text)
    assert share is None or 0.0 <= share <= 1.0


def test_names_match_without_small_words_accents_and_order() -> None:
    assert same_name("The Café Müller", "Muller cafe")
    assert not same_name("Fiat 500", "Fiat 600")
    assert not same_name("", "the")
    assert name_words("The Who") == ("the", "who")


def test_text_mentions_a_name_if_its_words_are_close() -> None:
    assert mentions("The old harbour museum of Rye is small.", "Rye Harbour Museum")
    assert not mentions(
        "Rye has a mill. " + "It is old and quaint. " * 5 + "A harbour museum.", "Rye Harbour Museum"
    )
    assert mentions("RYEHARBOURMUSEUM", "Rye Harbour Museum")


def test_printed_text_agrees_by_its_share_of_the_name() -> None:
    assert agreement("Rye Harbour Museum, England", "RYE HARBOUR\nMUSEUM") == 1.0
    assert agreement("Rye Harbour Museum", "Rye Castle Hotel") == pytest.approx(3 / 16)
    assert agreement("Fiat 500", "Fiat 600 Turbo") == 0.5
    assert agreement("Fiat 500", "Fiat") is None


@pytest.mark.parametrize("text", TEXTS)
def test_long_malicious_texts_are_compared(text: str) -> None:
    assert len(names(text)) <= len(text)
    assert coverage(text, text) <= 1.0
    assert mentions(text, "John of one A") in {True, False}
    assert agreement("one", text) is None or agreement("one", text) in {0.0, 1.0}
