"""People and organisations."""

from services.reranker.lexicon.relation import AnswerType as A
from services.reranker.lexicon.relation import relation as r

PEOPLE = (
    r(
        "birthplace",
        A.PLACE,
        "where * born | birthplace | place of birth | home town | hometown | where * from"
        " | native of | where * grow up | which city * born | which town * born"
        " | what city * born | what country * born | where does * come from",
        "born in | born at | birthplace | place of birth | native of | hometown | grew up"
        " | hails from | born",
    ),
    r(
        "birth date",
        A.DATE,
        "when * born | what year * born | birthday | date of birth | birth date | year of birth"
        " | how old is | how old was | how old were | age of",
        "born | date of birth | birthday | birth date | birth year | aged | birth",
    ),
    r(
        "death date",
        A.DATE,
        "when * die | when * died | what year * die | date of death | year of death"
        " | how old * died | when did * pass away | death",
        "died | death | passed away | date of death | deceased | killed | until his death | until her death",
    ),
    r(
        "death place",
        A.PLACE,
        "where * die | where * died | place of death | where * buried | where is * grave",
        "died in | died at | place of death | buried | grave | resting place | passed away",
    ),
    r(
        "cause of death",
        A.TEXT,
        "how did * die | cause of death | what did * die of | why did * die",
        "died of | died from | cause of death | killed by | succumbed | illness",
    ),
    r(
        "nationality",
        A.TEXT,
        "nationality | which country * from | what country * from | citizen of | where is * from",
        "nationality | citizen | national | born in | from",
    ),
    r(
        "occupation",
        A.TEXT,
        "what does * do for a living | occupation | profession | what was * job | what did * do"
        " | who was | known for | famous for | what is * known for | who is",
        "occupation | profession | worked as | known for | famous for | career | remembered"
        " | best known | is a | was a | was an | is an",
    ),
    r(
        "spouse",
        A.PERSON,
        "who * married | wife | husband | spouse | married to | partner of",
        "married | wife | husband | spouse | partner | wed",
    ),
    r(
        "children",
        A.PERSON,
        "how many children | children of | sons | daughters | kids",
        "children | son | daughter | father of | mother of",
    ),
    r(
        "parents",
        A.PERSON,
        "parents | father of | mother of | who was * father | who was * mother",
        "father | mother | parents | son of | daughter of | parent",
    ),
    r(
        "education",
        A.TEXT,
        "where * study | which university | which school | where * educated | alma mater"
        " | what did * study | where did * go to school",
        "studied | university | school | academy | educated | alma mater | graduated | degree | education",
    ),
    r(
        "teacher",
        A.PERSON,
        "who taught | teacher of | studied under | mentor",
        "taught by | studied under | pupil of | teacher | mentor | apprenticed",
    ),
    r(
        "residence",
        A.PLACE,
        "where * live | where * lives | where does * live | lived here | residence",
        "lives in | lived in | resides | residence | home in | lived | moved to",
    ),
    r(
        "founder",
        A.PERSON,
        "who founded | founder | who started | who set up | who established | who owns"
        " | who opened | who created | owner | who runs",
        "founded by | founder | founded | started by | set up by | established by | owner"
        " | owned by | run by | opened by | proprietor | co founded",
    ),
    r(
        "founding date",
        A.DATE,
        "since when | how long * around | when * founded | when * established | what year * founded"
        " | founding year"
        " | when * started | how long * been around | how old is the company"
        " | how long * in business | founded",
        "founded | established | since | founding | set up | started | opened | inception | began",
    ),
    r(
        "headquarters",
        A.PLACE,
        "headquarters | where * based | where * headquartered | head office | which city is * based",
        "headquarters | headquartered | based in | head office | seat",
    ),
    r(
        "employees",
        A.NUMBER,
        "how many employees | how many people work | staff | workforce | how many people does * employ",
        "employees | employs | staff | workforce | workers",
    ),
    r(
        "chief executive",
        A.PERSON,
        "ceo | chief executive | who is the boss | who leads | who heads"
        " | director of the company | managing director",
        "ceo | chief executive | managing director | headed by | led by | president | chair",
    ),
    r(
        "parent company",
        A.TEXT,
        "parent company | which company owns | owned by | belongs to | subsidiary of | who owns the brand",
        "parent company | owned by | subsidiary | belongs to | parent | acquired by | owner",
    ),
    r(
        "revenue",
        A.MONEY,
        "revenue | turnover | how much does * earn | how much money * make | sales of",
        "revenue | turnover | sales | earned | profit | earnings | income",
    ),
    r(
        "inventor",
        A.PERSON,
        "who invented | inventor | who discovered | who came up with | discovered by | who developed",
        "invented by | inventor | discovered by | developed by | devised | discovered | invented | pioneered",
    ),
    r(
        "team",
        A.TEXT,
        "which team | which club | who does * play for | what team | what position",
        "plays for | team | club | signed | squad | midfielder | striker | goalkeeper | position",
    ),
    r(
        "result",
        A.NUMBER,
        "who won | what was the score | final score | how many goals | how many points"
        " | how many titles | how many medals | how many times * won | championship",
        "won | beat | score | defeated | victory | title | champion | goals | points | medals",
    ),
)
