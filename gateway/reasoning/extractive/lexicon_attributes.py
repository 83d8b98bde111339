"""Relations that describe a thing: measures, counts, prices, names, materials, habits. General English, any domain."""

from gateway.reasoning.extractive.relation import Answer, Relation, relation

_Q, _N, _P = Answer.QUANTITY, Answer.NUMBER, Answer.PHRASE

MEASURES: tuple[Relation, ...] = (
    relation(
        "price",
        Answer.MONEY,
        "price|cost|ticket price|retail price|fee|charge|list price|rrp|msrp|launch price|admission|entry fee|admission fee|ticket|tickets|price tag|entrance fee|fare|price per night|rate|cover charge|value",
        asks=r"\bhow (?:much|expensive|pricey|cheap)\b(?!.*\b(?:weigh|protein|fat|sugar|salt|energy|memory|storage|water|power|caffeine|alcohol|fibre|fiber|carb)).*\b(?:costs?|is|are|does|do|would|will|for|pay|to get in|set me back|charge)\b"
        "\n"
        r"\bwhat (?:does|do|would|will) .* (?:cost|costs|set me back|sell for|go for|retail for)\b"
        "\n"
        r"\bwhat would i pay\b"
        "\n"
        r"\b(?:pay|paid) for\b"
        "\n"
        r"\bhow much\??$",
        cues=r"\b(?:costs?|priced? at|sells? (?:for|at)|retails? (?:for|at)|goes for|available for|on sale (?:for|at)|pay|charges?|asking|for (?:just|only|about|around|as little as))\b",
        dimension="money",
    ),
    relation(
        "weight",
        _Q,
        "weight|mass|net weight|net wt|gross weight|net contents|shipping weight|body weight|net content|contents",
        asks=r"\bhow heavy\b" "\n" r"\bhow (?:much|many \w+) (?:does|do|did|would) .*\bweigh",
        cues=r"\bweigh(?:s|ing|ed)?\b" "\n" r"\btips the scales\b" "\n" r"\bon the scales?\b",
        dimension="mass",
    ),
    relation(
        "height",
        _Q,
        "height|elevation|altitude|tall",
        asks=r"\bhow (?:tall|high)\b",
        cues=r"\b(?:tall|high|in height|rises|stands|measures)\b",
        dimension="length",
    ),
    relation(
        "length",
        _Q,
        "length|long|overall length",
        asks=r"\bhow long (?:is|are|was)\b(?! (?:the )?(?:warranty|guarantee|battery|film|movie|runtime|concert|show|wait|flight|trip))",
        cues=r"\b(?:long|in length|stretches|extends|measures)\b",
        dimension="length",
    ),
    relation(
        "width",
        _Q,
        "width|breadth|wide",
        asks=r"\bhow (?:wide|broad)\b",
        cues=r"\b(?:wide|in width|across|measures)\b",
        dimension="length",
    ),
    relation(
        "depth",
        _Q,
        "depth|deep|thickness|thick",
        asks=r"\bhow (?:deep|thick)\b",
        cues=r"\b(?:deep|thick|in depth|measures)\b",
        dimension="length",
    ),
    relation("diameter", _Q, "diameter", dimension="length"),
    relation(
        "dimensions",
        _Q,
        "dimensions|size|measurements|canvas size|format|size of the canvas",
        asks=r"\b(?:how (?:big|large)|what size)\b",
        cues=r"\b(?:measures|measuring|canvas of)\b",
        dimension="length",
    ),
    relation(
        "screen size",
        _Q,
        "screen size|display size|display|screen",
        asks=r"\bhow (?:big|large) is (?:the|its) (?:screen|display)\b",
        cues=r"\b(?:screen|display)\b",
        dimension="length",
    ),
    relation(
        "area",
        _Q,
        "area|floor area|surface area|land area|floor space",
        cues=r"\b(?:covers?|spans?|occup(?:y|ies))\b",
        dimension="area",
    ),
    relation(
        "volume",
        _Q,
        "volume|capacity|tank capacity|bottle size|contents|net volume|fluid capacity|net contents|tank",
        asks=r"\bhow (?:much (?:liquid|water|drink)|many (?:millilitres|milliliters|ml|litres|liters))\b"
        "\n"
        r"\bhow much (?:does|can|will) .*\bhold",
        cues=r"\b(?:holds?|contains?|bottle|bottles|can of)\b",
        dimension="volume",
    ),
    relation(
        "energy",
        _Q,
        "energy|calories|calorie content|kcal|energy value|energy per 100 g|calories per serving|energy content|calorie count",
        asks=r"\b(?:how many|how much) (?:k?cal(?:ories|s)?|energy|kilojoules)\b"
        "\n"
        r"\bcalor(?:ies|ific|ie)\b"
        "\n"
        r"\bhow fattening\b",
        cues=r"\b(?:calories|kcal|energy|kilojoules)\b",
        dimension="energy",
    ),
    *(
        relation(
            nutrient,
            _Q,
            nouns,
            asks=rf"\bhow (?:much|many (?:grams|mg|milligrams|g) of) (?:\w+ )?(?:{nouns})\b",
            cues=rf"\b(?:{nouns})\b",
            dimension="mass",
        )
        for nutrient, nouns in (
            ("protein", "protein|proteins"),
            ("fat", "fat|fats|total fat"),
            ("saturated fat", "saturates|saturated fat|saturated fats"),
            ("sugar", "sugar|sugars|sugar content"),
            ("salt", "salt|sodium|salt content"),
            ("fibre", "fibre|fiber|dietary fibre|dietary fiber"),
            ("carbohydrates", "carbohydrates|carbohydrate|carbs"),
            ("caffeine", "caffeine|caffeine content"),
            ("cholesterol", "cholesterol"),
            ("calcium", "calcium"),
            ("vitamin C", "vitamin c"),
        )
    ),
    relation(
        "alcohol content",
        Answer.PERCENT,
        "alcohol|abv|alcohol content|alcohol by volume|strength",
        asks=r"\bhow (?:strong|alcoholic|much alcohol)\b",
        cues=r"\b(?:abv|alcohol|vol)\b",
        dimension="percent",
    ),
    relation(
        "cocoa content",
        Answer.PERCENT,
        "cocoa|cocoa content|cocoa solids|cacao",
        cues=r"\b(?:cocoa|cacao)\b",
        dimension="percent",
    ),
    relation(
        "battery life",
        _Q,
        "battery life|battery runtime|playtime|battery|running time on battery|endurance|play time|runtime|battery duration",
        asks=r"\bhow long (?:does|do|will|can|would) .*\b(?:battery|charge|last|run)\b"
        "\n"
        r"\bbattery life\b"
        "\n"
        r"\bhow many hours .*\b(?:battery|charge)\b",
        cues=r"\b(?:battery|per charge|single charge|full charge|playback|between charges)\b",
        dimension="time",
    ),
    relation(
        "charging time",
        _Q,
        "charging time|charge time|recharge time",
        asks=r"\bhow long (?:does|do|will) .*\bto (?:re)?charge\b",
        cues=r"\b(?:re)?charg(?:es?|ing)\b",
        dimension="time",
    ),
    relation(
        "battery capacity",
        _Q,
        "battery capacity|battery size",
        asks=r"\bhow big is (?:the|its) battery\b",
        cues=r"\bbattery\b",
        dimension="charge",
    ),
    relation(
        "duration",
        _Q,
        "duration|running time|runtime|playing time|length|run time|playtime|cooking time|preparation time|prep time|baking time|brewing time|flight time|steeping time",
        asks=r"\bhow long (?:does|do|did|will|should|must|would|is the) .*\b(?:take|last|cook|cooked|bake|boil|run|go on|steep|brew|heat|be cooked|film|movie|show|concert|wait|flight|trip|simmer|rest|runtime|performance|play)\b",
        cues=r"\b(?:lasts?|lasting|takes?|runs? for|running time|for about|cook|bake|boil|steep|brew|simmer)\b",
        dimension="time",
    ),
    relation(
        "warranty",
        _Q,
        "warranty|guarantee|warranty period|guarantee period|warranty length|manufacturer warranty",
        asks=r"\bhow long (?:is|does) .*\b(?:warranty|guarantee|covered|guaranteed)\b"
        "\n"
        r"\b(?:under|covered by) (?:warranty|guarantee)\b",
        cues=r"\b(?:warranty|guarantee|guaranteed|covered)\b",
        dimension="time",
    ),
    relation(
        "shelf life",
        _Q,
        "shelf life|storage life",
        asks=r"\bhow long (?:does|do|will|can) .*\b(?:keep|stay fresh|be stored|stay good)\b",
        cues=r"\b(?:keeps?|shelf|fresh|stored)\b",
        dimension="time",
    ),
    relation(
        "range",
        _Q,
        "range|driving range|wireless range|bluetooth range|radio range|electric range",
        asks=r"\bhow far\b.*\b(?:go|reach|drive|get|travel|work)\b",
        cues=r"\brange\b",
        dimension="length",
    ),
    relation(
        "distance",
        _Q,
        "distance",
        asks=r"\bhow far (?:is|are|away)\b",
        cues=r"\b(?:away|from|distance)\b",
        dimension="length",
    ),
    relation(
        "speed",
        _Q,
        "speed|top speed|maximum speed|max speed|velocity",
        asks=r"\bhow fast\b",
        cues=r"\b(?:speed|km/h|mph|reaches)\b",
        dimension="speed",
    ),
    relation(
        "power",
        _Q,
        "power|power output|wattage|power consumption|output|engine power|horsepower|rated power",
        asks=r"\bhow (?:powerful|many watts|much power|much horsepower)\b",
        cues=r"\b(?:power|watts?|wattage|output|draws?|delivers?|rated|horsepower)\b",
        dimension="power",
    ),
    relation("voltage", _Q, "voltage|operating voltage", asks=r"\bhow many volts\b", dimension="voltage"),
    relation(
        "frequency",
        _Q,
        "frequency|refresh rate|clock speed|frequency range",
        asks=r"\bhow many hertz\b",
        dimension="frequency",
    ),
    relation(
        "storage",
        _Q,
        "storage|memory|ram|storage capacity|internal storage|internal memory|disk",
        asks=r"\bhow (?:much|many (?:gigabytes|gb)) (?:of )?(?:memory|storage|ram|space)\b"
        "\n"
        r"\bhow many (?:gigabytes|gb)\b",
        cues=r"\b(?:storage|memory|gb)\b",
        dimension="data",
    ),
    relation(
        "resolution",
        _Q,
        "resolution|camera resolution|megapixels|sensor resolution",
        asks=r"\bhow many megapixels\b",
        cues=r"\b(?:megapixels?|resolution|sensor)\b",
        dimension="resolution",
    ),
    relation(
        "noise level",
        _Q,
        "noise level|noise|sound level|loudness",
        asks=r"\bhow (?:loud|noisy|quiet)\b",
        dimension="loudness",
    ),
    relation(
        "temperature",
        _Q,
        "temperature|storage temperature|oven temperature|serving temperature|melting point|boiling point|cooking temperature",
        asks=r"\bhow (?:hot|cold|warm)\b",
        dimension="temperature",
    ),
    relation(
        "serving size",
        _Q,
        "serving size|portion size|portion|serving",
        asks=r"\bhow (?:big|large) is (?:a|one) (?:serving|portion)\b",
        dimension="mass",
    ),
)

COUNTS: tuple[Relation, ...] = (
    relation(
        "number of pages",
        _N,
        "pages|page count|number of pages|page|length in pages",
        asks=r"\bhow many pages\b"
        "\n"
        r"\bhow (?:long|thick) is (?:this|that|the|it|my)?(?: \w+)?\b.*\b(?:book|novel)\b",
        cues=r"\bpages?\b",
    ),
    relation("number of chapters", _N, "chapters|number of chapters", cues=r"\bchapters?\b"),
    relation(
        "number of seats",
        _N,
        "seats|seating capacity|capacity|seating|number of seats|spectators",
        asks=r"\bhow many (?:people|seats|guests|visitors|passengers|persons|spectators)\b.*\b(?:seat|fit|hold|sit|room|carry|accommodate|in)?\b",
        cues=r"\b(?:seats?|seating|capacity|accommodates?|holds?|room for|guests|spectators)\b",
    ),
    relation(
        "number of servings",
        _N,
        "servings|portions|servings per container|serves|number of servings|servings per pack|servings per package",
        asks=r"\bhow many (?:servings|portions|people does .* serve)\b",
        cues=r"\b(?:servings|portions|serves)\b",
    ),
    relation(
        "population",
        _N,
        "population|inhabitants|residents|number of inhabitants",
        asks=r"\bhow many (?:people live|inhabitants|residents)\b",
        cues=r"\b(?:population|inhabitants|residents|people live|home to)\b",
    ),
    relation(
        "number of employees",
        _N,
        "employees|number of employees|staff|workforce|workers",
        asks=r"\bhow many (?:people (?:does|do|work)|employees|staff|workers)\b",
        cues=r"\b(?:employ(?:s|ees|ing)?|staff|workforce|workers)\b",
    ),
    relation("number of rooms", _N, "rooms|number of rooms|bedrooms", cues=r"\brooms?\b"),
    relation(
        "number of floors",
        _N,
        "floors|storeys|stories|number of floors|levels",
        asks=r"\bhow many (?:floors|storeys|stories|levels)\b",
        cues=r"\b(?:floors?|storeys?|stories|levels)\b",
    ),
    relation(
        "number of volumes",
        _N,
        "volumes|number of volumes|books in the series|number of books|titles in the series",
        asks=r"\bhow many (?:books|volumes|titles|parts|novels)\b.*\b(?:series|trilogy|saga|cycle|set)\b",
        cues=r"\b(?:volumes?|books|titles|novels|parts)\b",
    ),
    relation("number of members", _N, "members|number of members|band members", cues=r"\bmembers\b"),
    relation("number of players", _N, "players|number of players", cues=r"\bplayers\b"),
    relation(
        "number of pieces",
        _N,
        "pieces|number of pieces|parts|items per pack|pack size|number of items|quantity",
        asks=r"\bhow many (?:pieces|items|units|tablets|bags|biscuits|bars|sachets|capsules)\b",
        cues=r"\b(?:pieces|items|tablets|bags|bars|sachets|capsules)\b",
    ),
    relation(
        "copies sold",
        _N,
        "copies sold|sales|copies|units sold",
        asks=r"\bhow many (?:copies|units)\b",
        cues=r"\b(?:copies|sold|units)\b",
    ),
    relation(
        "number of children", _N, "children|number of children|kids", cues=r"\b(?:children|sons|daughters)\b"
    ),
    relation("number of doors", _N, "doors|number of doors", cues=r"\bdoors\b"),
    relation(
        "number of ports",
        _N,
        "ports|number of ports|usb ports|sockets|inputs",
        cues=r"\b(?:ports?|sockets|inputs)\b",
    ),
    relation(
        "rating",
        _N,
        "rating|score|review score|stars|average rating",
        asks=r"\bhow (?:well|highly) (?:is|was) .*\brated\b",
        cues=r"\b(?:rated|rating|stars|scores?)\b",
    ),
    relation(
        "age limit",
        _N,
        "minimum age|age limit|recommended age|age|age range",
        asks=r"\bhow old (?:do|must|should) (?:you|i|one|kids|children)\b",
        cues=r"\b(?:aged?|years|minimum)\b",
    ),
    relation("edition", _P, "edition|version|release"),
)

DESCRIPTIONS: tuple[Relation, ...] = (
    relation(
        "title",
        Answer.NAME,
        "title|name|full title|subtitle",
        asks=r"\bwhat(?:'s| is| was) (?:this|that|it|the \w+)(?: \w+)? (?:called|titled|entitled|named)\b"
        "\n"
        r"\bwhat .*\b(?:called|titled|entitled|named)\b",
    ),
    relation(
        "brand",
        Answer.NAME,
        "brand|brand name|make|label|trademark",
        asks=r"\b(?:which|what) brand\b"
        "\n"
        r"\b(?:which|what) (?:company|firm|manufacturer|maker|producer) (?:is|makes|made|manufactures|produces)\b",
    ),
    relation(
        "model",
        Answer.NAME,
        "model|model number|model name|part number|item number|type number|product code|reference",
    ),
    relation(
        "series",
        Answer.NAME,
        "series|book series|part of series|saga|trilogy|cycle|product line|line|range name|franchise",
        asks=r"\b(?:part of|belongs? to|in) (?:a|which|what|any) (?:series|trilogy|saga|cycle|collection)\b",
    ),
    relation(
        "volume number",
        _N,
        "volume number|number in series|volume in series|book number|position in series",
        asks=r"\b(?:which|what) (?:volume|book|part|number|instalment|installment) (?:of|in) (?:the|its|a|this|that|which|what) \w*\s?series\b",
    ),
    relation(
        "genre",
        _P,
        "genre|genres|kind of book|type of book|category|literary genre|music genre|style of music",
        asks=r"\b(?:what|which) (?:kind|type|sort|genre) of (?:book|novel|story|music|film|movie|game|fiction|show)\b",
        cues=r"\bgenre\b",
    ),
    relation(
        "subject",
        _P,
        "subject|topic|theme|subject matter|main subject|depicts|motif",
        asks=r"\bwhat(?:'s| is| was)? .*\b(?:about|depict|depicted|depicts|shown|show)\b",
    ),
    relation(
        "language",
        _P,
        "language|original language|languages|written in",
        asks=r"\b(?:what|which) language\b",
        cues=r"\b(?:written in|in the|language|translated from|originally in)\b",
    ),
    relation("nationality", _P, "nationality|citizenship", asks=r"\bwhat nationality\b"),
    relation(
        "occupation",
        _P,
        "occupation|profession|job|career|known for|occupations|trade",
        asks=r"\bwhat (?:did|does|do) (?:\w+ ){0,5}(?:do|work as) (?:for a living|for work|as a job)?\??$"
        "\n"
        r"\bwho (?:was|is|were) (?:this|that|the)? ?(?:person|man|woman|he|she)?\??$",
        cues=r"\b(?:worked as|was an?|profession)\b",
    ),
    relation(
        "reason for fame",
        _P,
        "known for|notable for|famous for|claim to fame|notable work|notable works|best known for|fame",
        asks=r"\b(?:known|famous|remembered|celebrated|notable|renowned|honou?red|commemorated) for\b",
        cues=r"\b(?:known for|famous for|remembered for|celebrated for|renowned for|noted for)\b",
    ),
    relation(
        "medium",
        _P,
        "medium|technique|media|painting technique|art medium|materials used",
        asks=r"\b(?:what|which) (?:medium|technique|kind of paint|type of paint|sort of paint|paint)\b"
        "\n"
        r"\bwhat (?:was|is|did) .*\b(?:paint(?:ed)?|drawn?) (?:with|on|in)\b",
        cues=r"\b(?:oil|acrylic|watercolou?r|tempera|gouache|canvas|panel|fresco|pastel|ink)\b",
    ),
    relation(
        "art movement",
        _P,
        "movement|art movement|art style|style|school|period",
        asks=r"\b(?:what|which) (?:art )?(?:movement|style|period|school)\b",
    ),
    relation(
        "material",
        _P,
        "material|materials|fabric|made of|made from|composition|construction material|casing|body material",
        asks=r"\bwhat(?:'s| is| are|) .*\b(?:made|built|constructed|woven|knitted|crafted) (?:of|from|out of|with)\b"
        "\n"
        r"\bwhat material\b"
        "\n"
        r"\bwhich material\b",
        cues=r"\b(?:made (?:of|from|out of|entirely)|crafted from|built from|material)\b",
    ),
    relation("colour", _P, "colour|color|colours|colors|shade", asks=r"\bwhat colou?rs?\b"),
    relation(
        "flavour",
        _P,
        "flavour|flavor|flavours|flavors|taste|variety|flavouring",
        asks=r"\b(?:what|which) (?:flavou?r|taste|variety)\b" "\n" r"\bwhat does .*\btaste (?:of|like)\b",
    ),
    relation(
        "ingredients",
        _P,
        "ingredients|main ingredient|contains|key ingredients|main ingredients|composition|ingredient",
        asks=r"\bwhat(?:'s| is| are|) (?:in|inside) (?:it|this|that|the)\b"
        "\n"
        r"\bmade (?:of|from|with)\b.*\b(?:food|dish|sauce|drink|recipe)\b",
        cues=r"\b(?:ingredients?|contains?|made (?:with|from|of)|combines)\b",
        plural=True,
    ),
    relation(
        "allergens",
        _P,
        "allergens|allergen|allergy information|contains",
        asks=r"\ballerg(?:y|ic|ens?)\b",
        cues=r"\b(?:allergens?|contains?|traces)\b",
        plural=True,
    ),
    relation(
        "storage advice",
        _P,
        "storage|storage instructions|storage conditions",
        asks=r"\bhow (?:should|do|must) (?:i|you|we|one) (?:store|keep)\b",
        cues=r"\b(?:store|stored|keep|refrigerate|refrigerated)\b",
    ),
    relation(
        "cuisine",
        _P,
        "cuisine|type of cuisine|food served",
        asks=r"\bwhat (?:kind|type|sort) of (?:food|cuisine)\b",
    ),
    relation(
        "speciality",
        _P,
        "speciality|specialty|signature dish|house special|specialities",
        asks=r"\bspeciali[sz]e",
    ),
    relation(
        "opening hours",
        Answer.HOURS,
        "opening hours|hours|opening times|business hours|store hours|open|trading hours|opening time|closing time|visiting hours",
        asks=r"\bwhen (?:does|do|is|are|will|can|did) .*\b(?:open|close|shut|closed|closing|opening)\b(?! (?:in|down|its))"
        "\n"
        r"\bwhat (?:time|hours|are).*\b(?:open|close|closing|opening|shut|shuts|closes|opens)\b"
        "\n"
        r"\bhow late\b"
        "\n"
        r"\bhow early\b"
        "\n"
        r"\bopening (?:hours|times)\b"
        "\n"
        r"\buntil when\b"
        "\n"
        r"\b(?:which|what) days? .*\b(?:open|closed|shut)\b",
        cues=r"\b(?:open|opens|hours|closed|closes|daily|mon|tue|sun)\b",
    ),
    relation(
        "start time",
        Answer.HOURS,
        "start time|doors|doors open|time|starts at|showtime|show time|curtain|kick-off",
        asks=r"\bwhat time\b(?!.*\b(?:open|close|shut))" "\n" r"\bat what (?:time|hour)\b",
        cues=r"\b(?:starts?|begins?|doors|at|from|curtain)\b",
    ),
    relation(
        "phone number",
        Answer.PHONE,
        "phone|phone number|telephone|tel|telephone number|contact number|number to call|mobile",
        asks=r"\b(?:phone|telephone) number\b"
        "\n"
        r"\b(?:what|which) number (?:do|should|can|must) (?:i|you|we) (?:call|ring|dial)\b",
        cues=r"\b(?:tel|phone|call|ring)\b",
    ),
    relation(
        "website",
        _P,
        "website|web site|url|homepage|web address|web page",
        asks=r"\b(?:website|web ?site|web address|url)\b",
        cues=r"\b(?:www|http|website)\b",
    ),
    relation("email", _P, "email|e-mail|email address", asks=r"\be-?mail\b", cues=r"@"),
    relation(
        "address",
        _P,
        "address|street address|street|street number|house number",
        asks=r"\b(?:what|which) street\b"
        "\n"
        r"\bhouse number\b"
        "\n"
        r"\bstreet number\b"
        "\n"
        r"\bwhat number\b.*\b(?:street|door|shop|house|building)\b",
        cues=r"\b(?:street|road|avenue|lane|square|address|row|st|place|alley|quay)\b",
    ),
    relation("capital", Answer.PLACE, "capital|capital city"),
    relation(
        "country",
        Answer.PLACE,
        "country|nation|country of origin|land",
        asks=r"\b(?:what|which) country\b" "\n" r"\bin (?:what|which) (?:country|nation)\b",
    ),
    relation(
        "city",
        Answer.PLACE,
        "city|town|village|municipality",
        asks=r"\b(?:what|which) (?:city|town|village|place)\b",
    ),
    relation(
        "venue",
        Answer.PLACE,
        "venue|location|hall|stage|theatre|where|place",
        asks=r"\b(?:what|which) (?:venue|hall|theatre|theater|club|stadium)\b",
    ),
    relation(
        "award",
        Answer.NAME,
        "award|awards|prize|prizes|honours|honors|medal|award won",
        asks=r"\b(?:what|which|any) (?:\w+ )?(?:awards?|prizes?|honou?rs?|medals?)\b",
        cues=r"\b(?:won|award|prize|medal|shortlisted|received|honou?red)\b",
    ),
    relation(
        "notable works",
        Answer.NAME,
        "notable works|works|books|novels|publications|other works|bibliography|paintings|other books|discography",
        plural=True,
    ),
    relation(
        "predecessor",
        Answer.NAME,
        "predecessor|preceded by|previous book|prequel|previous model|earlier model|replaces",
        asks=r"\bwhat (?:came|comes) before\b",
        cues=r"\b(?:preceded|prequel|previous|predecessor|replace[ds]?|follows|sequel to)\b",
    ),
    relation(
        "successor",
        Answer.NAME,
        "successor|followed by|next book|sequel|replaced by|newer model|next model",
        asks=r"\bwhat (?:came|comes) (?:after|next)\b",
        cues=r"\b(?:followed by|sequel|successor|succeeded|replaced by|next)\b",
    ),
    relation("operating system", Answer.NAME, "operating system|os|platform|software"),
    relation(
        "connectivity",
        _P,
        "connectivity|connection|connections|wireless|connector|ports|interface|charging port|charging connector",
        asks=r"\bhow (?:does|do|can) .*\bconnect\b"
        "\n"
        r"\b(?:what|which) (?:kind|type|sort) of (?:connector|port|cable|plug|connection)\b",
        cues=r"\b(?:connect|connects|connector|bluetooth|usb|wireless|port|cable)\b",
    ),
    relation(
        "battery type",
        _P,
        "battery type|batteries|power source|power supply|powered by",
        asks=r"\b(?:what|which) (?:kind|type|sort|size) of batter(?:y|ies)\b" "\n" r"\bhow is .*\bpowered\b",
        cues=r"\b(?:batter(?:y|ies)|powered|runs on)\b",
    ),
    relation(
        "water resistance",
        _P,
        "water resistance|waterproof rating|ip rating|protection rating|water rating|ingress protection|waterproofing",
        asks=r"\bwater ?(?:proof|resistant|resistance|tight)\b",
        cues=r"\b(?:waterproof|water.resistan\w+|ip[x\d]\w?\d?|splash\w*)\b",
    ),
    relation("features", _P, "features|functions|feature", plural=True),
    relation("isbn", _P, "isbn|isbn-13|isbn-10|isbn number"),
    relation(
        "species",
        _P,
        "species|scientific name|latin name|botanical name|breed",
        asks=r"\b(?:what|which) (?:species|breed|kind of (?:plant|animal|bird|flower|tree|dog|cat|fish|mushroom))\b",
    ),
    relation("scale", _P, "scale|map scale"),
    relation("currency", _P, "currency"),
    relation("religion", _P, "religion|denomination"),
    relation("mayor", Answer.PERSON, "mayor|head of government"),
    relation(
        "chief executive",
        Answer.PERSON,
        "ceo|chief executive|chief executive officer|managing director|head|boss|chair|chairman|president",
    ),
    relation("chef", Answer.PERSON, "chef|head chef|cook"),
    relation(
        "protagonist",
        Answer.PERSON,
        "protagonist|main character|hero|heroine|lead character|central character",
        asks=r"\bwho(?:'s| is) .*\b(?:main character|hero|heroine|protagonist)\b",
        cues=r"\b(?:follows|protagonist|hero|heroine|main character|tells the story of|story of)\b",
    ),
    relation("parent", Answer.PERSON, "parents|father|mother|parent"),
    relation(
        "teacher",
        Answer.PERSON,
        "teacher|mentor|tutor|instructor|studied under|pupil of|student of",
        asks=r"\bwho (?:taught|trained|mentored)\b" "\n" r"\bstud(?:y|ied) (?:under|with)\b",
        cues=r"\b(?:studied under|pupil of|student of|taught by|trained under|apprenticed? to|trained by|under)\b",
    ),
    relation(
        "influences",
        Answer.NAME,
        "influences|influenced by|inspiration|inspired by",
        asks=r"\b(?:influenced|inspired)\b",
        cues=r"\b(?:influenced|inspired)\b",
    ),
)

ATTRIBUTES: tuple[Relation, ...] = MEASURES + COUNTS + DESCRIPTIONS
