"""Rules about boxes: boxes that have something, how items are distributed over them, particular boxes, and boxes
compared by how much they contain. What can be said of a box is in contents.py."""

from __future__ import annotations

from itertools import combinations, pairwise

from veriscene.english import meaning as mean
from veriscene.english.clauses import HAS, HAVE, A, Content, amount, free_kind, general, named_attributes, those_with
from veriscene.english.compare import ordered, said
from veriscene.english.contents import BOXES, all_but, at, content, short, short_content, this_box, two_boxes
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, draws, rules_of
from veriscene.english.pattern import statement
from veriscene.english.shares import looks
from veriscene.english.speaker import NO, SOME, Domain, Kind, Quantity, Sentence, Speaker
from veriscene.english.tables import Row, tables
from veriscene.world.world_file import plural_of

_TABLES = tables(__name__)
_ELSEWHERE = "elsewhere"  # in all boxes but {here}
_OTHER = "other_box"  # the other box of a pair, while $ is an item


class BoxParts(Parts):
    """Draws the parts of rules about boxes.

    {here} is a particular box and {there} another one, {in_here} and {in_there} are the same with a preposition, {one}
    is "the left one". {things} and {content} are what a box may contain, {this} and {that} the same in few words;
    {test things} is the condition on # that it has them, {not things} its opposite, {test things here} is said of a
    particular box. {count x elsewhere} is about all boxes but {here}. {outer} is only drawn for the first and last box.
    """

    def __init__(self, say: Speaker, row: Row) -> None:
        super().__init__(say, row)
        if say.world.boxes[1] == 1:
            raise Unfit
        self.contents: dict[str, Content] = {}
        self.places: dict[str, Domain] = {}
        self.quantity = A
        self |= {"occur": "(occur|appear|are found|can be seen)", "back": "from right to left"}
        self["order"] = "(from left to right|going left to right|left to right)"

    # ------------------------------------------------------------ meanings

    def meant(self, what: str, name: str, place: str = "") -> str:
        if what in ("test", "not"):
            test = self.content(name).test
            return at(mean.negation(test) if what == "not" else mean.closed(test), self.items_in(place) or "#")
        if what == "box":
            return self.items_in(name)
        if what in ("most", "fewest"):
            counted = self.meant("count", name, "#")
            return at(counted, f"{'max' if what == 'most' else 'min'}({BOXES}, key={mean.bind(counted, '#')})")
        if self.items_in(place) == _ELSEWHERE:
            return f"{what}({self.kind(name).among(mean.ALL_ITEMS, '@.box != ' + self.items_in('here'))})"
        return super().meant(what, name, place)

    def items_in(self, place: str) -> str:
        return self.place(place).box if place in ("here", "there") else super().items_in(place)

    def said_of_boxes(self, operator: str, condition: str) -> str:
        if operator in ("steps", "next", "before"):
            low, high = self.say.world.boxes
            if not low == high <= 4:
                raise Unfit
            boxes = [f"{BOXES}[{number}]" for number in range(high)]
            pairs = combinations(boxes, 2) if operator == "before" else pairwise(boxes)
            tests = [condition.replace("#", one).replace("$", other) for one, other in pairs]
            return mean.both(*tests) if operator == "steps" else mean.either(*tests)
        if operator == "many":
            return self.quantity.holds(mean.those(BOXES, condition, "#"))
        return super().said_of_boxes(operator, condition)

    # ------------------------------------------------------------ particular boxes

    def place(self, name: str) -> Domain:
        if name not in self.places:
            self.draw("here")
        return self.places[name]

    @draws("here in_here one there in_there outer rest together")
    def draw_places(self) -> None:
        say, (low, high) = self.say, self.say.world.boxes
        others = f"the other {say.number(high - 1)}[ {say.boxes}]" if low == high > 2 else "the others"
        self["rest"] = say.pick("the others", f"the other {say.boxes}", f"all the other {say.boxes}", others)
        self.places["here"] = this_box(say)
        if self.names("there"):
            self.places = dict(zip(("here", "there"), two_boxes(say), strict=True))
            if low > 2 and self.names("count x there") and say.chance(0.12):
                rest = f"({others}|the others|{self['rest']}) (combined|together|put together|taken together)"
                self.places["there"] = Domain(_ELSEWHERE, f"in {rest}", rest, box=_ELSEWHERE)
        other, together = all_but(say, self.places["here"].box), "(combined|together|put together|taken together)"
        named = f"the {' and the '.join(other)} {say.box}" if len(other) == 2 and low == high == 3 else self["rest"]
        self["together"] = f"({named}|{self['rest']}) {together}"
        for name, where in self.places.items():
            self |= {name: where.subject, f"in_{name}": where.where}
        self["one"] = short(say, self.places["here"])
        ends = [f"{BOXES}[0]", f"{BOXES}[{high - 1}]"]
        if low == high > 2 and [where.box for where in self.places.values()] == ends:
            self["outer"] = f"the [two] (outer|outer|outermost|end) {say.boxes}"

    @draws("all_things")
    def draw_anything(self) -> None:
        self["all_things"] = general(self.say).plural

    @draws("without")
    def draw_without(self) -> None:
        self["without"] = "((without|that lacks) {x}|(without any|that has no|with no) {Xs})".format_map(self)

    @draws("full with_most")
    def draw_fullest(self) -> None:
        self["with_most"] = f"(with|that has|containing) the {self['most']} {self['Xs']}"
        if not self.kind("x").condition:
            self["full"] = self["fullest"]

    # ------------------------------------------------------------ how many boxes

    @draws("so_many be that_have")
    def draw_so_many(self) -> None:
        self.quantity = A if self.say.chance(0.45) else self.boxes_number()
        self |= {"so_many": self.of_boxes(), "be": "are" if self.quantity.plural else "is"}
        self["that_have"] = those_with(self.say, self.content("content"), plural=self.quantity.plural)

    @draws("some_boxes")
    def draw_some_boxes(self) -> None:
        self.quantity = self.boxes_number()
        if self.quantity.test in (SOME, NO):
            self.quantity = Quantity("(only|just|exactly) one {}", "{} == 1", plural=False)
        self["some_boxes"] = self.of_boxes()

    @draws("amount")
    def draw_amount(self) -> None:
        is_none = self.say.chance(0.15)
        self.quantity = Quantity("zero", NO) if is_none else amount(self.say, 1, self.say.world.boxes[1])
        self["amount"] = self.quantity.words

    @draws("k K")
    def draw_part(self) -> None:
        self.add_number("k", self.say.boxes_number(2))

    def boxes_number(self) -> Quantity:
        return self.say.quantity(high=max(2, self.say.world.boxes[1] - 1))

    def of_boxes(self) -> str:
        return self.quantity.of(Kind(self.say.box, self.say.boxes))

    # ------------------------------------------------------------ what boxes contain

    def content(self, name: str) -> Content:
        if name not in self.contents:
            is_short = name in ("this", "that")
            self.contents[name] = short_content(self.say) if is_short else content(self.say, things=name == "things")
        return self.contents[name]

    @draws("things some_things there_is there_is_some there_is_simple with_it with_them")
    def draw_content(self) -> None:
        found = self.content("content" if self.names("test content") else "things")
        self |= {"things": found.things, "there_is": found.there}
        self |= {"with_it": those_with(self.say, found, plural=False)}
        self |= {"with_them": those_with(self.say, found, plural=True)}
        if not found.is_negative:
            self |= {"some_things": found.things, "there_is_some": found.there}
        if found.is_simple:
            self["there_is_simple"] = found.there

    @draws("this with_this withs_this with_that has_this is_this that has_that have_that is_that")
    def draw_short(self) -> None:
        this, that = self.content("this"), self.content("that")
        if this.test == that.test:
            raise Unfit
        also = "" if that.is_negative else "(also |)"
        self |= {"this": this.things, "that": that.things}
        self |= {"has_that": f"{also}~{HAS} {that.things}", "have_that": f"{also}~{HAVE} {that.things}"}
        self |= {"has_this": f"has {this.things}", "is_this": statement(this.there), "is_that": that.there}
        self["with_that"] = those_with(self.say, that, plural=False)
        self["with_this"], self["withs_this"] = (those_with(self.say, this, plural=each) for each in (False, True))


class _Values(BoxParts):
    """{c} and {cs} name an attribute, {d} and {ds} another one. {shared here there} are the items of one box whose
    value the other has, too, and {unshared here there} are its others; "other" is the other box of a pair. {alike
    here there} agree in both attributes, {same here there} says that the second one has the same values. {everywhere}
    are the items whose value all boxes have, and {elsewhere_not} the others; {lacking here} are items whose value all
    boxes but one have. {distinct here} is the number of values, {fn} their function. Elsewhere is in any other
    box."""

    def __init__(self, say: Speaker, row: Row) -> None:
        super().__init__(say, row)
        if not (options := [each for each in named_attributes(say) if each.choices]):
            raise Unfit
        attribute = say.rng.choice(options)
        word, function = say.rng.choice(attribute.words), say.lexicon.names[attribute.name]
        self |= {"c": word, "cs": plural_of(word), "fn": function, "t": say.number(max(2, say.world.boxes[0]))}
        self |= {"total": str(len(attribute.choices)), "t_all": say.number(len(attribute.choices))}
        self.function, self.partner = function, f"{function}(@) == {function}($)"  # mean.related
        if others := [each for each in options if each is not attribute]:
            second = say.rng.choice(others)
            self.second = f"{say.lexicon.names[second.name]}(@) == {say.lexicon.names[second.name]}($)"
            self["ds"] = plural_of(self.setdefault("d", say.rng.choice(second.words)))
        elif self.names("alike", "same"):
            raise Unfit

    def meant(self, what: str, name: str, place: str = "") -> str:
        if what == "distinct":
            return f"count({self.function}({self.items_in(name)}))"
        if what == "alike":
            partner = mean.related(self.items_in(place), f"{self.partner} and {self.second}")
            return mean.those(self.items_in(name), f"exist({partner})")
        if what == "same":  # the same set of values of the second attribute
            sets = (self.items_in(name), self.items_in(place))
            missing = (f"not exist({mean.related(each, self.second)})" for each in sets[::-1])
            return mean.both(*(f"not exist({mean.those(*each)})" for each in zip(sets, missing, strict=True)))
        if what == "lacking":
            in_box = f"exist({mean.related('#', self.partner)})"
            here, box = in_box.replace("#", self.items_in(name)), f"# == {self.items_in(name)}"
            in_the_others = mean.every(BOXES, mean.either(box, in_box), "#")
            return mean.those(mean.ALL_ITEMS, mean.both(mean.negation(here), in_the_others))
        if what not in ("shared", "unshared"):
            return super().meant(what, name, place)
        elsewhere = mean.those(mean.ALL_ITEMS, f"@.box != {self.items_in('here')}")
        places = {_ELSEWHERE: elsewhere, "other": _OTHER}
        items, others = (places.get(each) or self.items_in(each) for each in (name, place))
        has_partner = f"exist({mean.related(others, self.partner)})"
        found = mean.those(items, has_partner if what == "shared" else mean.negation(has_partner))
        return found.replace(_OTHER, "$")

    @draws("everywhere elsewhere_not")
    def draw_everywhere(self) -> None:
        in_every_box = mean.every(BOXES, f"exist({mean.related('#', self.partner)})", "#")
        self["everywhere"] = mean.those(mean.ALL_ITEMS, in_every_box)
        self["elsewhere_not"] = mean.those(mean.ALL_ITEMS, mean.negation(in_every_box))


class _Measured(BoxParts):
    """Items of two boxes compared by {name}: {over all there} are those of {here} that are {more} than all of {there},
    {not_over all there} its others, and {as_most x there} those that are as much as the {most} there, if they are the
    {most} here."""

    def __init__(self, say: Speaker, row: Row) -> None:
        super().__init__(say, row)
        self.add_kinds(kind := free_kind(say, modified=0, generic=0.5))
        attribute = ordered(say)
        if attribute is None or f"{say.lexicon.names[attribute.name]}(" in kind.condition:
            raise Unfit
        self.value, self["name"] = say.lexicon.names[attribute.name], attribute.words[0]
        words, self.sign = [attribute.more, attribute.less, attribute.most], ">"
        if say.chance(0.4):
            words, self.sign = [attribute.less, attribute.more, attribute.least], "<"
        self |= dict(zip(("more", "less", "most"), map(said, words), strict=True))

    def meant(self, what: str, name: str, place: str = "") -> str:
        if what not in ("over", "not_over", "as_most"):
            return super().meant(what, name, place)
        kind, here, there = self.kind("x"), self.items_in("here"), self.items_in("there")
        sign, unbeaten = self.sign, {">": "<=", "<": ">="}[self.sign]

        def some(items: str, sign: str) -> str:
            test = f"{self.value}($) {sign} {self.value}(@)"
            return f"exist({mean.related(items, mean.both(kind.condition, test))})"

        if what == "as_most":
            beaten = {">": "<", "<": ">"}[sign]
            is_most = (mean.negation(some(each, beaten)) for each in (here, there))
            return kind.among(here, mean.both(some(there, "=="), *is_most))
        found = mean.negation(some(there, unbeaten)) if name == "all" else some(there, sign)
        return kind.among(here, mean.negation(found) if what == "not_over" else found)


class _Copies(BoxParts):
    """{copied x there} are the items of {here} that look like one of {there}, {uncopied x there} its others, and
    {scattered x} the items of the scene that look like one of another box."""

    def meant(self, what: str, name: str, place: str = "") -> str:
        if what == "scattered":
            elsewhere = mean.related("get_img_exclusive(@)", mean.both("@.box != $.box", looks(self.say, "@", "$")))
            return self.kind(name).among(mean.ALL_ITEMS, f"exist({elsewhere})")
        if what not in ("copied", "uncopied"):
            return super().meant(what, name, place)
        has_copy = f"exist({mean.related(self.items_in(place), looks(self.say, '@', '$'))})"
        return self.kind(name).among(self.items_in("here"), has_copy if what == "copied" else mean.negation(has_copy))


def listing(say: Speaker) -> Sentence | None:
    """Says "The left box has two circles, the middle one a square and the right one nothing blue"."""
    if say.world.boxes[1] == 1:
        return None
    places = say.rng.sample(say.lexicon.distinct_places, min(len(say.lexicon.distinct_places), say.pick(2, 2, 3)))
    if say.chance(0.6):
        places.sort(key=lambda place: place.box)
    words, found = [say.rng.choice(place.words) for place in places], [short_content(say) for _ in places]
    if say.chance(0.3):  # one kind, several numbers: "left: two circles; right: none"
        kind = free_kind(say, generic=0.2)
        amounts = [say.quantity(negative=True, high=4) for _ in places]
        found = [
            Content(each.holds(kind.among("#")), each.of(kind) if at == 0 else _short(each, kind))
            for at, each in enumerate(amounts)
        ]
    meaning = mean.both(*(each.of(place.box) for each, place in zip(found, places, strict=True)))
    named = [{"word": word, "things": each.things, "box": say.box} for word, each in zip(words, found, strict=True)]
    row = _TABLES["listing"].draw(say)
    first, other, before_last = row.wordings
    clauses = [(other if at else first).format_map(each) for at, each in enumerate(named)]
    between = ", ^" if "^" in before_last else "; " if ";" in before_last else ", "
    return Sentence(f"{between.join(clauses[:-1])}{before_last} {clauses[-1]}", meaning)


def _short(quantity: Quantity, kind: Kind) -> str:
    """ "Two" or "none": the number without the noun, where that is possible."""
    last = quantity.words.removesuffix(" {}")
    return (
        "none" if quantity.test == NO else last if "{" not in last and last not in ("a", "some") else quantity.of(kind)
    )


RULES = (
    *rules_of(_TABLES, BoxParts, there_are=5.0, whichever=0.6, boxes_with_have=1.8, distributions=6.5),
    *rules_of(_TABLES, BoxParts, boxes_of_kinds=0.3, only=1.5, particular=4.0, others=0.7, comparisons=3.0),
    *rules_of(
        _TABLES,
        BoxParts,
        contrasts=1.2,
        kinds_to_items=0.3,
        kinds_compared=0.5,
        most=2.0,
        fullest=0.6,
        alone=1.5,
        identical=0.8,
    ),
    *rules_of(_TABLES, BoxParts, differences=1.2, steps=2.0),
    *rules_of(_TABLES, _Values, values=2.5),
    *rules_of(_TABLES, _Copies, copies=0.8),
    *rules_of(_TABLES, _Measured, measured=1.0),
    (1.5, listing),
)
