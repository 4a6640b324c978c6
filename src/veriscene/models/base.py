"""The contract of every model: settings, inputs, and Batch -> Judgement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from veriscene import files
from veriscene.config import ModelConfig, choice, number, share, size
from veriscene.data.batch import Batch
from veriscene.data.encoder import Input
from veriscene.data.encoder import Order as Order
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError, first_line
from veriscene.models.layers.geometry import COORDINATES
from veriscene.models.layers.pooling import POOLINGS
from veriscene.output import Output
from veriscene.world.schema import World

# Ten times the paper's largest model. A training step of BiATT-Pointer at that size and batch 256 takes 12 GB; a typing
# error asks for a hundred times as much, and a process that uses up all memory is killed without a message.
MAX_WEIGHTS = 100_000_000
INFERENCE_BATCH = 256


@dataclass(frozen=True)
class Judgement:
    """Holds what a model says about a batch."""

    logits: Tensor  # (batch,): log-odds that the statement is true
    scores: Tensor | None = None  # (batch, box): box scores, for models whose logit is the max or mean of them
    order: Tensor | None = None  # (batch, box, item): the item of the batch that was read at each place
    alpha: Tensor | None = None  # (batch, box, word, place): how much each word attends to each item read
    beta: Tensor | None = None  # (batch, box, place, word): how much each item read attends to each word
    log_probability: Tensor | None = None  # (batch,): log p(π | s, o) of a sampled order; or (batch, sample) of several
    entropy: Tensor | None = None  # (batch,): of the choices that led to it
    baseline_logits: Tensor | None = None  # (batch,): the logits of inference, for the self-critical baseline
    sampled_logits: Tensor | None = None  # (batch, sample): of several orders, which are each other's baseline


@dataclass(frozen=True)
class RecurrentConfig(ModelConfig):
    """Declares what the paper's models with LSTMs have in common, with the values of appendix A.3.1."""

    embedding: int = size(128)
    hidden: int = size(256)
    dropout: float = share(0.3)
    pooling: str = choice("max", POOLINGS)
    forget_bias: float = number(0.0, -10.0, 10.0)
    coordinates: str = choice("corner", COORDINATES)


class Model(nn.Module, ABC):
    """Is the base of every model. Sizes follow from its settings, its vocabulary and its world."""

    Config: ClassVar[type[ModelConfig]]  # this model's settings, with their only defaults
    summary: ClassVar[str]  # one line for `veriscene models`
    inputs: ClassVar[frozenset[Input]] = frozenset({Input.ITEMS})
    order: ClassVar[Order] = Order.GIVEN
    is_fitted: ClassVar[bool] = False  # whether `fit` finds the weights, without gradient steps

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__()
        self.config, self.world = config, world

    @abstractmethod
    def forward(self, batch: Batch) -> Judgement: ...

    def prepare(self, corpus: Batch) -> None:
        """Sees the training corpus once, before an optimizer is made."""

    def fit(self, corpus: Batch) -> None:
        """Finds the weights; only for models with `is_fitted`, after `prepare`."""
        raise NotImplementedError

    def extract(self, corpus: Batch, *, store: bool = False, output: Output | None = None) -> Batch:
        """Returns the corpus with what the model's frozen parts make of it, computed once instead of at every step.

        Called after `prepare`, with corpus and model on the device. `store` keeps the result for later runs.
        """
        return corpus

    def check_requirements(self) -> None:
        """Raises MissingRequirement if training lacks a library or pretrained weights. Inference needs neither."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Returns what the optimizer gets; override it to give some parameters other settings.

        A group may have a `rate`, its learning rate as a multiple of training.learning_rate, and a `decay`, likewise
        of training.weight_decay, which AdamW multiplies by the learning rate. `orthogonal=False` says that its matrices
        are tables of vectors, which Muon must not mix.
        """
        return [{"params": [parameter for parameter in self.parameters() if parameter.requires_grad]}]


def check_weights(count: int, *, what: str, allowed: str) -> None:
    if count > MAX_WEIGHTS:
        raise InputError(
            f"{what} would have {count:,} weights, and at most {MAX_WEIGHTS:,} are allowed", allowed=allowed
        )


def read_weights(path: Path) -> dict[str, Tensor]:
    """Reads the tensors of a safetensors file; InputError if it cannot be read, is damaged or too large."""
    with files.opened(path):  # for its error messages: safetensors calls a file that may not be read missing
        files.check_size(path)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"damaged ({first_line(error)})", where=path, allowed="save or copy it again") from None


def check_values(weights: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Raises InputError unless all values are finite and have the types of the module's own tensors, or half precision
    for single."""
    for name, tensor in weights.items():
        wanted = own.get(name, tensor).dtype  # load_state_dict reports unknown names
        if tensor.dtype != wanted and (tensor.dtype, wanted) != (torch.float16, torch.float32):
            given, allowed = (str(dtype).removeprefix("torch.") for dtype in (tensor.dtype, wanted))
            raise InputError(f"{name} is of type {given}", allowed=f"it must be {allowed}")
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{name} holds values that are not finite (NaN or infinity)")


def resize_on_load(module: nn.Module) -> None:
    """Lets `load_state_dict` change the first dimension of the module's own tensors, which depends on the corpus."""
    module.register_load_state_dict_pre_hook(_resize)  # type: ignore[no-untyped-call]


def _resize(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    for name, tensor in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
        saved = state.get(prefix + name)
        # Memory of the right size stays: the EMA and CUDA graphs refer to it.
        if saved is not None and saved.shape != tensor.shape and saved.shape[1:] == tensor.shape[1:]:
            tensor.data = tensor.new_empty(saved.shape)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Puts the module in evaluation mode, and then back in the mode that it was in."""
    was_training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was_training)


def judge_in_batches(
    model: nn.Module, corpus: Batch, *, size: int = INFERENCE_BATCH, rank: int = 0, processes: int = 1
) -> Iterator[tuple[Tensor, Batch, Judgement]]:
    """Judges every `processes`-th example from `rank` on, each exactly once: (indices into the corpus, batch,
    judgement). Statements of similar length share a batch, to save padding."""
    by_length = corpus.statement.lengths.argsort(stable=True)[rank::processes]
    with evaluating(model):
        for numbers in torch.split(by_length, size) if len(by_length) else ():  # fewer examples than processes
            batch = corpus[numbers]
            with torch.inference_mode():
                judgement: Judgement = model(batch)
            yield numbers, batch, judgement
