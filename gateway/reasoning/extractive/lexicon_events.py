"""Relations that events give: who did it, when, where. General English, any domain."""

from gateway.reasoning.extractive.relation import Relation, event

EVENTS: tuple[Relation, ...] = (
    # Works of the mind
    *event(
        "wrote|written|write|writes|authored|penned",
        who="author|writer|novelist|poet|playwright|authors|written by",
        when="year written|written",
    ),
    *event(
        "published|publish|publishes|publishing|brought out|put out|issued",
        who="publisher|publishing house|imprint|press|published by",
        when="publication date|date of publication|year of publication|publication year|published|first published|pub date",
        where="place of publication|publication place",
        agent="name",
    ),
    *event(
        "came out|come out|released|release|launched|launch|hit the shelves|hit the market|went on sale|go on sale|introduced|unveiled|debuted",
        when="release date|date of release|released|launch date|launched|introduction date|year of release|release year|first released|launch year|model year|introduced",
    ),
    *event(
        "illustrated|illustrate|illustrates|drew the pictures|did the illustrations|did the pictures",
        who="illustrator|illustrations|illustrated by|cover artist",
    ),
    *event("translated|translate", who="translator|translated by", when="translation date"),
    *event("edited|edit|edits", who="editor|edited by"),
    *event("narrated|narrates|narrate", who="narrator|narrated by"),
    *event(
        "painted|paint|paints|drawn|drew",
        who="painter|artist|painted by",
        when="year painted|date painted|painted|year of creation|creation date|date of creation",
        where="place painted",
    ),
    *event("sculpted|sculpt|carved|carve", who="sculptor|carver|sculpted by|artist", when="date sculpted"),
    *event("photographed|took this photo|took the photo", who="photographer", when="date photographed"),
    *event("composed|compose|composes", who="composer|composed by|music by", when="date composed"),
    *event("directed|direct|directs", who="director|directed by", when="year directed"),
    *event(
        "produced|produce|produces",
        who="producer|produced by|manufacturer",
        when="production date|year of production|produced",
        where="place of production|country of production|country of origin|produced in",
    ),
    *event(
        "starred|stars|starring|acted|acts|plays the lead|play the lead", who="starring|cast|lead actor|stars"
    ),
    *event(
        "sang|sung|sing|sings|performed|performs|perform|headlining|headlines|headline|playing",
        who="performer|singer|performers|headliner|act|line-up|lineup|artist",
        when="performance date",
        where="venue",
    ),
    *event(
        "recorded|record",
        who="recording artist|recorded by",
        when="recording date",
        where="recording location",
    ),
    *event(
        "created|create|creates",
        who="creator|created by|artist|inventor",
        when="date created|creation date|created|year of creation",
    ),
    *event("commissioned|commission", who="commissioner|commissioned by|patron", when="date commissioned"),
    # Making, building, founding
    *event(
        "made|make|makes|manufactured|manufacture|manufactures|built by the company|producing",
        who="manufacturer|maker|made by|producer|brand|manufactured by|brand owner|company",
        when="year made|year of manufacture|date made|manufactured",
        where="country of origin|place of manufacture|made in|manufactured in|produced in|origin",
        agent="name",
    ),
    *event(
        "sold|sells|sell|retails|retail|stocked|stocks",
        who="seller|retailer|sold by|stockist",
        where="sold at|sold in|outlet|retailer",
        agent="name",
    ),
    *event(
        "distributed|distributes|distribute|imported|imports",
        who="distributor|importer|distributed by",
        agent="name",
    ),
    *event(
        "designed|design|designs",
        who="designer|designed by|architect",
        when="design date|year designed|designed",
    ),
    *event(
        "built|build|builds|constructed|construct|erected|completed|complete|finished",
        who="builder|built by|architect|contractor",
        when="construction date|date built|year built|built|completed|completion date|constructed|opening year",
        where="place built",
    ),
    *event(
        "founded|found|establish|established|set up|started|start|began|begun|created the company",
        who="founder|founders|founded by|established by",
        when="founding date|founded|established|year founded|foundation|date of foundation|year established|founding year|inception|since",
        where="place of foundation|founded in|founding place|place founded",
    ),
    *event(
        "opened|opens its doors|opened its doors|inaugurated|inaugurate",
        who="opened by|owner",
        when="opening date|opened|date opened|year opened|inauguration|inauguration date|opening",
    ),
    *event(
        "closed down|shut down|demolished|dissolved|destroyed",
        who="destroyed by",
        when="closing date|closed|demolished|dissolved|date closed",
    ),
    *event(
        "restored|restore|renovated|renovate|refurbished|rebuilt|rebuild",
        who="restorer|restored by",
        when="restoration date|renovated|restored|rebuilt|renovation date",
    ),
    *event(
        "invented|invent|invents|devised|patented|pioneered|develop|developed|develops|developing",
        who="inventor|developer|invented by|developed by|developers",
        when="date invented|invented|year invented|invention date|developed",
        where="place of invention",
    ),
    *event(
        "discovered|discover|discovers|identified",
        who="discoverer|discovered by",
        when="discovery date|discovered|year discovered|date discovered",
        where="place of discovery",
    ),
    *event("named after|named for|called after", who="namesake|named after|eponym", agent="name"),
    *event(
        "owned|owns|own|runs|run|operated|operates|operate|managed|manages|acquired|bought",
        who="owner|operator|owned by|parent company|parent|proprietor|manager|run by",
        when="acquisition date|acquired",
        agent="name",
    ),
    *event(
        "organised|organises|organize|organise|organized|organizes|hosted|hosts|host|presented|presents",
        who="organiser|organizer|host|presented by|hosted by|promoter",
        agent="name",
    ),
    *event("sponsored|sponsors|sponsor", who="sponsor|sponsors|sponsored by", agent="name"),
    *event(
        "donated|donates|gave|gifted|bequeathed", who="donor|donated by|gift of", when="date donated|donated"
    ),
    *event("curated|curates|curate", who="curator|curated by"),
    *event(
        "unveiled|unveil|put up|erected|installed",
        who="unveiled by|erected by",
        when="unveiling date|unveiled|erected|installed",
    ),
    # Lives
    *event(
        "born|birth",
        when="birth date|date of birth|born|birthdate|birthday|birth year|year of birth",
        where="birthplace|place of birth|birth place|born in|hometown|home town|native town|place where born",
    ),
    *event(
        "died|die|dies|passed away|pass away|death",
        when="death date|date of death|died|death year|year of death",
        where="place of death|death place|died in|deathplace",
    ),
    *event(
        "buried|laid to rest|interred",
        when="burial date",
        where="burial place|resting place|place of burial|buried in|buried at",
    ),
    *event(
        "married|marry|wed|wedded|spouse",
        who="spouse|husband|wife|partner|married to",
        when="wedding date|marriage date|married",
    ),
    *event(
        "lived|live|lives|resided|resides|reside|living|dwelt|stayed",
        who="resident|residents|occupant",
        when="residence years",
        where="residence|home|lived in|lives in",
    ),
    *event(
        "studied|study|educated|trained|graduated|went to school|schooled|attended|learned|learnt",
        when="graduation date",
        where="alma mater|education|school|university|educated at|studied at|college|trained at",
    ),
    *event("worked|works|employed|taught|teaches|teach", where="workplace|employer|worked at|institution"),
    *event("moved|settled|emigrated|relocated", when="date moved", where="moved to|settled in"),
    *event(
        "won|win|awarded|received|receive|earned", who="winner|won by|recipient", when="award date|year won"
    ),
    *event("ruled|reigned|reign|governed", who="ruler|monarch", when="reign"),
    # Happening
    *event(
        "held|take place|takes place|taking place|took place|happen|happens|happening|happened|going on|be on|being held|staged|occur|occurs",
        when="date|event date|dates|when",
        where="venue|location|place|site|held at|takes place at",
    ),
    *event(
        "starts|start|begins|begin|beginning|kicks off|kick off",
        when="start date|starting date|start time|begins|starts",
    ),
    *event(
        "ends|end|finishes|finish|conclude|concludes|close on", when="end date|closing date|ends|runs until"
    ),
    *event(
        "expires|expire|expiry|best before|use by|go off|goes bad|go bad",
        when="expiry date|best before|expiration date|use by|best-before date|sell by",
    ),
    *event(
        "kept|hang|hangs|hanging|hung|displayed|on display|exhibited|housed|shown|exhibit|see it in person|preserved",
        where="museum|gallery|location|collection|current location|housed at|on display at|exhibited at",
        when="exhibition date",
    ),
    *event("set|takes us|unfold|unfolds", where="setting|set in|place of action", when="time of setting"),
    *event(
        "located|situated|found in|find it|based|headquartered|lies|lie|stands|stand|stationed|come from|comes from|originate|originates|originally from|from",
        where="location|headquarters|based in|located in|seat|head office|hq|country|city|town|address|region|place of origin|origin|situated in",
    ),
    *event(
        "grown|grow|grows|cultivated|harvested|sourced|farmed|raised|caught|native to|native",
        where="origin|source|region|native range|place grown|growing region|provenance|grown in|country of origin",
        when="harvest date|harvest",
    ),
    *event(
        "roasted|brewed|bottled|baked|distilled|packed|packaged|cooked|canned|bottling",
        who="brewer|roaster|bottler|bakery|producer|brewery|distillery|packer",
        when="bottling date|packing date|vintage",
        where="place of production|bottled in|packed in|brewed in|roasted in",
    ),
    *event(
        "played|play",
        who="played by|portrayed by|performer",
        when="date played",
        where="venue|home ground|stadium",
    ),
)
