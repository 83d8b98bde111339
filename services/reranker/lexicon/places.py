"""Buildings, shops, restaurants, towns, events."""

from services.reranker.lexicon.relation import AnswerType as A
from services.reranker.lexicon.relation import relation as r

PLACES = (
    r(
        "location",
        A.PLACE,
        "where is | where * located | which city | which town | which country | which street"
        " | what street | location of | where can i find | in which | where are | what country",
        "located | in the city | situated | stands | address | street | location | lies | city"
        " | town | country | found at | corner | square",
    ),
    r(
        "address",
        A.PLACE,
        "address | what street | which street | street number | house number | how do i get to | directions",
        "address | street | road | avenue | square | lane | number | quay",
    ),
    r(
        "opening hours",
        A.TIME,
        "when * open | what time * open | opening hours | what time * close | when * close"
        " | is it open | open on | still open | how late | opening times | closed on | open today"
        " | which days",
        "opening hours | open from | opens | open | closes | closed | hours | daily from | until"
        " | weekdays | opening times",
    ),
    r(
        "built",
        A.DATE,
        "when * built | what year * built | when * constructed | how old is | construction date"
        " | when * completed | when * erected | age of the building",
        "built | constructed | construction | completed | erected | dates from | dates back"
        " | century | opened in | foundation stone",
    ),
    r(
        "opened",
        A.DATE,
        "when did * open | when was * opened | opening date | inaugurated | when * inaugurated | first open",
        "opened | inaugurated | opening | opened its doors | since | doors in | founded",
    ),
    r(
        "architect",
        A.PERSON,
        "who designed | architect | who built | designer | designed by",
        "architect | designed by | designer | design by | built by | plans by | commissioned",
    ),
    r(
        "architectural style",
        A.TEXT,
        "architectural style | what style * built | style of architecture | what style is",
        "style | gothic | baroque | romanesque | modernist | neoclassical | architecture | renaissance",
    ),
    r(
        "height",
        A.MEASURE,
        "how tall | how high | height | elevation | what height | tallest",
        "tall | high | height | elevation | metres tall | rises | above sea level | stands",
    ),
    r(
        "floors",
        A.NUMBER,
        "how many floors | how many storeys | how many stories | how many levels",
        "floors | storeys | stories | levels | storey",
    ),
    r(
        "area",
        A.MEASURE,
        "how big is | what area | surface area | how large | square metres | how many acres"
        " | size of the park",
        "area | square kilometres | square metres | hectares | acres | covers | surface",
    ),
    r(
        "population",
        A.NUMBER,
        "population | how many people live | how many inhabitants | residents",
        "population | inhabitants | residents | people live | census | home to",
    ),
    r(
        "capacity",
        A.NUMBER,
        "how many people fit | capacity | how many seats | how many * hold | seating | how many guests",
        "capacity | seats | seating | holds | accommodates | spectators | room for",
    ),
    r(
        "visitors",
        A.NUMBER,
        "how many visitors | how many people visit | annual visitors | how many tourists",
        "visitors | visited by | tourists | attendance | people visit",
    ),
    r(
        "ticket price",
        A.MONEY,
        "how much * ticket | entry fee | ticket price | admission | entrance fee"
        " | how much * to get in | how much does it cost to visit | cost of entry"
        " | how much * enter | tickets cost",
        "admission | tickets | entry | entrance fee | ticket | at the door | free of charge | concession",
    ),
    r(
        "event date",
        A.DATE,
        "when is the | when does * take place | what date | which day | what day | when * held"
        " | when * happen | when does * start | when does * begin | when was the",
        "takes place | held on | date | scheduled | starts on | begins | on the evening"
        " | opens on | takes place on | held",
    ),
    r(
        "venue",
        A.PLACE,
        "which venue | where * take place | where is the concert | where * held | where is the show | venue",
        "venue | takes place at | held at | hall | theatre | arena | stage | hosted",
    ),
    r(
        "organizer",
        A.TEXT,
        "who organises | who organizes | organiser | organizer | hosted by | who hosts | sponsor",
        "organised by | organized by | hosted by | organiser | presented by | sponsored by | promoter",
    ),
    r(
        "what happened here",
        A.TEXT,
        "what happened here | what happened in | why is * famous | why * plaque | commemorate"
        " | significance | what is * for | why was",
        "commemorates | marks | happened | memory of | site of | signed | here in | honour of"
        " | took place | lived here | plaque",
    ),
    r(
        "phone",
        A.NUMBER,
        "phone number | telephone | call them | how can i reach | contact",
        "phone | telephone | tel | call | contact",
    ),
    r(
        "website",
        A.TEXT,
        "website | web address | url | email",
        "website | www | online at | email | web",
    ),
    r(
        "cuisine",
        A.TEXT,
        "what kind of food | what cuisine | what do they serve | speciality | signature dish"
        " | what do they sell | what can i buy | what is * on the menu",
        "cuisine | serves | speciality | specialises | signature dish | menu | known for | sells | dishes",
    ),
    r(
        "rating",
        A.NUMBER,
        "how many stars | what rating | reviews | is it any good | michelin | how good is",
        "rating | stars | rated | reviews | out of five | score",
    ),
    r(
        "distance",
        A.MEASURE,
        "how far | distance | how many miles | how many kilometres | how long is the walk",
        "distance | far | kilometres | miles | metres from | away | walk",
    ),
    r(
        "length",
        A.MEASURE,
        "how long is | length of | how many metres long | span",
        "long | length | span | metres | stretches | runs for",
    ),
    r(
        "depth",
        A.MEASURE,
        "how deep | depth",
        "deep | depth | below the surface | metres down",
    ),
    r(
        "named after",
        A.TEXT,
        "named after | where does the name | why is it called | origin of the name"
        " | what does the name mean | name come from",
        "named after | name comes | takes its name | etymology | called after | name derives | named for",
    ),
    r(
        "capital",
        A.PLACE,
        "capital of | what is the capital | capital city",
        "capital",
    ),
    r(
        "currency",
        A.TEXT,
        "what currency | which currency | what money",
        "currency | legal tender",
    ),
    r(
        "rules",
        A.TEXT,
        "can i bring | am i allowed | is it allowed | allowed to | permitted | do i need"
        " | dress code | rules | may i | can i take | maximum size",
        "allowed | permitted | prohibited | forbidden | must | not exceed | limit | rule"
        " | maximum | required | up to | banned",
    ),
)
