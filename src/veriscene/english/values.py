"""Rules in which a value stands for what has it ("yellow appears twice"), and generic statements about a kind ("if a
square is black, it is on the left"), about items that are alone, and about boxes from left to right."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.clauses import HAS, HAVE
from veriscene.english.contents import domain
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, draws, rules_of
from veriscene.english.shares import AttributeParts, Properties
from veriscene.english.speaker import Domain, Kind, Property, Sentence, Speaker
from veriscene.english.tables import Row, tables
from veriscene.world.schema import Attribute, Choice

_TABLES = tables(__name__)


class _ValueParts(Parts):
    """Parts of rules about values: {V} is the word for a value, {W} another one of the attribute {name}; {count v} is
    about the items that have the value, {exist v not} about those that have not; {most v} and {least v} compare it with
    all others, {lack v} says that no other one is in every box, {never v} that no item of the kind x has another one,
    {all_others v}, where v is missing, that all others are there.
    {where} is the subject of the domain, {all} are its items."""

    def __init__(self, say: Speaker, row: Row) -> None:
        is_subject = any("{where}" in each for each in row.wordings)
        if is_subject and say.world.boxes[1] == 1:
            raise Unfit
        super().__init__(say, row, domain(say) if is_subject else say.domain())
        where, kind = self.where, say.kind(plain=True, generic=0.05)
        self |= {"at": where.where, "where": where.subject, "in_where": where.where or f"in {where.subject}"}
        verbs = ("are", "have", "them", "", "lack") if where.plural else ("is", "has", "it", "s", "lacks")
        self |= dict(zip(("be", "have", "them", "s", "lack"), verbs, strict=True))
        self["all"], self.others = where.items, list[str]()
        self.add_kinds(kind)

    def meant(self, what: str, name: str, place: str = "") -> str:
        own, items = self.kind(name), self.where.items
        if what == "never":
            return f"not exist({self.kinds['x'].among(items, mean.negation(own.condition))})"
        if what == "all_others":
            return f"count({own.condition.partition('(')[0]}({items})) == {len(self.others)}"
        if what in ("exist", "count"):
            return super().meant(what, name, place)
        if what == "lack":
            return mean.both(*(f"not every(exist({mean.those('#', each)}))" for each in self.others))
        sign = ">" if what == "most" else "<"
        return mean.both(
            *(f"{mean.count(items, own.condition)} {sign} {mean.count(items, each)}" for each in self.others)
        )

    def kind(self, name: str) -> Kind:
        if name not in self.kinds:
            self.draw("V")
        return self.kinds[name]

    def words(self) -> list[tuple[Attribute, Choice, str]]:
        """The values that can be said, with a word for each; a value that stands for its items is neither a noun nor a
        rank."""
        return [
            (attribute, choice, word)
            for attribute, choice in self.say.values(nouns=False)
            for word in choice.words
            if attribute.kind == "categorical" and " " not in word
        ]

    @draws("V W name")
    def draw_value(self) -> None:
        """Draws a value that is said in one word, and another one."""
        say, found = self.say, self.words()
        if not found:
            raise Unfit
        attribute, choice, word = say.rng.choice(found)
        others = [each for each in attribute.choices if each is not choice]
        if not 0 < len(others) < 5 or f"{say.lexicon.names[attribute.name]}(" in self.kinds["x"].condition:
            raise Unfit
        other = say.rng.choice(others)
        self.others = [say.has(attribute, each) for each in others]
        self.kinds |= {"v": Kind(word, word, say.has(attribute, choice)), "w": Kind("", "", say.has(attribute, other))}
        self |= {"V": word, "name": say.rng.choice(attribute.words), "W": say.rng.choice(other.words)}


class _NamedParts(_ValueParts):
    """Values of any attribute: "the circle" is a shape."""

    def __init__(self, say: Speaker, row: Row) -> None:
        super().__init__(say, row)
        if self.where.is_negative:
            raise Unfit

    def words(self) -> list[tuple[Attribute, Choice, str]]:
        named = [(attribute, choice, self.say.rng.choice(choice.words)) for attribute, choice in self.say.values()]
        return [(a, choice, f"the {word}" if a.is_noun else word) for a, choice, word in named if " " not in word]


class _Missing(AttributeParts):
    """Values that do not occur: "one colour is missing from the left box"; {where} is the subject. They are told of a
    kind, too: "among the circles in the left box"."""

    def __init__(self, say: Speaker, row: Row) -> None:
        where = domain(say)
        super().__init__(say, row, where)
        plural, is_free = where.plural, not self.kind("x").condition
        at = where.where if is_free else f"among the {self['Xs']} {where.where}"
        if is_free:
            self |= {"where": where.subject, "lack": "lack" if plural else "lacks", "have": HAVE if plural else HAS}
        if is_free and not where.is_negative:
            self["lack_no"] = self["lack"]
        if not where.is_quantified:  # "one colour is missing from every box" could be the same one
            self |= {"at": at, "from": f"(from|in) {where.subject}" if is_free and where.box else at}
            self |= {"have_not": f"{'do' if plural else 'does'} not have"} if is_free else {}
        else:
            del self["at"]


def _said_of_one(say: Speaker, avoid: str) -> Property:
    """What can be said of an item after "it is": a value, a box, a wall, an end of its box."""
    has_walls, has_boxes = say.world.walls, say.world.boxes[1] > 1
    how = say.weighted((4, ""), (2.5 * has_boxes, "box"), (1, "is_bottom"), (1, "is_top"), (1.0 * has_walls, "wall"))
    if how == "":
        return say.property(avoid=avoid)
    if how == "box":
        where = say.which()
        return Property(where.where, where.where, f"@.box == {where.box}")
    words = say.expand(_TABLES[f"it_{how}"].say(say, box=say.box))
    condition = "is_touching_wall(@)" if how == "wall" else f"{how}(@)"
    return Property(words, words.replace(" its ", " their ").replace(" one ", " ones "), condition)


def _is_about_one(*conditions: str) -> bool:
    """Whether two of the conditions are about the same attribute."""
    about = [part.partition("==")[0] for each in conditions for part in each.split(" and ") if part]
    return len(about) != len(set(about))


class _Conditional(Properties):
    """Items of a kind: if they are {p}, they are {q}, or not {q}; {n} of them are {p}, and these are {q}."""

    def __init__(self, say: Speaker, row: Row) -> None:
        self.is_counted = "count" in row.columns[0]
        where = say.domain() if self.is_counted else Domain(mean.ALL_ITEMS, "", "")
        super().__init__(say, row, where, where.where)

    def one_kind(self) -> Kind:
        return self.say.kind(plain=True, modified=0, generic=0.2 if self.is_counted else 0.4)

    def draw_properties(self) -> None:
        say, kind = self.say, self.kinds["x"].condition
        first = say.property(avoid=kind) if self.is_counted or say.chance(0.75) else _said_of_one(say, kind)
        second = _said_of_one(say, mean.both(kind, first.condition))
        is_there = ".box ==" in second.condition and self.is_counted and self.where.box
        if _is_about_one(kind, first.condition, second.condition) or is_there:
            raise Unfit
        if not self.is_counted and say.chance(0.3):
            second = Property(f"not {second.singular}", "", mean.negation(second.condition))
        self.add_property("p", first)
        self.add_property("q", second)

    @draws("n N")
    def draw_number(self) -> None:
        self.add_number("n", self.say.small(3, 4))


def shared_noun(say: Speaker) -> Sentence | None:
    """Says "The left box has one black, one blue and two yellow triangles"."""
    attribute, where = say.attribute(nouns=False), say.domain(quantified=0.25)
    choices = [each for each in attribute.choices if " " not in each.word] if attribute is not None else []
    if attribute is None or len(choices) < 2:
        return None
    kind = Kind(say.item, say.items)
    if say.world.noun is not None and say.chance(0.6):
        choice = say.rng.choice(say.world.noun.choices)
        kind = Kind(
            *say.rng.choice(say.lexicon.nouns[say.world.noun.name, choice.name]), say.has(say.world.noun, choice)
        )
    some = say.rng.sample(choices, min(len(choices), say.pick(2, 2, 3)))
    amounts = [say.small(1, 4) for _ in some]
    words = [f"{say.number(n)} {say.rng.choice(each.words)}" for n, each in zip(amounts, some, strict=True)]
    sets = [kind.among(where.items, say.has(attribute, each)) for each in some]
    listed = f"{', '.join(words[:-1])} and {words[-1]} {kind.plural if amounts[-1] > 1 else kind.singular}"
    texts = [f"{where.subject} ~({'have|contain' if where.plural else 'has|contains'}) {listed}"]
    if not where.is_quantified:
        texts += [f"there ~{'are' if amounts[0] > 1 else 'is'} {listed} {where.where}", f"{listed} {where.where}"]
    tests = [f"count({each}) == {n}" for n, each in zip(amounts, sets, strict=True)]
    return Sentence(say.pick(*texts), where.bind(mean.both(*tests)))


def counts_in_order(say: Speaker) -> Sentence | None:
    """Says "From left to right, the towers contain three, one and four blocks"."""
    low, high = say.world.boxes
    if low != high or not 2 <= high <= 4:
        return None
    kind, forwards = say.kind(plain=True, generic=0.45), say.chance(0.75)
    order = "(from left to right|going left to right|left to right)" if forwards else "from right to left"
    words = {"box": say.box, "boxes": say.boxes, "Xs": kind.plural, "order": order}
    counts = [f"count({kind.among(f'all_boxes[{at}]')})" for at in range(high)][:: 1 if forwards else -1]
    numbers = [say.small(0 if say.chance(0.2) else 1, 5) for _ in counts]
    said = [say.number(number) for number in numbers]
    words |= {"comma": ", ".join(said), "listed": f"{', '.join(said[:-1])} and {said[-1]}"}
    words |= {"respectively": "respectively"} if forwards else {}
    tests = [f"{counted} == {number}" for counted, number in zip(counts, numbers, strict=True)]
    return Sentence(_TABLES["numbers_in_order"].say(say, **words), mean.both(*tests))


def neighbours(say: Speaker) -> Sentence | None:
    """Says "No two neighbouring blocks of the right tower share a colour"."""
    attribute, where, row = say.attribute(nouns=False), say.domain(), _TABLES["neighbours"].draw(say)
    if not say.is_tower or attribute is None:
        return None
    function = say.lexicon.names[attribute.name]
    alike = mean.related("get_directly_above($)", f"{function}(@) == {function}($)")
    text = row.say(say, name=say.rng.choice(attribute.words), items=say.items, at=where.where)
    return Sentence(
        text, f"{row.columns[0]}({mean.those(where.items, f'exist({alike})')})".replace("none(", "not exist(")
    )


RULES = (
    *rules_of(_TABLES, _ValueParts, appears=4.0, values=1.5, other=0.6, in_boxes=0.7, all_of_it=0.7, dominant=2.0),
    *rules_of(_TABLES, _NamedParts, named=2.0),
    *rules_of(_TABLES, _Missing, missing=2.5),
    *rules_of(_TABLES, _Conditional, conditional=3.0, and_these=1.5),
    *((2.0, shared_noun), (0.8, counts_in_order), (0.8, neighbours)),
)
