"""How a wearer asks about paintings, posters, plaques, menus, shops, and who stands behind things."""

from __future__ import annotations

from evaluation.world.questions.wording_things import (
    BOOK,
    FOOD,
    GADGET,
    GAME,
    SEEDS,
    Wordings,
    wording,
)

PAINTING: Wordings = {
    "title": wording(
        "what's {this} called?", "which painting is this?", "what is the title of {this}?",
        "do you recognise {this}, what's its name?", a="This painting is {v}.", b="It is called {v}."),
    "artist": wording(
        "who painted {this}?", "who is the artist of {this}?", "whose work is {this}?", "who made {this}?",
        a="{name} was painted by {v}."),
    "year": wording(
        "when was {this} painted?", "what year is {this} from?", "in which year was {this} made?",
        "how old is {this}, what year was it painted?", a="{name} was painted in {v}."),
    "medium": wording(
        "what is {this} painted on and with?", "what medium is {this}?",
        "what technique was used for {this}?", "what's {whose} medium?", a="{name} is {v}."),
    "dimensions": wording(
        "how big is {this}?", "what are {whose} dimensions?", "what size is {this}?",
        "how large is {this} without the frame?", a="{name} measures {v}."),
    "museum": wording(
        "which museum does {this} belong to?", "where does {this} normally hang?",
        "what museum is {this} in?", "in which collection is {this}?", a="{name} is in the {v}."),
    "depicted place": wording(
        "what place does {this} show?", "which town is depicted in {this}?", "where is the scene in {this}?",
        "what place am I seeing in {this}?", a="{name} shows {v}."),
    "sale price": wording(
        "how much was {this} last sold for?", "what did {this} fetch at auction?",
        "what's {whose} last sale price?", "for how much did {this} sell?",
        a="{name} was last sold for {v}."),
    "first owner": wording(
        "who first owned {this}?", "who was {whose} first owner?", "who bought {this} first?",
        "who was the first person to own {this}?", a="The first owner of {name} was {v}."),
    "restored": wording(
        "when was {this} restored?", "in which year was {this} restored?",
        "what's the year of {whose} restoration?", "has {this} been restored, and when?",
        a="{name} was restored in {v}."),
}  # fmt: skip

POSTER: Wordings = {
    "event": wording(
        "what event is {this} for?", "what's being announced on {this}?",
        "what is the name of the event on {this}?", "what does {this} advertise?", a="It announces the {v}."),
    "date": wording(
        "when does the event on {this} take place?", "what date does {this} give?",
        "on which day is the event on {this}?", "what's the date on {this}?", a="It takes place on {v}."),
    "venue": wording(
        "where does the event on {this} take place?", "which venue is on {this}?",
        "what's the venue on {this}?", "where do I have to go for the event on {this}?",
        a="It takes place at {v}."),
    "ticket price": wording(
        "how much is a ticket according to {this}?", "what does {this} say tickets cost?",
        "what do I pay for the event on {this}?", "how much is the entry for the event on {this}?",
        a="A ticket costs {v}."),
    "starting time": wording(
        "what time does the event on {this} start?", "when does it begin according to {this}, what time?",
        "at what time does the event on {this} begin?", "what starting time is on {this}?",
        a="It starts at {v}."),
    "headliner": wording(
        "who is performing according to {this}?", "who's the headliner on {this}?",
        "who is the main guest on {this}?", "whose name is announced on {this} as special guest?",
        a="The headliner is {v}."),
    "organiser": wording(
        "who organises the event on {this}?", "who is behind the event on {this}, who organises it?",
        "who's the organiser of the event on {this}?", "which organisation runs the event on {this}?",
        a="The {name} is organised by the {v}."),
    "first held": wording(
        "when was the event on {this} first held?", "since when has the event on {this} existed?",
        "in what year did the event on {this} start?",
        "what year was the first edition of the event on {this}?", a="The {name} was first held in {v}."),
    "attendance": wording(
        "how many people came to the event on {this} last time?",
        "what was the last attendance of the event on {this}?",
        "how many visitors does the event on {this} draw?",
        "how big is the event on {this}, how many visitors?", a="The last {name} drew {v}."),
    "minimum age": wording(
        "what's the minimum age for the event on {this}?",
        "how old do you have to be for the event on {this}?",
        "from what age may one go to the event on {this}?",
        "is there an age limit for the event on {this}, what is it?",
        a="Guests of the {name} must be at least {v} old."),
    "sponsor": wording(
        "who sponsors the event on {this}?", "which company is the sponsor of the event on {this}?",
        "who's the main sponsor of the event on {this}?", "what sponsor does the event on {this} have?",
        a="The {name} is sponsored by {v}."),
}  # fmt: skip

PLAQUE: Wordings = {
    "person": wording(
        "who is {this} for?", "who does {this} remember?", "whose name is on {this}?",
        "who is honoured on {this}?", a="The plaque honours {v}."),
    "birth year": wording(
        "when was the person on {this} born?", "what birth year is on {this}?",
        "in what year was the person on {this} born?", "what year of birth does {this} give?",
        a="The person was born in {v}."),
    "death year": wording(
        "when did the person on {this} die?", "what year of death is on {this}?",
        "in what year did the person on {this} die?", "what death year does {this} give?",
        a="The person died in {v}."),
    "deed": wording(
        "what did the person on {this} do?", "why does the person on {this} get a plaque?",
        "what is the person on {this} remembered for?", "what does {this} say the person did?",
        a="The plaque says that this person {v}."),
    "erected": wording(
        "when was {this} put up?", "in which year was {this} erected?", "since when has {this} been here?",
        "what year is {this} from?", a="{name} was erected in {v}."),
    "erected by": wording(
        "who put up {this}?", "which society erected {this}?", "who paid for {this}?",
        "by whom was {this} erected?", a="{name} was erected by the {v}."),
    "material": wording(
        "what is {this} made of?", "which material is {this}?", "what's {whose} material?",
        "what did they make {this} from?", a="{name} is made of {v}."),
    "sculptor": wording(
        "who carved {this}?", "who is the sculptor of {this}?", "which sculptor made {this}?",
        "whose work is {this}, who's the sculptor?", a="The sculptor of {name} was {v}."),
}  # fmt: skip

MENU: Wordings = {
    "restaurant": wording(
        "which restaurant is {this} from?", "what's the name of the place on {this}?",
        "where am I eating, what does {this} say?", "what restaurant does {this} belong to?",
        a="The menu is from {v}."),
    "cuisine": wording(
        "what cuisine does the restaurant on {this} serve?",
        "what kind of cooking is it at the place on {this}?",
        "which cuisine is the restaurant on {this} known for?",
        "what sort of cuisine is the place on {this}?", a="{name} serves {v} cuisine."),
    "opened": wording(
        "when did the restaurant on {this} open?", "since what year does the place on {this} exist?",
        "what year was the restaurant on {this} opened?",
        "how long has the place on {this} been around, since when?", a="{name} opened in {v}."),
    "town": wording(
        "which town is the restaurant on {this} in?", "in what town is the place on {this}?",
        "where is the restaurant on {this}, which town?", "what town would I find the place on {this} in?",
        a="{name} is in {v}."),
    "chef": wording(
        "who is the chef at the restaurant on {this}?", "who's cooking at the place on {this}?",
        "who is head chef of the restaurant on {this}?", "who runs the kitchen of the place on {this}?",
        a="The chef of {name} is {v}."),
    "closed day": wording(
        "on which day is the restaurant on {this} closed?", "when is the place on {this} shut?",
        "what day does the restaurant on {this} close?", "which weekday is the place on {this} not open?",
        a="{name} is closed on {v}."),
    "seats": wording(
        "how many seats does the restaurant on {this} have?",
        "how many people can sit in the place on {this}?",
        "what's the number of seats at the restaurant on {this}?",
        "how big is the place on {this}, how many seats?", a="{name} has {v}."),
    "owner": wording(
        "who owns the restaurant on {this}?", "who is the owner of the place on {this}?",
        "whom does the restaurant on {this} belong to?", "who does the place on {this} belong to?",
        a="{name} belongs to {v}."),
}  # fmt: skip

SHOP: Wordings = {
    "name": wording(
        "what's {this} called?", "what is the name of {this}?", "which shop is this?",
        "what does the sign of {this} say?", a="The shop is called {v}."),
    "street number": wording(
        "what's the street number of {this}?", "which number is on {this}?",
        "what house number does {this} have?", "at what number is {this}?", a="The street number is {v}."),
    "street": wording(
        "which street is {this} on?", "what street am I on, looking at {this}?", "on what street is {this}?",
        "what's the street name at {this}?", a="The shop is on {v}."),
    "weekday hours": wording(
        "what are the weekday opening hours of {this}?", "when is {this} open Monday to Friday?",
        "when does {this} open and close on weekdays?", "what hours does {this} keep during the week?",
        a="On weekdays it is open {v}."),
    "saturday hours": wording(
        "what are the Saturday hours of {this}?", "when is {this} open on Saturday?",
        "what hours does {this} have on Saturdays?", "on Saturday, when can I go to {this}?",
        a="On Saturday it is open {v}."),
    "address": wording(
        "what is the address of {this}?", "what's {whose} full address?",
        "where exactly is {this}, address please", "which address does {this} have?",
        a="The address of {name} is {v}."),
    "owner": wording(
        "who owns {this}?", "who is the owner of {this}?", "whose shop is this, who's the owner?",
        "who does {this} belong to?", a="{name} belongs to {v}."),
    "founded": wording(
        "when was {this} founded?", "what year was {this} founded?", "since when does {this} exist?",
        "how old is {this}, when was it founded?", a="{name} was founded in {v}."),
    "phone number": wording(
        "what is the phone number of {this}?", "how can I call {this}?", "what's {whose} phone number?",
        "which number do I dial to reach {this}?", a="The phone number of {name} is {v}."),
    "delivery fee": wording(
        "what does {this} charge for delivery?", "what's {whose} delivery fee?",
        "how much is delivery from {this}?", "how much does {this} want to deliver?",
        a="{name} delivers for {v}."),
    "building": wording(
        "what was the building of {this} before?", "what kind of building is {this} in?",
        "which building does {this} occupy?", "what's special about the building of {this}?",
        a="{name} is in {v}."),
}  # fmt: skip

PERSON: Wordings = {
    "birthplace": wording(
        "where was {this} born?", "what is the birthplace of {this}?", "in which town was {this} born?",
        "where does {this} come from, born where?", a="{name} was born in {v}."),
    "born": wording(
        "when was {this} born?", "what's the birth date of {this}?", "on what day was {this} born?",
        "when is the birthday of {this}?", a="{name} was born on {v}."),
    "died": wording(
        "when did {this} die?", "on which date did {this} die?", "what day did {this} pass away?",
        "what is the date of death of {this}?", a="{name} died on {v}."),
    "studied": wording(
        "what did {this} study?", "which subject did {this} study at university?",
        "what did {this} read at university?", "what degree did {this} take?", a="{name} studied {v}."),
    "first job": wording(
        "what was the first job of {this}?", "what did {this} work as at first?",
        "how did {this} first earn a living?", "what was {this} before becoming known, what job?",
        a="{name} first worked as a {v}."),
    "hobby": wording(
        "what hobby did {this} have?", "what did {this} like to do in free time?",
        "what was the hobby of {this}?", "what did {this} do for fun?", a="The hobby of {name} was {v}."),
    "spouse": wording(
        "who was {this} married to?", "who did {this} marry?", "who was the spouse of {this}?",
        "what's the name of the person {this} married?", a="{name} was married to {v}."),
}  # fmt: skip

COMPANY: Wordings = {
    "founder": wording(
        "who founded {this}?", "who is the founder of {this}?", "who started {this}?", "who set up {this}?",
        a="{name} was founded by {v}."),
    "founded": wording(
        "when was {this} founded?", "what year was {this} founded?", "since when does {this} exist?",
        "in which year was {this} set up?", a="{name} was founded in {v}."),
    "headquarters": wording(
        "where is {this} based?", "where are the headquarters of {this}?",
        "in which town does {this} have its head office?", "what town is {this} based in?",
        a="{name} is based in {v}."),
    "employees": wording(
        "how many people work for {this}?", "how many employees does {this} have?",
        "how big is the staff of {this}?", "how many people does {this} employ?", a="{name} employs {v}."),
}  # fmt: skip

VENUE: Wordings = {
    "capacity": wording(
        "how many people fit into {this}?", "what's the capacity of {this}?",
        "how many people does {this} hold?", "how big is {this}, how many people?", a="{name} holds {v}."),
    "built": wording(
        "when was {this} built?", "what year is {this} from?", "in which year was {this} built?",
        "how old is {this}, when was it built?", a="{name} was built in {v}."),
    "architect": wording(
        "who designed {this}?", "who is the architect of {this}?", "who drew the plans of {this}?",
        "which architect built {this}?", a="{name} was designed by {v}."),
    "town": wording(
        "which town is {this} in?", "where is {this}, which town?", "in what town do I find {this}?",
        "what town does {this} stand in?", a="{name} is in {v}."),
}  # fmt: skip

MUSEUM: Wordings = {
    "town": VENUE["town"],
    "founded": COMPANY["founded"],
    "ticket price": wording(
        "how much is a ticket to {this}?", "what's the admission at {this}?",
        "what does it cost to visit {this}?", "how much do I pay to get into {this}?",
        a="A ticket to {name} costs {v}."),
    "closed day": wording(
        "on which day is {this} closed?", "what day is {this} shut?", "which weekday does {this} not open?",
        "when is {this} closed?", a="{name} is closed on {v}."),
    "opening time": wording(
        "what time does {this} open?", "when does {this} open in the morning?",
        "from what time can I visit {this}?", "at what time do the doors of {this} open?",
        a="{name} opens at {v}."),
}  # fmt: skip

STORE: Wordings = {
    "return period": wording(
        "within how many days can I return things at {this}?", "how long can I bring things back to {this}?",
        "what's the return period at {this}?", "how many days do I have to return something to {this}?",
        a="{name} takes goods back within {v}."),
    "headquarters": COMPANY["headquarters"],
}  # fmt: skip

WORDINGS: dict[str, Wordings] = {
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
    "venue": VENUE,
    "museum": MUSEUM,
    "store": STORE,
}
