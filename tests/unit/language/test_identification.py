"""Which language a question is in: English in doubt, and no name makes it another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.identification import ForeignLanguage, foreign_language_of, foreign_languages, is_english
from tests.unit.language.hostile import TEXTS

ASKED = {
    "fr": (
        "Combien de pages a ce livre ?|Qui a peint ce tableau?|Où se trouve ce pont?|combien ça coûte|"
        "comment ça marche ?|Lis ceci|Quelle est la hauteur de la tour"
    ),
    "de": (
        "Wer hat das geschrieben?|Was ist das?|Wie alt ist er?|Was kostet die Flasche|"
        "Wie heißt der Architekt?|Lies das vor|übersetze das hier"
    ),
    "es": (
        "¿Quién pintó esto?|Quién escribió este libro|cuánto cuesta esta botella|qué es esto|léeme esto ahora"
    ),
    "it": (
        "Chi ha scritto questo libro?|Quanto costa?|Come si chiama?|"
        "dove si trova questo castello|leggi questo cartello"
    ),
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
    "Tokyo 東京 tower height|height in metres|Cat breed?|Dan Brown book?|Ben ist who?"
)
ENGLISH = _ENGLISH.split("|")


@pytest.mark.parametrize(
    ("code", "question"), [(code, each) for code, asked in ASKED.items() for each in asked.split("|")]
)
def test_a_question_in_another_language_is_known_by_its_language(code: str, question: str) -> None:
    assert not is_english(question)
    found = foreign_language_of(question)
    assert found is not None
    assert found.code == code


@pytest.mark.parametrize("question", ENGLISH)
def test_a_name_does_not_make_a_question_foreign(question: str) -> None:
    assert is_english(question)
    assert foreign_language_of(question) is None


def test_shouting_hides_no_language() -> None:
    assert not is_english("COMBIEN DE PAGES A CE LIVRE ?")
    assert is_english("WHO PAINTED LA PRIMAVERA?")


def test_a_script_that_is_not_listed_is_not_english_either() -> None:
    assert not is_english("இந்த புத்தகத்தை எழுதியவர் யார்?")
    assert foreign_language_of("இந்த புத்தகத்தை எழுதியவர் யார்?") is None


@pytest.mark.parametrize("language", foreign_languages(), ids=lambda language: language.code)
def test_a_refusal_speaks_of_english_in_its_own_language(language: ForeignLanguage) -> None:
    assert NAME_OF_ENGLISH[language.code] in language.refusal
    assert NAME_OF_ENGLISH[language.code] in language.advice


def test_some_twenty_languages_are_known() -> None:
    assert {each.code for each in foreign_languages()} == set(ASKED)


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_in_some_language_or_none(text: str) -> None:
    found = foreign_language_of(text)
    assert found is None or not is_english(text)


@given(st.sampled_from(ENGLISH), st.sampled_from(["", " ", "\n", "​"]))
def test_what_cannot_be_seen_changes_nothing(question: str, hidden: str) -> None:
    assert is_english(hidden + question + hidden)
