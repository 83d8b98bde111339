"""Things one buys: food, electronics, clothes, vehicles."""

from services.reranker.lexicon.relation import AnswerType as A
from services.reranker.lexicon.relation import relation as r

PRODUCTS = (
    r(
        "price",
        A.MONEY,
        "how much * cost | how much is | price | what does * cost | how expensive | cost of"
        " | how much are | what do they charge | how much for | how much would | cheaper"
        " | cheapest | more expensive | most expensive | how much do i pay | worth | retail"
        " | sell for | how much money | less than * euros",
        "price | costs | cost | sells for | priced | retail | for only | charge | msrp | rrp"
        " | worth | available for | goes for | per portion | list price | euros | pounds"
        " | dollars | on sale | retails",
    ),
    r(
        "manufacturer",
        A.TEXT,
        "who makes | manufacturer | which company makes | which brand | what brand | made by"
        " | who produces | who manufactures | producer | which company",
        "manufacturer | made by | manufactured by | produced by | maker | brand | producer"
        " | built by | makes | produces | company",
    ),
    r(
        "origin",
        A.PLACE,
        "where * made | country of origin | where * come from | where * produced"
        " | where * manufactured | made in | where * grown",
        "made in | country of origin | produced in | manufactured in | origin | grown in"
        " | comes from | imported from | originates | assembled",
    ),
    r(
        "release",
        A.DATE,
        "when * launched | when * released | when did * come out | launch date | introduced"
        " | when * introduced | how new is | what year * launched | model year"
        " | when * go on sale | when * first sold",
        "launched | released | introduced | launch | came out | unveiled | announced"
        " | on sale since | debuted | release date | went on sale | since",
    ),
    r(
        "weight",
        A.MEASURE,
        "how heavy | weight | how much * weigh | how many grams | how many kilos | weigh | net weight",
        "weighs | weight | mass | grams | kilograms | net weight | heavy | kg | tips the scales",
    ),
    r(
        "dimensions",
        A.MEASURE,
        "how big | dimensions | what size | how wide | how large | measurements | width"
        " | how thick | how tall is the box | will it fit",
        "dimensions | measures | size | wide | width | by | centimetres | inches | millimetres | cm | mm",
    ),
    r(
        "volume",
        A.MEASURE,
        "how many litres | how much liquid | volume | how many millilitres"
        " | how much does it hold | how much fits | how many ml | capacity of the bottle",
        "litres | millilitres | volume | ml | capacity | holds | cl",
    ),
    r(
        "energy",
        A.MEASURE,
        "how many calories | calories | kcal | how much energy | fattening | energy content | kilojoules",
        "calories | kcal | energy | kilocalories | kj | calorie | caloric",
    ),
    r(
        "sugar",
        A.MEASURE,
        "how much sugar | sugar content | sugary | how sweet",
        "sugar | sugars | sweetened | sugar content",
    ),
    r(
        "protein",
        A.MEASURE,
        "how much protein | protein",
        "protein",
    ),
    r(
        "fat",
        A.MEASURE,
        "how much fat | fat content | saturated",
        "fat | saturated | fats | saturates",
    ),
    r(
        "salt",
        A.MEASURE,
        "how much salt | sodium | salty",
        "salt | sodium",
    ),
    r(
        "caffeine",
        A.MEASURE,
        "how much caffeine | caffeine | caffeinated",
        "caffeine | caffeinated | decaffeinated",
    ),
    r(
        "alcohol",
        A.MEASURE,
        "how strong | alcohol | abv | how much alcohol | proof",
        "alcohol | abv | proof | by volume | alcoholic",
    ),
    r(
        "ingredients",
        A.TEXT,
        "what is in | ingredients | made of | made from | what is it made | contain | contains"
        " | what goes into | how is it made",
        "ingredients | made from | contains | made with | consists of | blend of | recipe"
        " | made of | includes",
    ),
    r(
        "allergens",
        A.TEXT,
        "allergic | allergens | gluten | nuts | lactose | vegan | vegetarian | dairy | halal"
        " | kosher | safe to eat | suitable for | without nuts",
        "allergens | allergy | gluten | nuts | lactose | vegan | vegetarian | dairy | free from"
        " | traces | halal | kosher | suitable for | may contain | plant based",
    ),
    r(
        "flavour",
        A.TEXT,
        "what flavour | what flavor | taste | tastes | which flavour | which flavor | which variety",
        "flavour | flavor | taste | tastes | flavoured | notes of | aroma | variety",
    ),
    r(
        "shelf life",
        A.DATE,
        "best before | expire | expiry | expiration | how long does it keep | shelf life | go off | use by",
        "best before | expires | expiry | shelf life | keeps for | use by | once opened | store",
    ),
    r(
        "preparation",
        A.MEASURE,
        "how long * cook | how do i cook | how do you prepare | how to prepare | cooking time"
        " | how to make | boil | bake",
        "cook | cooking time | minutes | boil | bake | prepare | oven | simmer | serve | heat",
    ),
    r(
        "serving",
        A.NUMBER,
        "how many servings | serving size | portions | how many people does it serve"
        " | how many pieces | how many are in | how many come in",
        "servings | serves | portion | serving size | pieces | pack of | portions | per pack",
    ),
    r(
        "battery life",
        A.MEASURE,
        "battery | how long * charge | battery life | how long does the battery"
        " | how many hours does it last | power pack",
        "battery | battery life | mah | hours of | charge | playback | on a single charge | recharge",
    ),
    r(
        "power",
        A.MEASURE,
        "how many watts | power | wattage | voltage | how much power | horsepower | how powerful"
        " | how many volts",
        "watts | power | wattage | voltage | horsepower | output | hp | kw | volts",
    ),
    r(
        "screen",
        A.MEASURE,
        "screen size | display | how big is the screen | resolution | inches is the screen",
        "screen | display | inch | resolution | pixels | oled | lcd",
    ),
    r(
        "memory",
        A.MEASURE,
        "how much memory | how much storage | ram | how many gigabytes | storage",
        "memory | storage | ram | gb | gigabytes | flash",
    ),
    r(
        "processor",
        A.TEXT,
        "which processor | what chip | cpu | processor | chipset",
        "processor | chip | cpu | chipset | core",
    ),
    r(
        "connectivity",
        A.TEXT,
        "bluetooth | wifi | wireless | usb | connect | which ports | does it have * port | compatible",
        "bluetooth | wifi | wi fi | usb | port | wireless | connects | compatible | jack",
    ),
    r(
        "camera",
        A.MEASURE,
        "how many megapixels | camera | zoom | lens",
        "megapixel | camera | lens | zoom | sensor | aperture",
    ),
    r(
        "warranty",
        A.MEASURE,
        "warranty | guarantee | how long is it guaranteed | covered",
        "warranty | guarantee | guaranteed | covered | years cover",
    ),
    r(
        "waterproof",
        A.TEXT,
        "waterproof | water resistant | can it get wet | rain proof | splash",
        "waterproof | water resistant | ip67 | ip68 | ipx | splash | water | rain",
    ),
    r(
        "noise",
        A.MEASURE,
        "how loud | noise level | decibels | how quiet",
        "noise | decibels | db | loud | quiet | volume",
    ),
    r(
        "colour",
        A.TEXT,
        "what colour | what color | which colours | which colors | colours | colors",
        "colour | color | colours | colors | shade | finish | comes in | red | black | blue | white | green",
    ),
    r(
        "material",
        A.TEXT,
        "what material | made out of | what fabric | which material | leather or"
        " | what is * made of | cotton",
        "material | fabric | cotton | leather | wool | made of | aluminium | steel | plastic"
        " | polyester | wood | fibre",
    ),
    r(
        "care",
        A.TEXT,
        "how do i wash | washing | machine wash | can i wash | iron | dry clean | how do i clean"
        " | dishwasher",
        "wash | machine washable | hand wash | iron | dry clean | clean | dishwasher | degrees",
    ),
    r(
        "designer",
        A.PERSON,
        "who designed | designer | fashion house | which designer",
        "designed by | designer | design | fashion house | label",
    ),
    r(
        "top speed",
        A.MEASURE,
        "how fast | top speed | maximum speed | speed | acceleration | zero to",
        "top speed | speed | km h | mph | fast | accelerates | acceleration",
    ),
    r(
        "fuel",
        A.MEASURE,
        "fuel consumption | mileage | mpg | fuel economy | what fuel | petrol or | diesel"
        " | how far * on a charge | range | electric range | how economical",
        "fuel | mpg | litres per | petrol | diesel | consumption | range | electric | hybrid | economy",
    ),
    r(
        "engine",
        A.TEXT,
        "what engine | engine size | cylinders | how many gears | transmission",
        "engine | cylinder | litre | gearbox | transmission | turbo | motor | cc | gears",
    ),
    r(
        "passengers",
        A.NUMBER,
        "how many passengers | how many people * carry | how many doors | how many seats",
        "passengers | seats | seater | carries | people | doors",
    ),
    r(
        "units produced",
        A.NUMBER,
        "how many were made | how many * built | how many * produced | production number",
        "produced | built | units | production | made | examples",
    ),
    r(
        "discontinued",
        A.DATE,
        "discontinued | still made | still sold | still available | when did * stop | withdrawn",
        "discontinued | ceased | withdrawn | production ended | no longer | replaced by | last",
    ),
    r(
        "successor",
        A.TEXT,
        "successor | replaced by | predecessor | newer model | previous model | newer version",
        "successor | replaced | predecessor | succeeded | follow up | earlier model",
    ),
)
