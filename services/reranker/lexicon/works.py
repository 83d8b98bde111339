"""Books, pictures, films, music, games: who made them, when, and what they are like."""

from services.reranker.lexicon.relation import AnswerType as A
from services.reranker.lexicon.relation import relation as r

WORKS = (
    r(
        "author",
        A.PERSON,
        "who wrote | who * written by | who * write | author | writer of | whose book"
        " | who penned | wrote this",
        "author | written by | wrote | writer | penned | novel by | book by | novelist | co-written",
    ),
    r(
        "other works",
        A.TEXT,
        "what other * written | what else * written | other books | other novels"
        " | which other * wrote | what else * painted | other works | other * same author"
        " | what else has * published",
        "also wrote | other books | other works | other novels | also written | bibliography"
        " | notable works | books by | novels include | also the author | author of"
        " | also painted | works include",
    ),
    r(
        "publisher",
        A.TEXT,
        "publisher | who published | which company published | published by | publishing house | imprint",
        "publisher | published by | publishing house | imprint | issued by | brought out by | press",
    ),
    r(
        "publication date",
        A.DATE,
        "when * published | year * published | publication date | publication year"
        " | when * come out | when * released | first printed | what year * released"
        " | how old is * book | release date | when did * appear | what year * come out",
        "published | publication date | publication year | publication | first edition | released"
        " | release date | came out | appeared in | first printed | hit the shelves"
        " | year of release | in print since | issued | brought out",
    ),
    r(
        "page count",
        A.NUMBER,
        "how many pages | page count | number of pages | how long is * book | how thick | pages does",
        "pages | page count | pp | paged | page",
    ),
    r(
        "isbn",
        A.NUMBER,
        "isbn | book number | what * isbn",
        "isbn | international standard book number",
    ),
    r(
        "series",
        A.TEXT,
        "which series | what series | part of a series | belong to * series | sequel | prequel"
        " | which volume | book number in | trilogy",
        "series | sequel | prequel | trilogy | volume | instalment | saga | cycle | follows",
    ),
    r(
        "genre",
        A.TEXT,
        "what genre | what kind of book | what kind of music | what type of book"
        " | what kind of film | what sort of game | category of | which genre",
        "genre | thriller | romance | mystery | memoir | fantasy | non fiction | biography | category",
    ),
    r(
        "plot",
        A.TEXT,
        "what * about | plot | story of | summary | what happens in | premise",
        "follows | tells the story | about | plot | story | set in | concerns | explores | recounts",
    ),
    r(
        "main character",
        A.PERSON,
        "main character | protagonist | hero of | heroine | who is the lead | leading role",
        "protagonist | main character | hero | heroine | central figure | lead character | stars",
    ),
    r(
        "original language",
        A.TEXT,
        "what language | which language | original language | translated from",
        "language | translated from | written in | originally in | original language",
    ),
    r(
        "translator",
        A.PERSON,
        "who translated | translator",
        "translated by | translator | translation by",
    ),
    r(
        "illustrator",
        A.PERSON,
        "who illustrated | illustrator | who drew | who did the drawings | cover artist"
        " | who designed the cover",
        "illustrated by | illustrator | drawings by | cover art | cover design | illustrations",
    ),
    r(
        "editor",
        A.PERSON,
        "who edited | editor of",
        "edited by | editor",
    ),
    r(
        "painter",
        A.PERSON,
        "who painted | painter | which artist | who is the artist | who made this painting"
        " | who * painted by | whose painting | artist behind | artist of | who created",
        "painted by | painter | artist | painting by | canvas by | created by | work of | brush | painted",
    ),
    r(
        "creation date",
        A.DATE,
        "when * painted | what year * painted | when * created | when * made | year * made"
        " | date from | when * finished | when * completed",
        "painted in | painted | completed | created | dates from | dated | made in | finished"
        " | year | executed in | date",
    ),
    r(
        "art technique",
        A.TEXT,
        "what medium | which technique | painted with | oil or | what * painted on | art style"
        " | which style | what movement | art movement",
        "medium | oil on | watercolour | watercolor | tempera | acrylic | technique | canvas"
        " | movement | style | gouache | fresco",
    ),
    r(
        "exhibited at",
        A.PLACE,
        "which museum | where * hang | where * displayed | where * exhibited | where * on display"
        " | which gallery | where can i see | where is * kept | where * housed",
        "museum | gallery | hangs | on display | exhibited | displayed | collection | housed | kept",
    ),
    r(
        "sculptor",
        A.PERSON,
        "who sculpted | sculptor | who carved | who cast",
        "sculptor | sculpted by | carved by | cast by | sculpture by",
    ),
    r(
        "director",
        A.PERSON,
        "who directed | director of | film maker | filmmaker",
        "directed by | director | film by | helmed",
    ),
    r(
        "cast",
        A.PERSON,
        "who starred | who stars | who plays | who played | actor in | actress in | cast of",
        "starring | stars | cast | played by | portrayed by | actor | actress | role",
    ),
    r(
        "performer",
        A.PERSON,
        "who sings | who sang | which band | who performs | who recorded | singer of"
        " | who is playing | who is performing | headliner | which artists",
        "singer | band | performed by | sung by | recorded by | artist | headliner | line up"
        " | vocals | performs",
    ),
    r(
        "composer",
        A.PERSON,
        "who composed | composer | who wrote the music | songwriter",
        "composed by | composer | music by | songwriter | score by",
    ),
    r(
        "running time",
        A.MEASURE,
        "how long * last | how long is the film | how long is the movie | running time | duration"
        " | how many minutes | how long does * take | how long is the",
        "running time | duration | minutes | runtime | lasts | hours long | takes | length",
    ),
    r(
        "awards",
        A.TEXT,
        "what awards | which prize | which award | won any | what prize | has it won",
        "award | prize | won | medal | winner | shortlisted | honoured | awarded",
    ),
    r(
        "copies sold",
        A.NUMBER,
        "how many copies | copies sold | how many * sold | sales figures | how well did * sell",
        "copies | sold | sales | bestseller | units",
    ),
    r(
        "number of players",
        A.NUMBER,
        "how many players | how many people can play | number of players | how many can play",
        "players | for two to | player | people can play",
    ),
    r(
        "age rating",
        A.NUMBER,
        "what age | age rating | suitable for children | minimum age | how old do you have to be | age limit",
        "aged | age rating | ages | years and up | recommended age | minimum age | suitable for | and over",
    ),
)
