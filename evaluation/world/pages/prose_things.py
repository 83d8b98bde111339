"""How pages put the facts of books, games, goods, art and shops into sentences.

`{s}` is the subject, `{p}` its possessive, `{v}` the value.
"""

from __future__ import annotations

Phrases = dict[str, tuple[str, ...]]

BOOK: Phrases = {
    "author": (
        "{s} was written by {v}",
        "{s} comes from the pen of {v}",
        "{v} spent three winters writing {s}",
        "the author of {s}, {v}, has called the work a long apology to a friend",
    ),
    "series": (
        "{s} belongs to {v}",
        "readers meet the same characters again in the other volumes of {v}, to which {s} belongs",
        "{s} forms part of the series {v}",
        "together with its sisters {s} makes up {v}",
    ),
    "publisher": (
        "{s} was brought out by {v}",
        "{p} publisher is {v}",
        "{v} published {s} after two other houses had turned the manuscript down",
        "{s} appeared under the imprint of {v}",
    ),
    "pages": (
        "{s} runs to {v}",
        "at {v}, {s} is not something one finishes in an evening",
        "the hardback edition of {s} has {v}",
        "do not be put off by the {v} of {s}",
    ),
    "published": (
        "{s} first appeared in {v}",
        "{s} reached the bookshops in {v}",
        "it was {v} when {s} was published",
        "the first edition of {s} dates from {v}",
    ),
    "genre": (
        "{s} is usually shelved as a {v}",
        "critics describe {s} as a {v}",
        "at heart {s} is a {v}",
        "librarians file {s} under the heading of {v}",
    ),
    "height": (
        "a copy of {s} stands {v} tall on the shelf",
        "{s} measures {v} from head to foot",
        "the spine of {s} is {v} high",
        "{p} height is {v}",
    ),
    "cover artist": (
        "the cover of {s} was drawn by {v}",
        "{v} made the cover picture for {s}",
        "{p} striking cover is the work of {v}",
        "for the jacket of {s} the publisher hired {v}",
    ),
    "setting": (
        "{s} is set in {v}",
        "the story of {s} unfolds in {v}, between the market and the river",
        "nearly all of {s} takes place in {v}",
        "{v} is where {s} plays, and one can almost smell the rain there",
    ),
    "translator": (
        "{v} translated {s} into English",
        "the English version of {s} is owed to {v}",
        "{s} was put into English by {v}",
        "as translator of {s}, {v} kept the dialect of the ferrymen",
    ),
    "award": (
        "{s} won the {v}",
        "the jury gave the {v} to {s}",
        "{s} was honoured with the {v}",
        "nobody was surprised when the {v} went to {s}",
    ),
    "narrator": (
        "the audiobook of {s} is read by {v}",
        "{v} lends a voice to the audiobook of {s}",
        "listeners praise {v}, who narrates the audiobook of {s}",
        "for the audiobook of {s} the studio chose {v}",
    ),
}

GAME: Phrases = {
    "players": (
        "{s} seats {v}",
        "{s} works for {v}",
        "{v} can sit around {s}",
        "made for {v}, {s} fits most families",
    ),
    "designer": (
        "{s} was designed by {v}",
        "{v} devised {s} on a night train",
        "the designer of {s} is {v}",
        "behind {s} stands {v}, who tested it for four years",
    ),
    "publisher": (
        "{s} is published by {v}",
        "{v} brought {s} to the shops",
        "{p} publisher is {v}",
        "the box of {s} carries the logo of {v}",
    ),
    "published": (
        "{s} came out in {v}",
        "{s} has been on sale since {v}",
        "it was in {v} that {s} was first sold",
        "{s} was launched in {v}",
    ),
    "cards": (
        "{s} contains {v}",
        "inside the box of {s} lie {v}",
        "{s} is played with {v}",
        "there are {v} to shuffle in {s}",
    ),
    "languages": (
        "the rules of {s} come in {v}",
        "{s} is supplied with instructions in {v}",
        "the booklet of {s} is printed in {v}",
        "one can read the rules of {s} in {v}",
    ),
    "award": (
        "{s} took the {v}",
        "{s} was awarded the {v}",
        "the {v} went to {s}",
        "since winning the {v}, {s} has been hard to find",
    ),
    "expansion": (
        "an expansion of {s} called {v} adds new roads",
        "owners of {s} may add the expansion {v}",
        "{v} is the only expansion for {s}",
        "{s} grew with the expansion {v}",
    ),
}

FOOD: Phrases = {
    "calories": (
        "100 g or 100 ml of {s} provide {v}",
        "per 100 g or 100 ml, {s} contains {v}",
        "the energy of {s} is given as {v} per hundred",
        "{s} supplies {v} for every 100 on the scale",
    ),
    "sugar": (
        "of every 100 g of {s}, {v} are sugar",
        "{s} contains {v} of sugar per hundred",
        "the sugar content of {s} is {v} per 100",
        "with {v} of sugar in a hundred, {s} sits in the middle of the range",
    ),
    "country of origin": (
        "{s} is a product of {v}",
        "{s} is made in {v}",
        "{p} country of origin is {v}",
        "{s} comes to the shelves from {v}",
    ),
    "introduced": (
        "{s} was introduced in {v}",
        "{s} has been sold since {v}",
        "{s} joined the range in {v}",
        "shoppers first met {s} in {v}",
    ),
    "allergens": (
        "people with allergies should know that {s} contains {v}",
        "the allergens declared for {s} are {v}",
        "{s} is made with {v}, which matters to the allergic",
        "on the list of allergens of {s} one finds {v}",
    ),
    "factory town": (
        "{s} is filled in a factory at {v}",
        "the factory that makes {s} stands in {v}",
        "every pack of {s} leaves the works in {v}",
        "{s} is produced at the company's plant in {v}",
    ),
    "shelf life": (
        "unopened, {s} keeps for {v}",
        "the shelf life of {s} is {v}",
        "{s} may be stored for {v} in a dry cupboard",
        "one has {v} to use up {s} before it goes stale",
    ),
    "packaging designer": (
        "the packaging of {s} was designed by {v}",
        "{v} drew the packaging of {s}",
        "for the packaging of {s} the makers turned to {v}",
        "the packaging of {s} shows the hand of {v}",
    ),
}

SEEDS: Phrases = {
    "plant height": (
        "{s} grows {v} high",
        "plants of {s} reach {v}",
        "expect {s} to stand {v} tall by August",
        "at {v}, {s} may need a stake",
    ),
    "germination": (
        "{s} germinates within {v}",
        "the first green of {s} shows after {v}",
        "{s} needs {v} to germinate",
        "it takes {v} until {s} comes up",
    ),
    "plant spacing": (
        "leave {v} between plants of {s}",
        "{s} wants to be spaced {v} apart",
        "set seedlings of {s} {v} from each other",
        "a distance of {v} suits {s}",
    ),
    "breeder": (
        "{s} was bred by {v}",
        "the breeder of {s} was {v}",
        "{v} raised {s} from a chance seedling",
        "we owe {s} to the patience of {v}",
    ),
    "first offered": (
        "{s} was first offered in {v}",
        "{s} entered the catalogues in {v}",
        "gardeners have been able to buy {s} since {v}",
        "it was {v} when {s} first went on sale",
    ),
    "soil": (
        "{s} thrives in {v}",
        "the best soil for {s} is {v}",
        "give {s} {v} and it will thank you",
        "in the garden {s} prefers {v}",
    ),
}

GADGET: Phrases = {
    "battery life": (
        "{s} lasts {v} on one charge",
        "the battery of {s} holds for {v}",
        "we got {v} out of the battery of {s}",
        "{s} ran for {v} before the battery gave up",
    ),
    "released": (
        "{s} went on sale in {v}",
        "{s} was released in {v}",
        "{s} has been on the market since {v}",
        "it was in {v} that {s} was presented",
    ),
    "weight": (
        "{s} weighs {v}",
        "on our scales {s} came to {v}",
        "with {v}, {s} is easy to carry",
        "the weight of {s} is {v}",
    ),
    "colours": (
        "{s} is sold in {v}",
        "buyers of {s} choose between {v}",
        "{s} comes in {v}",
        "the colours of {s} are {v}",
    ),
    "water rating": (
        "{s} is rated {v} against water",
        "its {v} rating means that {s} survives a shower",
        "against splashes {s} is protected to {v}",
        "{s} carries the protection class {v}",
    ),
    "warranty": (
        "{s} is sold with a warranty of {v}",
        "the maker guarantees {s} for {v}",
        "for {v} the warranty covers {s}",
        "{s} comes with {v} of warranty",
    ),
    "charging port": (
        "{s} charges through {v}",
        "to charge {s} one needs {v}",
        "power reaches {s} by {v}",
        "the charging port of {s} is {v}",
    ),
    "launch price": (
        "at launch {s} cost {v}",
        "{s} was launched at a price of {v}",
        "on its first day in the shops {s} was priced at {v}",
        "the launch price of {s} had been {v}",
    ),
    "designer": (
        "{s} was designed by {v}",
        "the case of {s} was shaped by {v}",
        "{v} is the designer of {s}",
        "{s} owes its rounded corners to the designer {v}",
    ),
    "assembly town": (
        "{s} is assembled in {v}",
        "assembled by hand in {v}, {s} takes two days to make",
        "the line where {s} is assembled stands in {v}",
        "workers in {v} assemble {s}",
    ),
}

PAINTING: Phrases = {
    "artist": (
        "{s} was painted by {v}",
        "the painter of {s} is {v}",
        "{v} painted {s} in one summer",
        "{s} is among the best works of {v}",
    ),
    "year": (
        "{s} dates from {v}",
        "{s} was finished in {v}",
        "it was {v} when {s} left the easel",
        "the back of {s} bears the year {v}",
    ),
    "medium": (
        "{s} is done in {v}",
        "{s} is {v}",
        "the technique of {s} is {v}",
        "for {s} the artist used {v}",
    ),
    "dimensions": (
        "{s} measures {v}",
        "without its frame {s} is {v}",
        "the size of {s} is {v}",
        "{s} is smaller than one thinks: {v}",
    ),
    "museum": (
        "{s} hangs in the {v}",
        "{s} belongs to the {v}",
        "the {v} keeps {s}",
        "today {s} can be seen at the {v}",
    ),
    "depicted place": (
        "{s} shows {v}",
        "the place in {s} has been identified as {v}",
        "{s} depicts {v} as it looked from the east",
        "what one sees in {s} is {v}",
    ),
    "sale price": (
        "{s} was last sold for {v}",
        "at auction {s} fetched {v}",
        "a collector once paid {v} for {s}",
        "the hammer fell at {v} for {s}",
    ),
    "first owner": (
        "the first owner of {s} was {v}",
        "{v} was the first to own {s}",
        "{s} was bought straight from the studio by {v}",
        "before anybody else {v} owned {s}",
    ),
    "restored": (
        "{s} was restored in {v}",
        "the last restoration of {s} ended in {v}",
        "restorers cleaned {s} in {v}",
        "since its restoration in {v} the colours of {s} glow again",
    ),
}
