"""How a wearer asks for one attribute of a thing, and how a person would answer.

`{this}` is the thing as the wearer refers to it, `{whose}` its possessive; in answers `{name}` is its
name and `{v}` the value.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """Questions for one attribute and full-sentence answers to them."""

    queries: tuple[str, ...]
    answers: tuple[str, ...]


def wording(*queries: str, a: str, b: str = "") -> Wording:
    """Questions, then one or two answers."""
    return Wording(queries, (a, b) if b else (a,))


Wordings = dict[str, Wording]

BOOK: Wordings = {
    "title": wording(
        "what's the title of {this}?", "what is {this} called?", "can you read me the title of {this}?",
        "which book is this, what does the cover say?", a="The title of the book is {v}.",
        b="The book is called {v}."),
    "author": wording(
        "who wrote {this}?", "who is the author of {this}?", "whose book is this, who's the writer?",
        "tell me who {this} is by", a="{name} was written by {v}.", b="The author is {v}."),
    "series": wording(
        "which series does {this} belong to?", "is {this} part of a series, and which one?",
        "what series is {this} in?", "what's the name of the series {this} comes from?",
        a="{name} belongs to the series {v}."),
    "publisher": wording(
        "who published {this}?", "which publisher brought out {this}?", "what's {whose} publisher?",
        "which publishing house is {this} from?", a="{name} was published by {v}."),
    "pages": wording(
        "how many pages does {this} have?", "how long is {this}, in pages?", "what's {whose} page count?",
        "how many pages are there in {this}?", a="{name} has {v}.", b="It is {v} long."),
    "published": wording(
        "when was {this} published?", "what year did {this} come out?",
        "in which year did {this} first appear?", "how old is {this}, what year was it published?",
        a="{name} was first published in {v}."),
    "genre": wording(
        "what genre is {this}?", "what kind of book is {this}?", "what sort of story is {this}, genre-wise?",
        "under which genre would I find {this}?", a="{name} is a {v}."),
    "height": wording(
        "how tall is {this} in centimetres?", "what is {whose} height?",
        "will {this} fit my shelf, how high is it?", "how high is {this}?", a="{name} is {v} tall."),
    "cover artist": wording(
        "who drew the cover of {this}?", "who is the cover artist of {this}?", "who made {whose} cover art?",
        "whose picture is on the front of {this}, who's the cover artist?",
        a="The cover of {name} was made by {v}."),
    "setting": wording(
        "where is {this} set?", "in which town does {this} take place?",
        "where does the story of {this} happen?", "what place is {this} set in?", a="{name} is set in {v}."),
    "translator": wording(
        "who translated {this}?", "who is {whose} translator?", "who put {this} into English?",
        "whose translation is {this}?", a="{name} was translated by {v}."),
    "award": wording(
        "which prize did {this} win?", "did {this} win an award, which one?", "what award did {this} get?",
        "what prize has {this} been given?", a="{name} won the {v}."),
    "narrator": wording(
        "who reads the audiobook of {this}?", "who narrates {whose} audiobook?",
        "whose voice is on the audiobook of {this}?", "who's the audiobook narrator of {this}?",
        a="The audiobook of {name} is read by {v}."),
}  # fmt: skip

GAME: Wordings = {
    "title": wording(
        "what's the name of {this}?", "which game is this?", "what is {this} called?",
        "read me the title on the box of {this}", a="The game is called {v}."),
    "players": wording(
        "how many people can play {this}?", "for how many players is {this}?",
        "how many players does {this} need?", "what's the number of players for {this}?",
        a="{name} is for {v}."),
    "minimum age": wording(
        "from what age can kids play {this}?", "what's the minimum age for {this}?",
        "how old do you have to be for {this}?", "what age does the box of {this} say?",
        a="{name} is for players from {v} of age."),
    "playing time": wording(
        "how long does a round of {this} take?", "what playing time does the box of {this} give?",
        "how many minutes does {this} last?", "how long does {this} take to play?",
        a="A round of {name} takes about {v}."),
    "designer": wording(
        "who designed {this}?", "who is the designer of {this}?", "who came up with {this}?",
        "whose design is {this}?", a="{name} was designed by {v}."),
    "publisher": wording(
        "who publishes {this}?", "what's {whose} publisher?", "which company puts out {this}?",
        "which publisher is {this} from?", a="{name} is published by {v}."),
    "published": wording(
        "when did {this} come out?", "what year is {this} from?", "in which year was {this} published?",
        "since when can you buy {this}, what year?", a="{name} came out in {v}."),
    "cards": wording(
        "how many cards are in {this}?", "how many cards does {this} have?",
        "what's {whose} number of cards?", "how many cards come with {this}?", a="{name} contains {v}."),
    "languages": wording(
        "in which languages are the rules of {this}?", "what languages does {this} come in?",
        "which languages is the booklet of {this} in?", "what are {whose} rule languages?",
        a="The rules of {name} come in {v}."),
    "award": wording(
        "which prize did {this} win?", "what award did {this} get?", "did {this} win an award, which one?",
        "what prize was {this} given?", a="{name} won the {v}."),
    "expansion": wording(
        "what is the expansion of {this} called?", "is there an expansion for {this}, what's its name?",
        "which expansion exists for {this}?", "what's {whose} expansion?",
        a="The expansion of {name} is called {v}."),
}  # fmt: skip

FOOD: Wordings = {
    "brand": wording(
        "what brand is {this}?", "which company makes {this}?", "who makes {this}?",
        "what's the brand name on {this}?", a="It is made by {v}.", b="The brand is {v}."),
    "product": wording(
        "what is {this}?", "what's in {this}, what product is it?", "what kind of product is {this}?",
        "what am I looking at here?", a="This is {v}.", b="It's {v}."),
    "flavour": wording(
        "what flavour is {this}?", "which flavour of it did I pick up?",
        "what does {this} taste of, which flavour?", "what flavour does the label of {this} say?",
        a="The flavour is {v}."),
    "net content": wording(
        "how much is in {this}?", "what's the net weight or volume of {this}?",
        "what amount does the pack of {this} hold?", "what net content is printed on {this}?",
        a="It contains {v}.", b="The net content is {v}."),
    "calories": wording(
        "how many calories in {this} per 100?", "how many calories per 100 g or ml does {this} have?",
        "what's {whose} energy per 100 in kcal?", "is {this} high in calories, how many kcal per 100?",
        a="{name} has {v} per 100."),
    "sugar": wording(
        "how much sugar is in {this} per 100?", "what's {whose} sugar content?",
        "how sugary is {this}, grams per 100?", "how many grams of sugar per 100 does {this} have?",
        a="{name} contains {v} of sugar per 100."),
    "country of origin": wording(
        "where does {this} come from, which country?", "what country is {this} made in?",
        "what's {whose} country of origin?", "which country is {this} from?", a="{name} comes from {v}."),
    "introduced": wording(
        "when was {this} introduced?", "since which year has {this} been sold?",
        "what year did {this} come on the market?", "when did {this} first come out?",
        a="{name} was introduced in {v}."),
    "allergens": wording(
        "what allergens are in {this}?", "which allergens does {this} contain?",
        "I'm careful with allergies, what allergens does {this} have?", "what are {whose} allergens?",
        a="{name} contains {v}."),
    "factory town": wording(
        "in which town is {this} produced?", "where's the factory that makes {this}?",
        "which town does {this} get made in?", "where is {whose} factory?", a="{name} is produced in {v}."),
    "shelf life": wording(
        "how long does {this} keep unopened?", "what's {whose} shelf life?",
        "for how many months can I store {this}?", "how long until {this} goes off if I don't open it?",
        a="Unopened, {name} keeps for {v}."),
    "packaging designer": wording(
        "who designed the packaging of {this}?", "who is behind {whose} packaging design?",
        "who drew the pack of {this}?", "who's the packaging designer of {this}?",
        a="The packaging of {name} was designed by {v}."),
}  # fmt: skip

SEEDS: Wordings = {
    "variety": wording(
        "which variety is {this}?", "what's the name of the variety on {this}?",
        "what variety did I pick here?", "what is the variety on {this} called?",
        a="The variety is called {v}."),
    "plant": wording(
        "what plant is {this} for?", "what will grow from {this}?", "which plant are these seeds?",
        "what kind of seeds are these?", a="They are {v} seeds."),
    "seeds": wording(
        "how many seeds are in {this}?", "how many seeds does {this} contain?",
        "what number of seeds does {this} promise?", "how many seeds do I get in {this}?",
        a="The packet contains {v}."),
    "sowing": wording(
        "when should I sow {this}?", "in which months do I sow {this}?", "what's the sowing time on {this}?",
        "when's the time to plant out {this}, what does it say?", a="Sow it from {v}."),
    "plant height": wording(
        "how tall does {this} grow?", "what height do the plants from {this} reach?",
        "how high will {this} get?", "what's {whose} plant height?", a="{name} grows {v} tall."),
    "germination": wording(
        "how long until {this} germinates?", "how many days does {this} need to germinate?",
        "when will {this} come up, in how many days?", "what's {whose} germination time?",
        a="{name} germinates in {v}."),
    "plant spacing": wording(
        "how far apart should I plant {this}?", "what spacing does {this} need?",
        "what's {whose} plant spacing?", "how much space between plants of {this}?",
        a="{name} should be planted {v} apart."),
    "breeder": wording(
        "who bred {this}?", "who is the breeder of {this}?", "whose breeding is {this}?",
        "who developed {this}?", a="{name} was bred by {v}."),
    "first offered": wording(
        "since when has {this} been sold?", "in what year was {this} first offered?",
        "when did {this} first go on sale?", "how long has {this} been around, since which year?",
        a="{name} was first offered in {v}."),
    "soil": wording(
        "what soil does {this} like?", "which soil is best for {this}?", "what's {whose} favourite soil?",
        "in what kind of soil should I put {this}?", a="{name} does best in {v}."),
}  # fmt: skip

GADGET: Wordings = {
    "brand": wording(
        "what brand is {this}?", "who makes {this}?", "which brand name is on {this}?",
        "which company is {this} from?", a="The brand is {v}."),
    "model": wording(
        "what model is {this}?", "what's the model number of {this}?",
        "which model do I have in front of me?", "read me the model number on {this}", a="The model is {v}."),
    "energy": wording(
        "how many watt-hours does {this} have?", "what capacity in Wh is printed on {this}?",
        "how much energy does {this} store?", "what does {this} say about watt-hours?", a="It stores {v}."),
    "battery life": wording(
        "how long does the battery of {this} last?", "what's {whose} battery life?",
        "how many hours does {this} run on a charge?", "how long can I use {this} before charging it?",
        a="{name} lasts {v} on one charge."),
    "released": wording(
        "when was {this} released?", "what year did {this} come out?",
        "how old is {this}, what's the release year?", "in which year was {this} launched?",
        a="{name} was released in {v}."),
    "weight": wording(
        "how much does {this} weigh?", "what's {whose} weight?", "how heavy is {this}?",
        "what does {this} weigh in grams?", a="{name} weighs {v}."),
    "colours": wording(
        "what colours does {this} come in?", "which colours can I get {this} in?",
        "what are {whose} colours?", "in what colours is {this} sold?", a="{name} comes in {v}."),
    "water rating": wording(
        "is {this} waterproof, what's its rating?", "what water rating does {this} have?",
        "what's {whose} water protection rating?", "which IP rating does {this} have?",
        a="{name} is rated {v}."),
    "warranty": wording(
        "how long is the warranty on {this}?", "what warranty does {this} have?",
        "what's {whose} warranty period?", "for how many years is {this} under warranty?",
        a="{name} has a warranty of {v}."),
    "charging port": wording(
        "how do I charge {this}, which port?", "what charging port does {this} have?",
        "what's {whose} charging port?", "which connector do I need to charge {this}?",
        a="{name} charges through {v}."),
    "launch price": wording(
        "what did {this} cost at launch?", "what was {whose} launch price?",
        "how much was {this} when it came out?", "at what price was {this} launched?",
        a="{name} cost {v} at launch."),
    "designer": wording(
        "who designed {this}?", "who is the designer of {this}?", "whose design is {this}?",
        "who's {whose} designer?", a="{name} was designed by {v}."),
    "assembly town": wording(
        "where is {this} assembled?", "in which town do they assemble {this}?",
        "where does {this} get assembled?", "what town is {this} assembled in?",
        a="{name} is assembled in {v}."),
}  # fmt: skip
