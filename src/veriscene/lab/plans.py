"""The plans that can be reproduced: their rows, in the order of training, with what the paper published of them.

We do not have the paper's pictures, so its figures are described in words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

ABLATION = "Ablations"  # a heading of rows


@dataclass(frozen=True)
class Row:
    """One configuration that is trained with several seeds. Rows of any plan with the same folder are the same runs."""

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
    unmeasured: str = "not measured yet"  # in tables, where a row has no result

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
    """A figure of the paper, and those that are drawn here from the models of some rows."""

    heading: str
    caption: str | None  # the paper's own
    shows: str  # what is to be seen in the paper
    here: str = ""  # what ours show, or why there are none
    ours: tuple[tuple[str, tuple[str, ...]], ...] = ()  # the name, which begins with the kind, and rows of the models


@dataclass(frozen=True)
class Plan:
    """A table: rows, pairs of them whose difference is tested, and figures of their models."""

    title: str
    rows: tuple[Row, ...]
    compared: tuple[tuple[str, str], ...] = ()
    final: bool = True  # whether rows are judged on the test split, too; not where they help to choose
    notes: tuple[str, ...] = ()  # above the table, on the page
    figures: tuple[Figure, ...] = ()


POINTER = "BiATT-Pointer"
FIGURES = (
    Figure(
        "Figure 1: what the baselines get wrong",
        "NLVR task: given an image with 3 sub-images and a statement, the model needs to predict whether the statement"
        " correctly describes the image or not. We show 4 such examples which our final BiATT-Pointer model correctly"
        " classifies but the strong baseline models do not.",
        "Four statements, each with its three boxes. BiENC fails on the left two, BiATT on the right two.",
        "Dev examples that BiATT-Pointer gets right and BiENC, or BiATT, gets wrong: one per statement, those whose two"
        " probabilities are furthest apart.",
        (("contrast-bienc", (POINTER, "BiENC")), ("contrast-biatt", (POINTER, "BiATT"))),
    ),
    Figure(
        "Figure 3: errors",
        "Incorrectly-classified examples.",
        "Four statements with their boxes. Two have rare phrases (“touching any edge”, “touching the base”); two are"
        " about several boxes at once, which a max over boxes cannot express.",
        "Dev examples that BiATT-Pointer gets wrong: one per statement, those of which it is most confident.",
        (("errors", (POINTER,)),),
    ),
    Figure(
        "Figure 4: learned order",
        "Examples of our learned object ordering. The red arrows indicate the order of the objects learned by the"
        " pointer network.",
        "Four statements with arrows from object to object. In two, the path follows the spatial relation in the"
        " statement (“blue block over a black block”, “item on top”); in two, the order of its words.",
        "Dev examples that BiATT-Pointer gets right, towers and scatter in turn, evenly spaced over the split: not"
        " chosen for their looks. A dot marks the item read first.",
        (("order", (POINTER,)),),
    ),
    Figure(
        "Attention (section 3.1)",
        None,
        "Words attend to objects, and objects to words, by bilinear forms. The paper has these as equations, and no"
        " picture of the weights.",
        "Both directions in BiATT-Pointer, on two dev examples that it gets right, evenly spaced over the split.",
        (("attention", (POINTER,)),),
    ),
    Figure(
        "Figures 2 and 5: the models",
        "Our BiATT-Pointer model with a pointer network and a joint bidirectional attention module. – Our CNN-BiATT"
        " model for the raw-image dataset version replaces every object-related LSTM-RNN with a spatial-filter"
        " convolutional neural network (CNN).",
        "Diagrams of the two models: nothing in them is measured.",
        "The same models as code, with the paper's letters and the numbers of its equations:"
        " models/biatt_pointer.py, models/cnn_biatt.py, models/layers/attention.py.",
    ),
)

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
        Row("CNN-BiATT, ResNet-V2-101", "cnn-biatt-resnetv2", input="pixels", unmeasured="not measured here"),
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

BEYOND = Plan(
    "Beyond the paper",
    (
        Row("Spatial, synthetic", "spatial-synthetic"),
        Row("Spatial, programs", "spatial-programs", programs=True),
    ),
    compared=(("Spatial, programs", "Spatial, synthetic"),),
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

PLANS = {
    "paper": PAPER,
    "table1": TABLE1,
    "ablations": ABLATIONS,
    "orders": TAUGHT_ORDERS,
    "beyond": BEYOND,
    "spatial": SPATIAL,
}
