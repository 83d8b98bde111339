"""The words that the naming grammars combine."""

from __future__ import annotations


def _spaced(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _barred(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


WOMEN = _spaced(
    "Ada Agnes Alma Astrid Beatrix Bridget Carla Cecily Clara Cora Dagny Edith Elena Elsa Esther Freya "
    "Greta Hanna Helga Ines Ingrid Irena Judith Karin Katrin Lena Lidia Lotte Mabel Marta Matilda Mira "
    "Nora Olga Paula Petra Rosa Ruth Sabine Selma Sofia Tamsin Tilda Una Vera Wanda Winifred Yvonne"
)
MEN = _spaced(
    "Albin Anton Arvid Axel Bastian Bruno Casper Conrad Dario Edgar Edmund Emil Felix Fergus Gideon "
    "Gustav Hector Henrik Hugo Ivan Jasper Joachim Kaspar Konstantin Lambert Leopold Linus Lorenz "
    "Magnus Mateo Milo Nestor Oskar Otto Pascal Quentin Rasmus Roland Rufus Silas Stefan Theo Tobias "
    "Ulrich Valentin Victor Walter Wendel"
)
SURNAME_HEADS = _spaced(
    "Abel Ander Bar Bel Bren Cal Cor Dal Dor Eld Fal Fen Gar Hal Har Hel Hol Jan Kel Kor Lan Lin Lor "
    "Mal Mar Mor Nor Ol Pel Quin Ran Ros Sal Sel Ste Tal Tor Ul Val Ver Wal Wen Wil Zel"
)
SURNAME_MIDDLES = ("", "", "a", "en", "er", "i", "is", "o", "eth")
SURNAME_TAILS = _spaced(
    "berg bourne by combe cott dahl den der dine ford gard grove ham hart haus holm kamp land lin low "
    "man mere mont nik rick rose sen ska son stad strom thorpe ton vik ward well wick"
)
TOWN_HEADS = _spaced(
    "Alder Ash Birch Black Brack Bram Bright Cald Cherry Clay Cold Copper Crow Dun Elm Fern Fox Gold "
    "Grey Hart Haver Hazel Heron High Kelder Kings Lark Long Maple Marsh Mill Nether North Oak Otter "
    "Over Pine Raven Red Rook Salt Sand Silver South Stam Stone Swan Thorn Upper West White Wild Willow "
    "Wolf"
)
TOWN_TAILS = _spaced(
    "beck bridge brook burn bury by cliff combe cross dale den fell field ford gate hampton haven hill "
    "holt hurst ley marsh mere mouth port ridge stead stoke stow thorpe ton wald water wick worth"
)
BRAND_HEADS = _spaced(
    "Al Ar Bel Bri Cal Cel Cor Dra Ela Fen Fio Gal Hel Iso Jun Kar Kel Lum Mar Mel Nor Nov Oli Or Pal "
    "Pra Quo Ril Sal Sol Tam Tel Tri Ul Val Ver Vin Wil Xan Yor Zan"
)
BRAND_MIDDLES = _spaced("a e i o ari en et on or u")
BRAND_TAILS = _spaced("bra dia la lis lo mark mo na nix ra rel ria ro ssa ssi sta tec ten tis vex via zo")
ADJECTIVES = _spaced(
    "amber ancient borrowed bright broken bitter careless cold crimson crooked distant drowned early "
    "empty endless faithful fallen forgotten frozen gentle gilded golden hidden hollow hungry idle "
    "invisible iron last lonely lost narrow northern pale patient perfect quiet restless rusted sacred "
    "salted scarlet second secret silent sleeping slow southern stolen stubborn sudden tangled "
    "unfinished velvet wandering wild winter wooden"
)
NOUNS = _spaced(
    "almanac anchor apiary archive atlas bakery ballad beacon bell bridge candle carousel cartographer "
    "clockmaker compass courier crane cuckoo daughter diary dragonfly elephant envoy ferry fiddler "
    "fisherman forest garden glacier glassblower granary gardener harbour harvest heron horizon "
    "hourglass island juniper kingfisher kite labyrinth lantern ledger letter library lighthouse "
    "locksmith magpie map meadow merchant mirror monsoon mountain museum nightingale notebook oarsman "
    "observatory orchard orphan painter parade passenger pilgrim postman quarry railway raven regatta "
    "river saddle sailor shepherd sparrow station stranger summer swimmer tailor tide tower translator "
    "umbrella valley violin voyage watchman weaver well widow windmill winter"
)
PLURALS = _spaced(
    "apples arrows bells bridges candles clouds doors embers feathers foxes ghosts harbours keys "
    "lanterns letters mirrors oranges promises questions rivers rooms ropes sailors shadows shells "
    "sisters stairs stones stories swallows thorns trains whispers windows wolves"
)
GERUNDS = _spaced(
    "chasing carrying counting crossing drawing following forgetting inventing keeping leaving "
    "measuring mending painting reading remembering repairing stealing teaching translating watching"
)
GENRES = _barred(
    "crime novel|historical novel|travel memoir|family saga|ghost story|adventure novel|"
    "science fiction novel|detective story|sea story|coming-of-age novel"
)
FOODS = _barred(
    "oat biscuits|dark chocolate|fruit muesli|rye crackers|honey granola|potato crisps|lentil soup|"
    "tomato sauce|rice cakes|almond cookies|ginger biscuits|corn flakes|noodle soup|hazelnut spread"
)
DRINKS = _barred("apple juice|iced tea|orange lemonade|oat drink|ginger ale|pear cider|tomato juice")
FLAVOURS = _barred(
    "sea salt|lemon and thyme|smoked paprika|wild berry|cinnamon|roasted onion|orange zest|vanilla|"
    "maple|rosemary|cherry|mint|black pepper|apricot"
)
ALLERGENS = _spaced("wheat milk soya hazelnuts almonds sesame celery mustard eggs barley peanuts lupin")
GADGETS = _barred(
    "wireless headset|bluetooth speaker|digital radio|action camera|power bank|e-reader|"
    "pocket projector|bike computer|weather station|voice recorder|camping lantern"
)
COLOURS = _spaced("graphite ivory teal coral sand navy olive burgundy silver mustard")
COUNTRIES = _spaced("Portugal Denmark Austria Ireland Slovenia Estonia Belgium Norway Poland Italy")
MEDIA = _barred("oil on canvas|tempera on panel|oil on copper|gouache on paper|acrylic on canvas|oil on oak")
DISHES = _barred(
    "onion soup|pumpkin soup|fish stew|lamb curry|mushroom risotto|spinach pie|grilled trout|"
    "roast chicken|beetroot salad|goat cheese salad|beef goulash|potato gratin|lentil stew|duck breast|"
    "vegetable lasagne|baked aubergine|smoked salmon toast|chestnut soup"
)
DESSERTS = _barred(
    "apple tart|plum cake|lemon sorbet|chocolate mousse|rice pudding|pear crumble|almond torte"
)
DRINK_ROWS = _barred(
    "house lemonade|elderflower water|espresso|mint tea|red wine|white wine|dark beer|apple juice|hot cocoa"
)
CUISINES = _spaced("Alpine Basque Baltic Flemish Galician Ligurian Nordic Silesian Tyrolean")
SHOP_TYPES = _barred(
    "bakery|bookshop|cheese shop|flower shop|hardware store|tea house|barber shop|toy shop|"
    "bicycle workshop|record shop|pharmacy|stationery shop"
)
EVENTS = _barred(
    "jazz festival|chamber music week|film nights|book fair|harbour regatta|science fair|"
    "folk dance evening|ceramics market|poetry slam|light festival|guitar marathon|puppet theatre days"
)
PLANTS = _spaced("tomato lettuce carrot radish sunflower basil pumpkin bean poppy cornflower pepper leek")
DEEDS = _barred(
    "built the first tidal clock|wrote the songs of the river boatmen|founded the free night school|"
    "discovered two comets|printed the first newspaper of the county|designed the iron footbridge|"
    "ran the first children's hospital|painted the ceiling of the town hall|mapped the salt caves|"
    "invented a loom for blind weavers|taught astronomy to sailors|led the bakers' strike"
)
SOCIETIES = _barred(
    "Historical Society|Civic Trust|Antiquarian Club|Heritage League|Museum Friends|Local History Circle"
)
TRADES = _barred(
    "bookbinder|tram driver|school teacher|pharmacist|piano tuner|beekeeper|railway clerk|ship's cook|"
    "land surveyor|night porter|gardener|watchmaker|typesetter|vet"
)
SUBJECTS = _spaced(
    "botany philosophy law architecture medicine history mathematics music engineering theology"
)
HOBBIES = _barred(
    "collecting old padlocks|long-distance rowing|growing orchids|playing the bassoon|"
    "repairing typewriters|keeping racing pigeons|mushroom hunting|ice swimming|carving chess pieces|"
    "baking rye bread"
)
STREETS = _spaced("Street Lane Road Row Square Passage Hill Quay Walk")
