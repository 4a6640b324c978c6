"""The plans that can be reproduced: their rows, in the order of training, with what the paper published of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path

ABLATION = "Ablations"  # a heading of rows


@dataclass(frozen=True)
class Row:
    """Describes a configuration that is trained with several seeds. Rows with the same folder are the same runs."""

    name: str
    preset: str
    published: tuple[float, float] | None = None  # dev, Test-P, in %
    unreleased: float | None = None  # the published Test-U, whose examples are not public
    changes: tuple[str, ...] = ()  # of the preset's settings
    seeds: int = 3
    input: str = "structured"
    group: str = ""  # a heading of its own in tables of several groups
    initial: str | None = None  # the row from whose models it starts, seed by seed
    programs: bool = False  # whether programs of NLVR's statements teach it; the user must have them

    @property
    def folder(self) -> str:
        return "-".join([self.preset, *map(_short, self.changes)])

    @property
    def heading(self) -> str:
        return self.group or {"structured": "Structured representations", "pixels": "Raw images"}[self.input]


def _short(change: str) -> str:
    """Writes a change for the name of a folder: some values say enough without their key, as orders do."""
    key, _, value = change.partition("=")
    return value if value.isalpha() and value not in ("true", "false") else f"{key.partition('.')[2]}-{value}"


@dataclass(frozen=True)
class Figure:
    """Relates a figure of the paper to those that are drawn here from the models of some rows."""

    heading: str
    shows: str  # what is to be seen in the paper
    here: str  # what ours show, or why there are none
    caption: str | None = None  # the paper's own
    ours: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by name, which begins with the kind: models' rows


@dataclass(frozen=True)
class Plan:
    """Describes a table: rows, pairs of them whose difference is tested, and figures of their models."""

    title: str
    rows: tuple[Row, ...]
    compared: tuple[tuple[str, str], ...] = ()
    final: bool = True  # whether rows are judged on the test split, too; not where they help to choose
    notes: tuple[str, ...] = ()  # above the table, on the page
    figures: tuple[Figure, ...] = ()


POINTER = "BiATT-Pointer"
_FIGURES_FILE = Path(__file__).with_name("paper_figures.toml")
FIGURES = tuple(Figure(**figure) for figure in tomllib.loads(_FIGURES_FILE.read_text(encoding="utf-8"))["figures"])

TABLE1 = Plan(
    "Table 1",
    (
        Row("MaxEnt", "maxent", (68.0, 67.7), 67.8, seeds=1),  # one optimum, whatever the seed
        Row("MLP", "mlp", (67.5, 66.3), 65.3),
        Row("ImageFeat+RNN", "imagefeat-rnn", (57.7, 57.6), 56.3),
        Row("RelationNet", "relation-net", (65.1, 62.7)),
        Row("BiDAF", "bidaf", (66.5, 68.4)),
        Row("BiENC", "bienc", (65.1, 63.4)),
        Row("BiATT", "biatt", (72.6, 72.3)),
        Row("BiATT-Pointer", "biatt-pointer", (74.6, 73.9), 71.8),
        Row("CNN+RNN", "cnn-rnn", (56.6, 58.0), 56.3, input="pixels"),
        Row("NMN", "nmn", (63.1, 66.1), 62.0, input="pixels"),
        Row("CNN-BiENC", "cnn-bienc", (58.7, 58.7), input="pixels"),
        Row("CNN-BiATT", "cnn-biatt-rendered", (66.9, 69.7), 66.1, input="pixels"),
        # The published row has the last of these backbones, whose public weights were not available.
        Row("CNN-BiATT, imagenet", "cnn-biatt-imagenet", input="pixels"),
        Row("CNN-BiATT, end to end", "cnn-biatt-end-to-end", input="pixels", initial="CNN-BiATT"),
        Row("CNN-BiATT, ResNet-V2-101", "cnn-biatt-resnetv2", input="pixels"),
    ),
    compared=(
        *(("BiATT-Pointer", "MaxEnt"), ("BiATT-Pointer", "BiATT"), ("BiATT", "BiENC"), ("BiATT", "BiDAF")),
        *(("CNN-BiATT", "CNN-BiENC"), ("CNN-BiATT", "NMN"), ("BiATT", "CNN-BiATT")),
    ),
    notes=(
        "Dev, Test-P (public) and Test-U (unreleased) results of our model on the structured-representation and"
        " raw-image datasets, compared to the previous SotA results and other reimplemented baselines.",
        "The published CNN-BiATT sees through a frozen ResNet-V2-101 trained on ImageNet. Here, the row of that name"
        " has a ResNet-50 trained on rendered scenes; the three rows after it have other backbones.",
        "The text claims +6.2 points of BiATT-Pointer over MaxEnt and +3.6 of CNN-BiATT over NMN on Test-P, and +6.1 of"
        " BiATT over BiDAF on dev. The paper has no intervals.",
    ),
    figures=FIGURES,
)

POOLINGS = ("mean", "concatenate", "lstm", "early", "joint")  # besides the paper's choice, the max
ORDERS = ("file", "sorted")  # besides random ones
PLAIN, LEARNED = "BiATT, pooling max, order random", "BiATT-Pointer, pooling max, order learned"


def _ablation(setting: str, value: str) -> Row:
    pooling, order = (value, "random") if setting == "model.pooling" else ("max", value)
    name = f"BiATT, pooling {pooling}, order {order}"
    return Row(name, "biatt", changes=(f"{setting}={value}",), group=ABLATION)


_POOLED = tuple(_ablation("model.pooling", pooling) for pooling in POOLINGS)
_ORDERED = tuple(_ablation("data.order", order) for order in ORDERS)
_TABLE1_ROWS = {row.name: row for row in TABLE1.rows}
# The combinations of section 3.1, and the orders of section 5. The first and the last are rows of Table 1.
ABLATIONS = Plan(
    "Ablations",
    (
        replace(_TABLE1_ROWS["BiATT"], name=PLAIN, group=ABLATION),
        *_POOLED,
        *_ORDERED,
        replace(_TABLE1_ROWS[POINTER], name=LEARNED, group=ABLATION),
    ),
    compared=(
        (LEARNED, PLAIN),
        *((LEARNED, row.name) for row in _ORDERED),
        *((PLAIN, row.name) for row in (*_ORDERED, *_POOLED)),
    ),
    notes=(
        "Section 3.1: besides the max over the scores of the sub-images, “we also tried other combination methods"
        " (mean-pooling, concatenation, LSTM, early pooling on the features/vectors, etc.); the max pooling (on scores)"
        " approach was the simplest and most effective method among these (based on the dev set)”. The order of the"
        " objects is random or learned. The paper gives no figures for any of these but the two rows of Table 1.",
    ),
)

PAPER = Plan(
    "Object Ordering with Bidirectional Matchings for Visual Reasoning (Tan and Bansal, NAACL 2018)",
    (*TABLE1.rows, *ABLATIONS.rows),
    compared=(*TABLE1.compared, *ABLATIONS.compared),
    notes=(*TABLE1.notes, *ABLATIONS.notes),
    figures=FIGURES,
)


def _taught(pooling: str, order: str) -> Row:
    changes = (f"model.pooling={pooling}", f"data.order={order}")
    if order == "learned":
        return Row(f"BiATT-Pointer, taught, pooling {pooling}", "biatt-pointer-synthetic", changes=changes[:1], seeds=6)
    return Row(f"BiATT, taught, pooling {pooling}, order {order}", "biatt-synthetic", changes=changes, seeds=6)


# The paper's central claim, with as many examples as a teacher can make, so that seeds differ little.
TAUGHT_ORDERS = Plan(
    "Does order help?",
    tuple(_taught(pooling, order) for pooling in ("max", "joint") for order in ("random", *ORDERS, "learned")),
    compared=tuple(
        (_taught(pooling, first).name, _taught(pooling, second).name)
        for pooling in ("max", "joint")
        for first, second in (*(("learned", order) for order in ("random", *ORDERS)), *((o, "random") for o in ORDERS))
    ),
)

# A third of the statements are the general grammar's, and items know their box if a statement names one.
_GENERAL = ("teacher.plain=0.33", "model.box_index=true")
BEYOND = Plan(
    "Beyond the paper",
    (
        Row("Spatial, synthetic", "spatial-synthetic"),
        Row("Spatial, synthetic, general grammar too", "spatial-synthetic", changes=_GENERAL),
        Row("Spatial, programs", "spatial-programs", programs=True),
    ),
    compared=tuple(
        (row, "Spatial, synthetic") for row in ("Spatial, programs", "Spatial, synthetic, general grammar too")
    ),
)

# A million examples, so that all of them fit into twenty minutes of a GPU; all are compared at about this length.
SHORT = ("training.epochs=1", "teacher.scenes=48", "teacher.grammar_scenes=45")
WHOLE = "Spatial, short"
CHANGES = {
    "max pooling": ("model.pooling=max",),
    "without relations": ("model.relations=none",),
    "relations within boxes": ("model.relations=box",),
    "one layer": ("model.layers=1",),
    "without layers": ("model.layers=0",),
    "without letters": ("model.letters=false",),
    "without typing errors": ("data.typing_noise=0",),
    "without walls": ("model.walls=false",),
    "without neighbours": ("model.neighbours=false",),
    "without counts": ("model.counts=false",),
    "without weight averaging": ("training.ema=0",),
    "AdamW": ("training.optimizer=adamw", "training.batch=1024", "training.learning_rate=4e-4"),  # of two tried
    "without near misses": ("teacher.near_misses=0",),
    "scenes of the corpus only": ("teacher.generated=0",),
}
SPATIAL = Plan(
    "Spatial, one change at a time",
    (
        Row(WHOLE, "spatial-programs", changes=SHORT, programs=True),
        *(
            Row(f"{WHOLE}, {name}", "spatial-programs", changes=(*SHORT, *changes), programs=True)
            for name, changes in CHANGES.items()
        ),
    ),
    compared=tuple((WHOLE, f"{WHOLE}, {name}") for name in CHANGES),
    final=False,
)

# The steps from the paper's recipe to ours: each row is our preset with what undoes the later steps.
FASTER = "rate 2e-3, batches of 256, bf16"
DEVIATIONS = {
    "weight decay 0.5": ("training.weight_decay=0",),
    "R-Drop": ("training.r_drop=0",),
    "label smoothing and averaged weights": ("training.label_smoothing=0", "training.ema=0"),
    "contact coordinates": ("model.coordinates=corner",),
    "words counted in statements": ("data.counting=examples",),  # step 6, which makes it BiATT of Table 1
}


def _with_deviations(count: int) -> Row:
    """Returns BiATT at our rate, with the first `count` of the deviations."""
    name = f"BiATT, step {count + 1}: {[FASTER, *DEVIATIONS][count]}"
    return Row(name, "biatt", changes=tuple(chain(*list(DEVIATIONS.values())[count:])))


PAPERS_RECIPE = {
    name: replace(_TABLE1_ROWS[name], name=f"{name}, the paper's recipe", preset=f"{preset}-paper")
    for name, preset in (("BiENC", "bienc"), ("BiATT", "biatt"), (POINTER, "biatt-pointer"), ("CNN-BiATT", "cnn-biatt"))
}
_STEPS = (PAPERS_RECIPE["BiATT"], *map(_with_deviations, range(len(DEVIATIONS))), _TABLE1_ROWS["BiATT"])
RECIPE = Plan(
    "The paper's recipe, and the steps from it to ours",
    (PAPERS_RECIPE["CNN-BiATT"], PAPERS_RECIPE["BiENC"], PAPERS_RECIPE[POINTER], *_STEPS),
    compared=(
        *((PAPERS_RECIPE[first].name, PAPERS_RECIPE["BiATT"].name) for first in (POINTER, "BiENC")),
        *((after.name, before.name) for before, after in pairwise(_STEPS)),
    ),
)

_WEIGHT, _RATE, _SAMPLES = ("training.policy_weight=1",), ("model.pointer_rate=1",), ("model.samples=4",)
_UNORDERED = (*_WEIGHT, *_RATE, *_SAMPLES, "model.encoder=mean")
POINTER_CHANGES = {
    "policy weight 1": _WEIGHT,
    "a rate of its own": (*_WEIGHT, *_RATE),
    "four orders compared": (*_WEIGHT, *_RATE, *_SAMPLES),
    "entropy rewarded": (*_WEIGHT, *_RATE, *_SAMPLES, "training.entropy_weight=0.01"),
    "encoder without order": _UNORDERED,
    "the surest order read": (*_UNORDERED, "model.reading=greedy"),
    "words reach items through the order alone": (*_UNORDERED, "model.reading=greedy", "model.comprehension=bienc"),
}
_SORTED = _ORDERED[ORDERS.index("sorted")]
_BIENC = Row("BiENC, the recipe of BiATT", "biatt", changes=("model.name=bienc",))
POINTERS = Plan(
    "Pointers that read the statement",
    (
        *(_TABLE1_ROWS["BiATT"], _SORTED, _BIENC, _TABLE1_ROWS[POINTER]),
        *(Row(f"{POINTER}, {name}", "biatt-pointer", changes=changes) for name, changes in POINTER_CHANGES.items()),
    ),
    compared=tuple(
        (f"{POINTER}, {name}", other)
        for name, changes in POINTER_CHANGES.items()
        for other in ((_BIENC.name,) if "model.comprehension=bienc" in changes else ("BiATT", _SORTED.name, POINTER))
    ),
)

_LONG = (  # BiATT's recipe for 31,360 steps
    *("model.dropout=0.3", "training.r_drop=2", "training.batch=256", "training.epochs=640"),
    *("training.learning_rate=2e-3", "training.weight_decay=0.5"),
)
NMN_CHANGES = {
    "one score a box, their max": ("model.pooling=max",),
    "max or min of scores, chosen": ("model.pooling=chosen",),
    "words in context": ("model.words=states",),
    "three layouts": ("model.layouts=3",),
    "BiATT's recipe": _LONG,
    "all of these": ("model.pooling=chosen", "model.words=states", "model.layouts=3", *_LONG),
}
# A layer on fewer channels needs a rate that is as much higher. ResNet's stage 4 has half of the last stage's.
IMAGENET_CHANGES = {
    "channels standardised": ("model.normalization=channel",),
    "whitened to 256": ("model.normalization=whitened", "model.map_rate=0.05"),
    "batch norm of train pictures": ("model.statistics=train",),
    "both": ("model.statistics=train", "model.normalization=whitened", "model.map_rate=0.05"),
    "299 x 299": ("model.backbone=resnet50-imagenet-299",),
    "last stage at stride 16": ("model.backbone=resnet50-imagenet-16",),
    "stage 4 at stride 16": ("model.backbone=resnet50-imagenet-stage4", "model.map_rate=0.012"),
}


def _leads(title: str, first: Row, changes: Mapping[str, tuple[str, ...]]) -> Plan:
    """Changes of a row of Table 1, of which dev chooses."""
    rows = [Row(f"{first.name}, {name}", first.preset, changes=own, input="pixels") for name, own in changes.items()]
    return Plan(title, (first, *rows), compared=tuple((row.name, first.name) for row in rows), final=False)


NMN = _leads("Leads of NMN", _TABLE1_ROWS["NMN"], NMN_CHANGES)
IMAGENET = _leads("CNN-BiATT with ImageNet's features", _TABLE1_ROWS["CNN-BiATT, imagenet"], IMAGENET_CHANGES)

PLANS = {
    "paper": PAPER,
    "table1": TABLE1,
    "ablations": ABLATIONS,
    "orders": TAUGHT_ORDERS,
    "beyond": BEYOND,
    "spatial": SPATIAL,
    "recipe": RECIPE,
    "pointers": POINTERS,
    "nmn": NMN,
    "imagenet": IMAGENET,
}
