"""Held-out examples share no statement and no presentation with the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from samples import yellow_circle_examples
from scripts import script
from veriscene.world.examples import Example

module = script("hold_out")

SCENE = yellow_circle_examples(1)[0].scene
pairs = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abcdefghij")), max_size=30)


@given(pairs, st.integers(0, 10), st.integers(0, 3))
def test_no_statement_and_no_presentation_is_in_both_splits(
    pairs: list[tuple[int, str]], count: int, seed: int
) -> None:
    examples = [Example(f"{p}-{n}", f"There is {s}.", SCENE, True) for n, (p, s) in enumerate(pairs)]
    kept, held = module.hold_out(examples, count=count, seed=seed)
    assert sorted([*kept, *held], key=lambda e: e.identifier) == sorted(examples, key=lambda e: e.identifier)
    assert len(held) > count or not kept
    for trait in ("presentation", "statement"):
        assert not {getattr(e, trait) for e in kept} & {getattr(e, trait) for e in held}
