"""The yardstick computes what the package computes: from the same weights, the same loss, gradients and verdicts."""

import random
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from samples import random_scene, yellow_circle_examples
from scripts import script
from veriscene.config import ModelConfig
from veriscene.models import build
from veriscene.models.biatt_pointer import given, sampled
from veriscene.scenes.nlvr import Example
from veriscene.scenes.scene import Box
from veriscene.tensors.batch import Batch, encode
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training.objective import objective

SIZES = {"embedding": 5, "hidden": 4, "item": 3, "joint": 7, "mlp": 6}
WORDS = ["there", "is", "a", "box", "with", "one", "yellow", "circle", "and", "two", "blue", "squares"]
VOCABULARY = Vocabulary.of(WORDS, minimum_count=1)
CLOSE = {"rtol": 1e-8, "atol": 1e-10}
NAMES = ["biatt", "biatt-pointer"]


plain = script("plain")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def examples_of(seed: int, count: int = 15) -> list[Example]:
    """Statements of one to nine words, boxes of one to six items; a single word and single items among them."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        statement = " ".join(rng.choices([*WORDS, "unheard"], k=rng.randint(1, 9)))
        made.append(Example(f"{number}-0", statement, random_scene(rng, most=6), rng.random() < 0.5))
    lone = replace(made[0].scene, boxes=tuple(Box(box.items[:1]) for box in made[0].scene.boxes))
    return [*made, Example(f"{count}-0", "circle", lone, True)]


def pair(name: str, seed: int) -> tuple[nn.Module, nn.Module]:
    """Ours, every parameter random and large enough to matter, and the plain one with the same weights; float64."""
    ours = build(ModelConfig(name=name, **SIZES, dropout=0.0), vocabulary=VOCABULARY).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in ours.named_parameters():
            # A pointer that has preferences, and scores that differ: else there would be no advantage to learn from.
            scale = 2.0 if key.startswith("pointer.") or "pool." in key else 0.7
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    other = plain_model(name)
    plain.load_ours(other, ours)
    return ours, other


def plain_model(name: str, dropout: float = 0.0, vocabulary: Vocabulary = VOCABULARY) -> nn.Module:
    kind = {"biatt": plain.PlainBiATT, "biatt-pointer": plain.PlainBiATTPointer}[name]
    return kind(vocabulary=len(vocabulary), **SIZES, dropout=dropout).double()


def in_double(batch):
    if isinstance(batch, Batch):
        return replace(batch, items=batch.items.double(), labels=batch.labels.double())
    return batch._replace(items=batch.items.double(), labels=batch.labels.double())


def batches(examples: list[Example]):
    """The same examples as both read them, items in the order of the file."""
    dataset = plain.PlainDataset(examples, VOCABULARY, order="file")
    return in_double(encode(examples, VOCABULARY)), in_double(plain.collate([dataset[n] for n in range(len(dataset))]))


def our_gradients(ours: nn.Module, name: str) -> dict[str, torch.Tensor]:
    """Ours, sent through `load_ours` as if they were weights, so that they take the plain names."""
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(parameter.grad)
    carrier = plain_model(name)
    plain.load_ours(carrier, ours)
    return {key: parameter.detach() for key, parameter in carrier.named_parameters()}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_loss_and_every_gradient_agree_from_the_same_weights(name, seed):
    ours, other = pair(name, seed)
    batch, plain_batch = batches(examples_of(seed))
    if name == "biatt":
        orders, judgement = None, ours.train()(batch)
    else:
        torch.manual_seed(seed)
        orders = ours.judge(batch, sampled).order
        with torch.no_grad():
            baseline = ours.eval()(batch).logits
        judgement = replace(ours.train().judge(batch, given(orders)), baseline_logits=baseline)
    expected = objective(judgement, batch.labels)
    expected.surrogate.mean().backward()
    surrogate, cross_entropy = plain.loss(other.train(), plain_batch, orders)
    surrogate.backward()
    assert other.training
    assert_close(surrogate, expected.surrogate.mean(), **CLOSE)
    assert_close(cross_entropy, expected.comprehension.mean(), **CLOSE)
    found = {key: parameter.grad for key, parameter in other.named_parameters()}
    wanted = our_gradients(ours, name)
    assert found.keys() == wanted.keys()
    for key, gradient in found.items():
        assert wanted[key].norm() > 1e-6, key
        assert (gradient - wanted[key]).norm() < 1e-8 * wanted[key].norm(), key


@pytest.mark.parametrize("seed", range(4))
def test_the_likeliest_orders_and_the_probability_of_a_sampled_one_agree(seed):
    ours, other = pair("biatt-pointer", seed)
    batch, plain_batch = batches(examples_of(seed, count=20))
    judgement = ours.eval()(batch)
    logits, log_p, orders = other.eval().order_and_match(plain_batch)
    assert torch.equal(orders, judgement.order)
    assert_close(logits, judgement.logits, **CLOSE)
    assert_close(log_p, ours.judge(batch, given(orders)).log_probability, **CLOSE)
    torch.manual_seed(seed)
    logits, log_p, orders = other.train().order_and_match(plain_batch)
    judgement = ours.judge(batch, given(orders))
    assert_close(logits, judgement.logits, **CLOSE)
    assert_close(log_p, judgement.log_probability, **CLOSE)
    places = torch.arange(orders.size(2)).expand_as(orders)
    assert torch.equal(orders.sort(dim=2).values, places)  # each item once,
    assert torch.equal(orders[~batch.item_mask], places[~batch.item_mask])  # and padding where it was
    assert not torch.equal(other.order_and_match(plain_batch)[2], orders)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_agree_one_at_a_time_and_in_batches(name):
    ours, other = pair(name, seed=5)
    ours.float(), other.float()
    examples = [replace(example, label=None) for example in examples_of(5, count=10)]
    with torch.no_grad():
        expected = ours.eval()(encode(examples, VOCABULARY)).logits.sigmoid()
    one_by_one = [plain.predict(other, example, VOCABULARY, order="file") for example in examples]
    dataset = plain.PlainDataset(examples, VOCABULARY, order="file")
    in_batches = plain.predict_all(other, plain.loader(dataset, batch=4, shuffle=False))
    assert_close(torch.tensor(one_by_one), expected, rtol=1e-4, atol=1e-6)
    assert_close(torch.tensor(in_batches), expected, rtol=1e-4, atol=1e-6)
    assert expected.max() - expected.min() > 0.01  # or agreeing would mean little


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_draws_every_example_once_an_epoch_with_all_its_items_in_new_orders(workers):
    examples = [
        replace(example, statement=" ".join([WORDS[n % 3], WORDS[3 + n // 3]]))
        for n, example in enumerate(examples_of(6, count=20))
    ]
    dataset = plain.PlainDataset(examples, VOCABULARY)
    number_of = {tuple(VOCABULARY.encode(example.statement)): n for n, example in enumerate(examples)}
    assert len(number_of) == len(examples)
    in_file = encode(examples, VOCABULARY)
    torch.manual_seed(0)
    batches_of_epochs = plain.loader(dataset, batch=8, workers=workers)
    epochs = []
    for _ in range(2):
        drawn, read = [], {}
        for batch in batches_of_epochs:
            for row, words in enumerate(batch.words):
                number = number_of[tuple(words[: batch.lengths[row]].tolist())]
                drawn.append(number)
                assert batch.labels[row] == float(examples[number].label)
                assert torch.equal(batch.counts[row], in_file.counts[number])
                for box, count in enumerate(batch.counts[row].tolist()):
                    items = batch.items[row, box, :count].tolist()
                    assert sorted(items) == sorted(in_file.items[number, box, :count].tolist())
                    assert batch.item_mask[row, box].sum() == count and not batch.items[row, box, count:].any()
                    read[number, box] = items
        assert sorted(drawn) == list(range(len(examples)))
        epochs.append((drawn, read))
    assert epochs[0][0] != epochs[1][0] and epochs[0][1] != epochs[1][1]


@pytest.mark.parametrize("name", NAMES)
def test_a_few_steps_bring_the_loss_down(name):
    examples = yellow_circle_examples(16)
    vocabulary = Vocabulary.of((example.statement for example in examples), minimum_count=1)
    torch.manual_seed(0)
    model = plain_model(name, dropout=0.1, vocabulary=vocabulary).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    losses = []
    for _ in range(40):
        for batch in plain.loader(plain.PlainDataset(examples, vocabulary), batch=16):
            losses.append(plain.train_step(model, batch, optimizer))
    assert model.training and not losses[-1].requires_grad
    assert losses[0] > 0.5 and torch.stack(losses[-5:]).mean() < 0.6 * losses[0]


def test_dropout_stands_where_the_package_has_it_and_nowhere_in_inference(monkeypatch):
    """In place of noise, a fixed factor for each unit: it shows wherever dropout is missing, or is one too many."""
    ours, other = pair("biatt-pointer", seed=7)
    batch, plain_batch = batches(examples_of(7))
    orders = batch.as_they_come
    undisturbed = other.train().order_and_match(plain_batch, orders)[0]

    def disturb(x, p=0.5, training=True, inplace=False):
        return x * (0.5 + torch.arange(x.size(-1)) / 5) if training else x

    monkeypatch.setattr(torch.nn.functional, "dropout", disturb)
    judgement = ours.train().judge(batch, given(orders))
    logits, log_p, _ = other.order_and_match(plain_batch, orders)
    assert_close(logits, judgement.logits, **CLOSE)
    assert_close(log_p, judgement.log_probability, **CLOSE)
    assert ((logits - undisturbed).abs() > 1e-3).all()
    assert_close(other.eval().order_and_match(plain_batch, orders)[0], undisturbed, **CLOSE)
