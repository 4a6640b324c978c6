"""MaxEnt (Suhr et al. 2017): a log-linear model of conjunctions of n-grams and counts, fitted to the optimum."""

from __future__ import annotations

import torch
from torch import Tensor

from veriscene.errors import InputError
from veriscene.models.counts.features import NO_FEATURE, CountFeatures
from veriscene.models.counts.growing import loads_any_length
from veriscene.models.whole_image import WholeImage
from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import Vocabulary


class MaxEnt(WholeImage):
    """Has no parameters for an optimiser: after `prepare`, `fit` finds its weights, and there is one best choice."""

    reads_in_order = False

    def __init__(self, *, words: Vocabulary, penalty: float = 20.0) -> None:
        """Weights w, the bias among them, cost penalty / 2 |w|² beside the sum of the examples' losses."""
        super().__init__()
        self.penalty = penalty
        self.features = CountFeatures(words=words)
        self.register_buffer("weights", torch.zeros(1))  # (feature,); that of NO_FEATURE is zero
        self.register_buffer("bias", torch.zeros(()))
        self.weights: Tensor
        self.bias: Tensor
        loads_any_length(self)

    def judge(self, batch: Batch) -> Tensor:
        return self.weights[self.features(batch)].sum(dim=1) + self.bias

    def prepare(self, corpus: Batch) -> None:
        """Takes the features that occur in the corpus."""
        self.weights = self.weights.new_zeros(self.features.learn(corpus))

    def check_libraries(self) -> None:
        try:
            import sklearn.linear_model  # noqa: F401
        except ImportError:
            raise InputError(
                "training maxent needs scikit-learn, which is not installed; pip install 'veriscene[maxent]'"
            ) from None

    def fit(self, corpus: Batch) -> None:
        """The weights that explain the corpus's labels best, at the price of the penalty."""
        self.check_libraries()
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression

        assert corpus.labels is not None
        if corpus.labels.min() == corpus.labels.max():
            raise InputError("all labels of the train split are the same; maxent needs true and false examples")
        columns, ends = [], [torch.zeros(1, dtype=torch.int64)]
        for chunk in self.features.chunks(corpus):
            features = self.features(chunk)
            columns.append(features[features != NO_FEATURE].cpu())
            ends.append((features != NO_FEATURE).sum(dim=1).cpu())
        column, end = torch.cat(columns).numpy(), torch.cat(ends).cumsum(dim=0).numpy()
        present = csr_matrix((torch.ones(len(column)).numpy(), column, end), shape=(len(corpus), len(self.weights)))
        # Far fewer examples than features: coordinate descent in the dual is several times as fast as any other way.
        regression = LogisticRegression(
            C=1 / self.penalty, solver="liblinear", dual=True, tol=1e-3, max_iter=1000, random_state=0
        ).fit(present, corpus.labels.cpu().numpy())
        self.weights.copy_(torch.from_numpy(regression.coef_[0]))
        self.bias.copy_(torch.from_numpy(regression.intercept_)[0])
