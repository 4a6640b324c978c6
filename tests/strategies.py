"""Random scenes and examples for property tests."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from samples import random_scene
from veriscene.world.examples import Example

scenes = st.builds(lambda seed: random_scene(random.Random(seed)), st.integers(0, 2**32))
identifiers = st.builds(lambda n, m: f"{n}-{m}", st.integers(0, 9999), st.integers(0, 3))
statements = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: any(map(str.isalnum, text))
)
examples = st.builds(
    Example,
    identifier=identifiers,
    statement=statements,
    scene=scenes,
    label=st.none() | st.booleans(),
    directory=st.none() | st.integers(0, 99).map(str),
)
