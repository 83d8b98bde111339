"""Plants, animals, sports and the natural sciences."""

from services.reranker.lexicon.relation import AnswerType as A
from services.reranker.lexicon.relation import relation as r

SCIENCE = (
    r(
        "lifespan",
        A.MEASURE,
        "how long * live | life span | lifespan | life expectancy | how old * get | how old can",
        "lifespan | live for | lives | life expectancy | years old | longevity | live up to",
    ),
    r(
        "habitat",
        A.PLACE,
        "where * live | habitat | native to | where * found | where does * grow | natural range"
        " | where can you find",
        "native to | habitat | found in | lives in | grows in | range | endemic | distribution | occurs",
    ),
    r(
        "diet",
        A.TEXT,
        "what * eat | diet | feed on | what does * feed | food of",
        "eats | diet | feeds on | feed | prey | grazes | hunts | omnivore | herbivore | carnivore",
    ),
    r(
        "scientific name",
        A.TEXT,
        "scientific name | latin name | botanical name | what species | which species | which family | genus",
        "scientific name | species | genus | family | known botanically | latin name | binomial",
    ),
    r(
        "conservation status",
        A.TEXT,
        "endangered | conservation status | threatened | rare | extinct | how many are left",
        "endangered | conservation | threatened | vulnerable | least concern | extinct"
        " | protected | population",
    ),
    r(
        "breed origin",
        A.PLACE,
        "which breed | what breed | where was the breed | breed come from",
        "breed | bred | crossbreed | originated | bred in",
    ),
    r(
        "offspring",
        A.NUMBER,
        "how many eggs | how many young | litter | gestation | pregnant | offspring",
        "eggs | litter | gestation | clutch | young | pups | offspring | breeding",
    ),
    r(
        "toxicity",
        A.TEXT,
        "poisonous | toxic | dangerous | venomous | harmful | edible | can i eat | safe for",
        "poisonous | toxic | venomous | harmful | edible | dangerous | safe | irritate",
    ),
    r(
        "watering",
        A.TEXT,
        "how often * water | watering | how much water | how do i care | how to care",
        "water | watering | moist | drought | soil | dry out | weekly",
    ),
    r(
        "light needs",
        A.TEXT,
        "how much sun | how much light | sunlight | full sun | shade | where should i plant"
        " | where should i put",
        "sun | light | shade | sunlight | bright | window | sunny",
    ),
    r(
        "spacing",
        A.MEASURE,
        "how far apart | spacing | how close together | distance between | how much room",
        "spacing | apart | distance | spaced | between plants",
    ),
    r(
        "bloom",
        A.DATE,
        "when * bloom | flowering | when * flower | blossom | when * harvest | when * plant"
        " | when * ripe | sow",
        "blooms | flowers | flowering | blossom | harvest | sow | sown | ripens | planted"
        " | season | spring | summer",
    ),
    r(
        "hardiness",
        A.TEXT,
        "survive winter | frost | hardy | how cold | hardiness | outside in winter",
        "hardy | frost | hardiness | winter | temperatures | zone",
    ),
    r(
        "chemical formula",
        A.TEXT,
        "chemical formula | chemical symbol | atomic number | what element | molecular",
        "formula | symbol | atomic number | element | compound | molecule",
    ),
    r(
        "temperature",
        A.MEASURE,
        "what temperature | boiling point | melting point | how hot | freezing point",
        "temperature | boiling point | melting point | degrees | celsius | fahrenheit | boils | melts",
    ),
    r(
        "density",
        A.MEASURE,
        "density | how dense",
        "density | dense | per cubic",
    ),
    r(
        "definition",
        A.TEXT,
        "what is a | what does * mean | definition | meaning of | what are | explain | stand for",
        "means | defined as | definition | refers to | is a | is the | stands for | meaning",
    ),
    r(
        "formula",
        A.TEXT,
        "what formula | which theorem | equation for | law of | how do i calculate | how do you work out",
        "formula | theorem | equation | law | equals | calculated | multiplied | sum",
    ),
    r(
        "symptoms",
        A.TEXT,
        "symptoms | side effects | dosage | how many tablets | how often can i take",
        "symptoms | side effects | dose | dosage | tablets | daily | mg",
    ),
    r(
        "orbit",
        A.MEASURE,
        "how far from the sun | orbit | how many moons | diameter",
        "orbit | moons | diameter | distance from the sun | radius",
    ),
    r(
        "game rules",
        A.TEXT,
        "how do you play | rules of | how is it played | how do i win | aim of the game",
        "players | rules | aim | turn | score | object of the game | wins",
    ),
    r(
        "equipment",
        A.TEXT,
        "what equipment | what do i need to play | which racket | which ball",
        "equipment | ball | racket | bat | gear | helmet",
    ),
)
