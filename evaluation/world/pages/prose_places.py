"""How pages put the facts of events, places, people and companies into sentences."""

from __future__ import annotations

from evaluation.world.pages.prose_things import BOOK, FOOD, GADGET, GAME, PAINTING, SEEDS, Phrases

POSTER: Phrases = {
    "venue": (
        "{s} takes place at {v}",
        "{v} is the venue of {s}",
        "for {s} the doors of {v} are opened",
        "visitors of {s} should head for {v}",
    ),
    "organiser": (
        "{s} is organised by the {v}",
        "the {v} organises {s}",
        "behind {s} stands the {v}",
        "responsible for {s} is the {v}",
    ),
    "first held": (
        "{s} was first held in {v}",
        "{s} goes back to {v}",
        "the first edition of {s} took place in {v}",
        "{s} started in {v} with a single lamp",
    ),
    "attendance": (
        "the last edition of {s} drew {v}",
        "{s} counted {v} last time",
        "{v} came to {s} last year",
        "attendance at {s} stood at {v}",
    ),
    "minimum age": (
        "guests of {s} must be at least {v} old",
        "the minimum age for {s} is {v}",
        "nobody under {v} is admitted to {s}",
        "{s} is open to those who have reached {v}",
    ),
    "sponsor": (
        "{s} is sponsored by {v}",
        "the main sponsor of {s} is {v}",
        "{v} sponsors {s}",
        "thanks to its sponsor {v}, {s} could keep its prices",
    ),
}

PLAQUE: Phrases = {
    "erected": (
        "{s} was put up in {v}",
        "{s} has been on the wall since {v}",
        "it was {v} when {s} was unveiled",
        "{s} was erected in {v}",
    ),
    "erected by": (
        "{s} was erected by the {v}",
        "the {v} paid for {s}",
        "{s} was the gift of the {v}",
        "we owe {s} to the {v}",
    ),
    "material": (
        "{s} is made of {v}",
        "the material of {s} is {v}",
        "for {s} the makers chose {v}",
        "{s} was worked in {v}",
    ),
    "sculptor": (
        "the sculptor of {s} was {v}",
        "{v} carved the letters of {s}",
        "{s} is the work of the sculptor {v}",
        "the lettering of {s} was cut by {v}",
    ),
}

MENU: Phrases = {
    "cuisine": (
        "{s} serves {v} cuisine",
        "the cooking at {s} is {v}",
        "at {s} the kitchen is {v}",
        "{s} is known for {v} dishes",
    ),
    "opened": (
        "{s} opened in {v}",
        "{s} has been serving guests since {v}",
        "the first guests sat down at {s} in {v}",
        "it was {v} when {s} opened its doors",
    ),
    "town": (
        "{s} is in {v}",
        "one finds {s} in the old quarter of {v}",
        "{s} is one of the better tables of {v}",
        "people travel to {v} just for {s}",
    ),
    "chef": (
        "the chef of {s} is {v}",
        "{v} runs the kitchen of {s}",
        "at {s} the stove belongs to {v}",
        "as head chef, {v} writes the menu of {s}",
    ),
    "closed day": (
        "{s} is closed on {v}",
        "{v} is the day off at {s}",
        "do not come to {s} on a {v}, it is shut",
        "{s} rests every {v}",
    ),
    "seats": (
        "{s} has {v}",
        "there are {v} at {s}",
        "with {v}, {s} fills quickly",
        "{s} offers {v}, so book ahead",
    ),
    "owner": (
        "{s} belongs to {v}",
        "the owner of {s} is {v}",
        "{v} owns {s}",
        "{s} was taken over by {v}, who owns it now",
    ),
}

SHOP: Phrases = {
    "address": (
        "{s} is found at {v}",
        "the address of {s} is {v}",
        "{s} trades at {v}",
        "look for {s} at {v}",
    ),
    "owner": (
        "{s} belongs to {v}",
        "the owner of {s} is {v}",
        "{v} owns {s} in the third generation",
        "behind the counter of {s} stands its owner {v}",
    ),
    "founded": (
        "{s} was founded in {v}",
        "{s} has existed since {v}",
        "it was {v} when {s} first opened",
        "the history of {s} starts in {v}",
    ),
    "phone number": (
        "one can call {s} on {v}",
        "the telephone number of {s} is {v}",
        "orders for {s} are taken on {v}",
        "to reach {s} dial {v}",
    ),
    "delivery fee": (
        "{s} delivers for {v}",
        "the delivery fee of {s} is {v}",
        "for {v} {s} will deliver to the door",
        "delivery by {s} costs {v}",
    ),
    "building": (
        "{s} occupies {v}",
        "the building of {s} is {v}",
        "{s} moved into {v} long ago",
        "{v} houses {s}",
    ),
}

PERSON: Phrases = {
    "birthplace": (
        "{s} was born in {v}",
        "{s} came into the world in {v}",
        "the birthplace of {s} is {v}",
        "{v}, where {s} was born, has named a street accordingly",
    ),
    "born": (
        "{s} was born on {v}",
        "{p} birthday is {v}",
        "the parish book notes the birth of {s} on {v}",
        "the life of {s} began on {v}",
    ),
    "died": (
        "{s} died on {v}",
        "{s} passed away on {v}",
        "the death of {s} on {v} was front-page news",
        "on {v} {s} died after a short illness",
    ),
    "studied": (
        "{s} studied {v}",
        "at university {s} read {v}",
        "{p} subject at university was {v}",
        "before everything else {s} took a degree in {v}",
    ),
    "first job": (
        "{s} started out as a {v}",
        "{p} first job was that of a {v}",
        "for six years {s} earned a living as a {v}",
        "{s} first worked as a {v}",
    ),
    "hobby": (
        "in free hours {s} was fond of {v}",
        "friends knew {s} for {v}",
        "{s} found rest in {v}",
        "{p} great hobby was {v}",
    ),
    "spouse": (
        "{s} was married to {v}",
        "{s} married {v}",
        "{v} became the spouse of {s}",
        "the marriage of {s} and {v} was a happy one",
    ),
}

COMPANY: Phrases = {
    "founder": (
        "{s} was founded by {v}",
        "the founder of {s} is {v}",
        "{v} founded {s} in a rented garage",
        "{s} goes back to {v}, its founder",
    ),
    "founded": (
        "{s} was founded in {v}",
        "{s} has existed since {v}",
        "it was {v} when {s} was entered in the register",
        "{s} was set up in {v}",
    ),
    "headquarters": (
        "{s} has its headquarters in {v}",
        "{s} is based in {v}",
        "the head office of {s} is in {v}",
        "from {v}, {s} runs its whole business",
    ),
    "employees": (
        "{s} employs {v}",
        "{v} work for {s}",
        "the payroll of {s} lists {v}",
        "{s} gives work to {v}",
    ),
}

STORE: Phrases = {
    "return period": (
        "{s} takes goods back within {v} of purchase",
        "at {s} customers may return things for {v}",
        "whoever changes their mind has {v} to bring a purchase back to {s}",
        "{s} refunds unused goods for {v} after purchase",
    ),
    "headquarters": (
        "{s} is run from {v}",
        "the head office of {s} is in {v}",
        "{s} has its headquarters in {v}",
        "{s} started in {v} and still sits there",
    ),
}

VENUE: Phrases = {
    "capacity": (
        "{s} holds {v}",
        "{s} has room for {v}",
        "up to {v} fit into {s}",
        "the capacity of {s} is {v}",
    ),
    "built": (
        "{s} was built in {v}",
        "{s} dates from {v}",
        "the builders finished {s} in {v}",
        "{s} opened its doors in {v}",
    ),
    "architect": (
        "{s} was designed by {v}",
        "the architect of {s} was {v}",
        "{v} drew the plans of {s}",
        "{s} is a work of the architect {v}",
    ),
    "town": (
        "{s} stands in {v}",
        "{s} is found in {v}",
        "the town of {v} is home to {s}",
        "{s} is the pride of {v}",
    ),
}

MUSEUM: Phrases = {
    "town": (
        "{s} is in {v}",
        "{s} stands in the middle of {v}",
        "{v} is the home of {s}",
        "to see {s} one travels to {v}",
    ),
    "founded": (
        "{s} was founded in {v}",
        "{s} has existed since {v}",
        "the collection of {s} was opened in {v}",
        "it was {v} when {s} first let the public in",
    ),
    "ticket price": (
        "a ticket to {s} costs {v}",
        "admission to {s} is {v}",
        "{s} charges {v} at the door",
        "one pays {v} to enter {s}",
    ),
    "closed day": (
        "{s} is closed on {v}",
        "on {v} {s} stays shut",
        "{v} is the day when {s} does not open",
        "{s} rests every {v}",
    ),
    "opening time": (
        "{s} opens at {v}",
        "the doors of {s} open at {v}",
        "from {v} one can visit {s}",
        "{s} lets visitors in from {v}",
    ),
}

PROSE: dict[str, Phrases] = {
    "book": BOOK,
    "game": GAME,
    "food": FOOD,
    "seeds": SEEDS,
    "gadget": GADGET,
    "painting": PAINTING,
    "poster": POSTER,
    "plaque": PLAQUE,
    "menu": MENU,
    "shop": SHOP,
    "person": PERSON,
    "company": COMPANY,
    "store": STORE,
    "venue": VENUE,
    "museum": MUSEUM,
}
