"""From a statement's words to layouts of a neural module network: trees of modules, by hand-written rules.

A shallow chunker reads the words from left to right and collects *clauses*: a quantity ("at least two"), a description
("blue circles") and predicates ("not touching the edge", "above a black block"). Words that the rules do not know join
the description or the object of a relation, so that a model still reads them. Every statement gets a layout:
docs/vision.md, "NMN: how layouts are produced".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from veriscene.language.module_layout import MAX_STEPS, Layout, Module, Step

# ---------------------------------------------------------------- word classes


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BOXES = _words("box boxes tower towers abox bow")
ITEMS = _words("item items object objects block blocks square squares circle circles triangle triangles ones shapes")
COLORS = _words("blue black yellow")
NUMBERS = _words("one two three four five six seven eight nine ten")
QUANTITIES = NUMBERS | _words(
    "a an the no none any each every all ll al both only exactly at least atleast most more less than single multiple "
    "many some just even odd total t eactly exacts leats lest lease exacty exacrly isa tleast"
)
DETERMINERS = _words("a an the any")
PROPERTIES = _words(
    "same different color colors colour colours number height shape size type kinds together alternately"
)
RELATIONS = _words(
    "touching above over below bellow beneath under underneath on between attached attach near closely nearly nealy "
    "almost directly stacked from touhing"
)
PLACES = _words(
    "edge wall corner corners side base bases top bottom roof middle second third first line floor right left position "
    "positions level adge egde lower"
)
CONJUNCTIONS = _words("and , but or ; ans ad")
OPENERS = _words("with has have having contains contain containing including where wih wirh wth wwith without")
PRONOUNS = _words("it they")
VERBS = _words("is are")
GLUE = _words("there as its of in which that to them this do being but be out . - / 's i s ia theer")
# Words that say nothing about objects, where a statement is read without structure.
IGNORED = GLUE | VERBS | DETERMINERS | OPENERS - {"without"}


@dataclass
class _Predicate:
    """Says where objects are: `not touching the edge` (a place) or `above a black block` (a relation to others)."""

    negated: bool
    relation: list[int] = field(default_factory=list)
    described: list[int] = field(default_factory=list)
    has_object: bool = False  # described are other objects, and not a place


@dataclass
class _Clause:
    quantity: list[int] = field(default_factory=list)
    described: list[int] = field(default_factory=list)
    alternatives: list[int] = field(default_factory=list)  # colours of which one must fit: "blue and yellow items"
    predicates: list[_Predicate] = field(default_factory=list)
    has_noun: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.described or self.alternatives or self.predicates)


class _Chunker:
    """Reads the words once; afterwards `clauses` and `boxes` hold what the statement says."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.clauses: list[_Clause] = []
        self.boxes: list[int] = []  # how many boxes, or which
        self.clause = _Clause()
        self.predicate: _Predicate | None = None  # the one that is being read
        self.negated = False
        for index in range(len(words)):
            self._read(index)
        self._close()
        if self.clauses:  # quantity words that nothing followed: "… have the same number"
            self.clauses[-1].quantity += self.clause.quantity

    def _read(self, index: int) -> None:
        word = self.words[index]
        if word in BOXES or (word.startswith(("square", "box")) and self._word(index - 1) == "grey"):
            self._box(index)
        elif word in OPENERS:
            self._close()
            self.negated = word == "without"
        elif word in CONJUNCTIONS:
            self._conjunction(index)
        elif word in PRONOUNS:  # "a circle and it is touching the wall" goes on with the clause before
            if self.clauses and self.clause.is_empty and not self.clause.quantity:
                self.clause = self.clauses.pop()
        elif word in VERBS:
            self.predicate = None
        elif word == "not":
            self.negated = True
        elif word in RELATIONS:
            self._relation(index)
        elif word in PROPERTIES:
            self.predicate = None
            self.clause.quantity.append(index)
        elif word in QUANTITIES or word.isdigit():
            self._quantity(index)
        elif word in PLACES:
            self._place(index)
        elif word not in GLUE and word != "grey":
            self._describe(index)

    def _word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def _next_content(self, index: int) -> str:
        """Returns the next word that is no determiner."""
        return next((word for word in self.words[index + 1 :] if word not in DETERMINERS), "")

    def _close(self) -> None:
        if not self.clause.is_empty:
            self.clauses.append(self.clause)
            self.clause = _Clause()
        self.predicate, self.negated = None, False

    def _box(self, index: int) -> None:
        """Quantity words that no description followed belong to the box."""
        if self.predicate is not None and not self.predicate.has_object:  # "touching the wall of a box"
            self.predicate.relation = [i for i in self.predicate.relation if self._word(i) not in DETERMINERS]
        quantity = self.clause.quantity if self.clause.is_empty else []
        self.boxes += [*quantity, index]
        if self.clause.is_empty:
            self.clause = _Clause()
        self.predicate = None

    def _conjunction(self, index: int) -> None:
        following = self._next_content(index)
        if self._word(index - 1) in COLORS and following in COLORS and not self.predicate:
            described = self.clause.described
            if described and described[-1] == index - 1:
                self.clause.alternatives.append(described.pop())
            return
        self.predicate = None
        # "at the top and base", "touching the wall and not the base" go on with the same clause.
        if not self.clause.predicates or not (following in PLACES | RELATIONS or following == "not"):
            self._close()

    def _relation(self, index: int) -> None:
        if self.predicate is None or self.predicate.described:
            self._open()
        assert self.predicate is not None
        self.predicate.relation.append(index)

    def _open(self) -> None:
        self.predicate = _Predicate(self.negated)
        self.clause.predicates.append(self.predicate)
        self.negated = False

    def _quantity(self, index: int) -> None:
        word, following = self._word(index), self._next_content(index)
        if following in BOXES | {"grey"} and not (self.clause.is_empty and self.clause.quantity):
            self.boxes.append(index)
            return
        if self.predicate is not None and not self.predicate.has_object:
            if word not in DETERMINERS:
                self.predicate.relation.append(index)
            return
        if self.clause.has_noun or self.clause.predicates:
            if following in PLACES | PROPERTIES and word in DETERMINERS | {"at"}:  # "at the top", "of the same color"
                return
            starts_description = following in QUANTITIES | COLORS | ITEMS or following.isdigit()
            if word not in {"only", "each"} or starts_description:
                self._close()
        self.clause.quantity.append(index)

    def _place(self, index: int) -> None:
        if self.predicate is None and (self.clause.has_noun or self.negated):
            self._open()
        if self.predicate is not None:
            self.predicate.described.append(index)
        else:
            self.clause.described.append(index)
            self.clause.has_noun = self._word(index + 1) not in ITEMS

    def _describe(self, index: int) -> None:
        is_noun = self._word(index) in ITEMS
        if self.negated and self.predicate is None:
            self._open()
        if self.predicate is not None:
            if self.predicate.has_object and self.predicate.described[-1] != index - 1:
                self._close()
                self._describe(index)
                return
            if not self.predicate.has_object:  # "on top of a block": what stood for a place names the relation
                self.predicate.relation += self.predicate.described
                self.predicate.described = []
            self.predicate.has_object = True
            self.predicate.described.append(index)
        elif self._word(index) in COLORS and self.clause.alternatives:
            self.clause.alternatives.append(index)
        else:
            self.clause.described.append(index)
            self.clause.has_noun |= is_noun


# ---------------------------------------------------------------- layouts


def layouts(words: Sequence[str]) -> tuple[Layout, ...]:
    """Returns different layouts of a statement, given as lower-case words, with at most MAX_STEPS steps in an order in
    which arguments precede: as the rules read it; counting in all boxes together instead of in each, or the other way
    round; and without structure, as the objects that fit all words but quantities. The first one always exists."""
    chunks = _Chunker(words)
    clauses = chunks.clauses or [chunks.clause]  # nothing described: all objects are found
    # "There is a blue item touching the wall of a box" counts in the whole scene, and so does what names no box.
    boxes = [index for index in chunks.boxes if words[index] not in DETERMINERS | BOXES]
    end = len(words)
    box_comes_first = min(chunks.boxes, default=end) < min(
        (*clauses[0].described, *clauses[0].alternatives), default=end
    )
    is_global = len(clauses) == 1 and not boxes and not box_comes_first
    count, other = (Module.COUNT_ALL, Module.COUNT) if is_global else (Module.COUNT, Module.COUNT_ALL)
    quantity = sorted(index for clause in clauses for index in clause.quantity)
    rest = [index for index in range(end) if index not in {*quantity, *chunks.boxes} and words[index] not in IGNORED]
    found = (
        _layout(clauses, chunks.boxes, count, end),
        _layout(clauses, chunks.boxes, other, end),
        _layout([_Clause(quantity, rest)], chunks.boxes, count, end),
    )
    return tuple(dict.fromkeys(found))


def _layout(clauses: Sequence[_Clause], boxes: Sequence[int], count: Module, words: int) -> Layout:
    """Lays out clauses, of which those that do not fit, from the last on, are left out."""
    steps: list[Step] = []
    verdict: int | None = None
    for clause in clauses:
        attempt = list(steps)
        found = _clause(clause, attempt, count)
        if verdict is not None:
            found = _add(attempt, Module.BOTH, (), (verdict, found))
        if len(attempt) >= MAX_STEPS:
            break
        steps, verdict = attempt, found
    if verdict is None:  # not even the first clause fits
        everything = _add(steps, Module.FIND, tuple(range(words)), ())
        verdict = _add(steps, Module.COUNT, (), (everything, everything))
    _add(steps, Module.DECIDE, tuple(boxes), (verdict,))
    return tuple(steps)


def _add(steps: list[Step], module: Module, words: Sequence[int], arguments: tuple[int, ...]) -> int:
    steps.append(Step(module, tuple(words), arguments))
    return len(steps) - 1


def _clause(clause: _Clause, steps: list[Step], count: Module) -> int:
    """Adds the steps of a clause; returns the step of its verdict."""
    choices = [[color, *clause.described] for color in clause.alternatives] or [clause.described]
    head = _add(steps, Module.FIND, sorted(choices[0]), ())
    for choice in choices[1:]:
        other = _add(steps, Module.FIND, sorted(choice), ())
        head = _add(steps, Module.OR, (), (head, other))
    found = head
    for predicate in clause.predicates:
        if predicate.has_object and predicate.relation:
            objects = _add(steps, Module.FIND, predicate.described, ())
            fitting = _add(steps, Module.RELATE, predicate.relation, (objects,))
        else:
            fitting = _add(steps, Module.FIND, sorted(predicate.relation + predicate.described), ())
        found = _add(steps, Module.EXCEPT if predicate.negated else Module.AND, (), (found, fitting))
    return _add(steps, count, clause.quantity, (found, head))
