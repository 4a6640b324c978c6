"""What the paper shows besides its figures in Table 1, in words: we do not have its pictures."""

from __future__ import annotations

from dataclasses import dataclass

TITLE = "Object Ordering with Bidirectional Matchings for Visual Reasoning"
SOURCE = "Hao Tan and Mohit Bansal, NAACL 2018"
TABLE1_CAPTION = (
    "Dev, Test-P (public), and Test-U (unreleased) results of our model on the structured-representation and raw-image"
    " datasets, compared to the previous SotA results and other reimplemented baselines."
)
BACKBONES = (
    "The published CNN-BiATT sees through a frozen ResNet-V2-101 trained on ImageNet. Here, the row of that name has a"
    " ResNet-50 trained on rendered scenes; the three rows after it have other backbones."
)
CLAIMS = (
    "The text claims +6.2 points of BiATT-Pointer over MaxEnt and +3.6 of CNN-BiATT over NMN on Test-P, and +6.1 of"
    " BiATT over BiDAF on dev. The paper has no intervals."
)
ABLATIONS = (
    "Section 3.1: besides the max over the scores of the sub-images, “we also tried other combination methods"
    " (mean-pooling, concatenation, LSTM, early pooling on the features/vectors, etc.); the max pooling (on scores)"
    " approach was the simplest and most effective method among these (based on the dev set)”. The order of the objects"
    " is random or learned. The paper gives no figures for any of these but the two rows of Table 1."
)


@dataclass(frozen=True)
class PublishedFigure:
    heading: str
    caption: str | None  # the paper's own
    shows: str  # what is to be seen
    ours: tuple[str, ...] = ()  # names of figures here
    here: str = ""  # what ours shows, or why there is none


FIGURES = (
    PublishedFigure(
        "Figure 1: what the baselines get wrong",
        "NLVR task: given an image with 3 sub-images and a statement, the model needs to predict whether the statement"
        " correctly describes the image or not. We show 4 such examples which our final BiATT-Pointer model correctly"
        " classifies but the strong baseline models do not.",
        "Four statements, each with its three boxes. BiENC fails on the left two, BiATT on the right two.",
        ("contrast-bienc", "contrast-biatt"),
        "Dev examples that BiATT-Pointer gets right and BiENC, or BiATT, gets wrong: one per statement, those whose two"
        " probabilities are furthest apart.",
    ),
    PublishedFigure(
        "Figure 3: errors",
        "Incorrectly-classified examples.",
        "Four statements with their boxes. Two have rare phrases (“touching any edge”, “touching the base”); two are"
        " about several boxes at once, which a max over boxes cannot express.",
        ("errors",),
        "Dev examples that BiATT-Pointer gets wrong: one per statement, those of which it is most confident.",
    ),
    PublishedFigure(
        "Figure 4: learned order",
        "Examples of our learned object ordering. The red arrows indicate the order of the objects learned by the"
        " pointer network.",
        "Four statements with arrows from object to object. In two, the path follows the spatial relation in the"
        " statement (“blue block over a black block”, “item on top”); in two, the order of its words.",
        ("order",),
        "Dev examples that BiATT-Pointer gets right, towers and scatter in turn, evenly spaced over the split: not"
        " chosen for their looks. A dot marks the item read first.",
    ),
    PublishedFigure(
        "Attention (section 3.1)",
        None,
        "Words attend to objects, and objects to words, by bilinear forms. The paper has these as equations, and no"
        " picture of the weights.",
        ("attention",),
        "Both directions in BiATT-Pointer, on two dev examples that it gets right, evenly spaced over the split.",
    ),
    PublishedFigure(
        "Figures 2 and 5: the models",
        "Our BiATT-Pointer model with a pointer network and a joint bidirectional attention module. – Our CNN-BiATT"
        " model for the raw-image dataset version replaces every object-related LSTM-RNN with a spatial-filter"
        " convolutional neural network (CNN).",
        "Diagrams of the two models: nothing in them is measured.",
        here="The same models as code, with the paper's letters and the numbers of its equations:"
        " models/biatt_pointer.py, models/cnn_biatt.py, models/layers/attention.py.",
    ),
)
