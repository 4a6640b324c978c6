"""The plain baseline computes what the package computes: same loss, gradients and verdicts from the same weights."""

import random
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from samples import given, random_scene, yellow_circle_examples
from scripts import script
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.data.vocabulary import Vocabulary
from veriscene.models import MODELS, build
from veriscene.models.biatt_pointer import sampled
from veriscene.training.optimization import objective
from veriscene.world.examples import Example
from veriscene.world.scene import Box
from veriscene.worlds.nlvr.looks import WORLD

SIZES = {"embedding": 5, "hidden": 4, "item": 3, "joint": 7, "mlp": 6}
WORDS = ["there", "is", "a", "box", "with", "one", "yellow", "circle", "and", "two", "blue", "squares"]
VOCABULARY = Vocabulary.of(WORDS, minimum_count=1)
encode = Encoder(VOCABULARY, WORLD, order=ItemOrder.FILE)
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
    """Statements of one to nine words, boxes of one to six items; the last has one word, and one item per box."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        statement = " ".join(rng.choices([*WORDS, "unheard"], k=rng.randint(1, 9)))
        made.append(Example(f"{number}-0", statement, random_scene(rng, most=6), rng.random() < 0.5))
    lone = replace(made[0].scene, boxes=tuple(Box(box.items[:1]) for box in made[0].scene.boxes))
    return [*made, Example(f"{count}-0", "circle", lone, True)]


def pair(name: str, seed: int, source: str = "loader") -> tuple[nn.Module, nn.Module]:
    """Ours, with random weights that are large enough to matter, and the plain one with the same; float64."""
    ours = build(MODELS[name].Config(**SIZES, dropout=0.0), vocabulary=VOCABULARY, world=WORLD).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in ours.named_parameters():
            # The pointer must have preferences and scores must differ, or the policy gradient would vanish.
            scale = 2.0 if key.startswith("pointer.") or "pool." in key else 0.7
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    other = plain_model(name, source)
    plain.load_ours(other, ours)
    return ours, other


def plain_model(
    name: str, source: str = "loader", dropout: float = 0.0, vocabulary: Vocabulary = VOCABULARY
) -> nn.Module:
    bilstm = plain.PaddedBiLSTM if source == "resident" else plain.PackedBiLSTM
    kind = {"biatt": plain.PlainBiATT, "biatt-pointer": plain.PlainBiATTPointer}[name]
    return kind(vocabulary=len(vocabulary), **SIZES, dropout=dropout, bilstm=bilstm).double()


def in_double(batch):
    return batch._replace(items=batch.items.double(), labels=batch.labels.double())


def our_batch(examples: list[Example]):
    """Items in the order of the file, as in `plain_batch`."""
    return encode(examples).map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)


def plain_batch(examples: list[Example], source: str = "loader"):
    if source == "loader":
        dataset = plain.PlainDataset(examples, VOCABULARY, order="file")
        return in_double(plain.collate([dataset[n] for n in range(len(dataset))]))
    everything = torch.arange(len(examples))
    return in_double(plain.Resident(examples, VOCABULARY, "cpu", order="file").batch(everything, everything))


def our_gradients(ours: nn.Module, name: str, source: str) -> dict[str, torch.Tensor]:
    """Our gradients under the plain names: `load_ours` renames them as if they were weights."""
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(parameter.grad)
    carrier = plain_model(name, source)
    plain.load_ours(carrier, ours)
    return {key: parameter.detach() for key, parameter in carrier.named_parameters()}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("source", ["loader", "resident"])
@pytest.mark.parametrize("name", NAMES)
def test_loss_and_every_gradient_agree_from_the_same_weights(name, source, seed):
    ours, other = pair(name, seed, source)
    examples = examples_of(seed)
    batch = our_batch(examples)
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
    surrogate, cross_entropy = plain.loss(other.train(), plain_batch(examples, source), orders)
    surrogate.backward()
    assert other.training
    assert_close(surrogate, expected.surrogate.mean(), **CLOSE)
    assert_close(cross_entropy, expected.comprehension.mean(), **CLOSE)
    found = {key: parameter.grad for key, parameter in other.named_parameters()}
    wanted = our_gradients(ours, name, source)
    assert found.keys() == wanted.keys()
    for key, gradient in found.items():
        assert wanted[key].norm() > 1e-6, key
        assert (gradient - wanted[key]).norm() < 1e-8 * wanted[key].norm(), key


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("source", ["loader", "resident"])
def test_most_likely_orders_and_the_probability_of_a_sampled_order_agree(source, seed):
    ours, other = pair("biatt-pointer", seed, source)
    examples = examples_of(seed, count=20)
    batch, theirs = our_batch(examples), plain_batch(examples, source)
    judgement = ours.eval()(batch)
    logits, log_p, orders = other.eval().order_and_match(theirs)
    assert torch.equal(orders, judgement.order)
    assert_close(logits, judgement.logits, **CLOSE)
    assert_close(log_p, ours.judge(batch, given(orders)).log_probability, **CLOSE)
    torch.manual_seed(seed)
    logits, log_p, orders = other.train().order_and_match(theirs)
    judgement = ours.judge(batch, given(orders))
    assert_close(logits, judgement.logits, **CLOSE)
    assert_close(log_p, judgement.log_probability, **CLOSE)
    places = torch.arange(orders.size(2)).expand_as(orders)
    padding = ~batch.items.mask
    assert torch.equal(orders.sort(dim=2).values, places)  # each item once,
    assert torch.equal(orders[padding], places[padding])  # and padding in place
    assert not torch.equal(other.order_and_match(theirs)[2], orders)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_agree_one_at_a_time_and_in_batches(name):
    ours, other = pair(name, seed=5)
    ours.float(), other.float()
    examples = [replace(example, label=None) for example in examples_of(5, count=10)]
    with torch.no_grad():
        expected = ours.eval()(encode(examples)).logits.sigmoid()
    one_by_one = [plain.predict(other, example, VOCABULARY, order="file") for example in examples]
    dataset = plain.PlainDataset(examples, VOCABULARY, order="file")
    in_batches = plain.predict_all(other, plain.loader(dataset, batch=4, shuffle=False))
    assert_close(torch.tensor(one_by_one), expected, rtol=1e-4, atol=1e-6)
    assert_close(torch.tensor(in_batches), expected, rtol=1e-4, atol=1e-6)
    assert expected.max() - expected.min() > 0.01  # otherwise agreement would mean little


@pytest.mark.parametrize("source", ["loader", "loader with workers", "resident"])
def test_an_epoch_has_every_example_once_with_all_its_items_in_a_new_order(source):
    examples = [
        replace(example, statement=" ".join([WORDS[n % 3], WORDS[3 + n // 3]]))
        for n, example in enumerate(examples_of(6, count=20))
    ]
    number_of = {tuple(VOCABULARY.encode(example.statement)): n for n, example in enumerate(examples)}
    assert len(number_of) == len(examples)
    in_file = encode(examples).items
    torch.manual_seed(0)
    workers = 2 if source == "loader with workers" else 0
    loader = plain.loader(plain.PlainDataset(examples, VOCABULARY), batch=7, workers=workers)
    resident = plain.Resident(examples, VOCABULARY, "cpu")
    epochs = []
    for _ in range(2):
        drawn, read = [], {}
        for batch in resident.batches(7) if source == "resident" else loader:
            for row, words in enumerate(batch.words):
                number = number_of[tuple(words[: batch.lengths[row]].tolist())]
                drawn.append(number)
                assert batch.labels[row] == float(examples[number].label)
                assert torch.equal(batch.counts[row], in_file.counts[number])
                for box, count in enumerate(batch.counts[row].tolist()):
                    items = batch.items[row, box, :count].tolist()
                    assert sorted(items) == sorted(in_file.features[number, box, :count].tolist())
                    assert batch.item_mask[row, box].sum() == count and not batch.items[row, box, count:].any()
                    read[number, box] = items
        assert sorted(drawn) == list(range(len(examples)))
        epochs.append((drawn, read))
    assert epochs[0][0] != epochs[1][0] and epochs[0][1] != epochs[1][1]


def test_resident_batches_group_statements_by_length():
    resident = plain.Resident(examples_of(8, count=200), VOCABULARY, "cpu")
    torch.manual_seed(0)
    assert all(batch.lengths.max() - batch.lengths.min() <= 3 for batch in resident.batches(10))
    spread = [int(batch.lengths.max() - batch.lengths.min()) for batch in resident.batches(10, window=1)]
    assert min(spread) > 3


@pytest.mark.parametrize("source", ["loader", "resident"])
@pytest.mark.parametrize("name", NAMES)
def test_a_few_steps_bring_the_loss_down(name, source):
    examples = yellow_circle_examples(16)
    vocabulary = Vocabulary.of((example.statement for example in examples), minimum_count=1)
    torch.manual_seed(0)
    model = plain_model(name, source, dropout=0.1, vocabulary=vocabulary).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    loader = plain.loader(plain.PlainDataset(examples, vocabulary), batch=16)
    resident = plain.Resident(examples, vocabulary, "cpu")
    losses = []
    for _ in range(40):
        for batch in resident.batches(16) if source == "resident" else loader:
            losses.append(plain.train_step(model, batch, optimizer))
    assert model.training and not losses[-1].requires_grad
    assert losses[0] > 0.5 and torch.stack(losses[-5:]).mean() < 0.6 * losses[0]


@pytest.mark.parametrize("source", ["loader", "resident"])
def test_dropout_is_applied_where_the_package_applies_it_and_not_in_inference(source, monkeypatch):
    """Instead of noise, a fixed factor per unit: it shows any dropout that is missing or superfluous."""
    ours, other = pair("biatt-pointer", 7, source)
    examples = examples_of(7)
    batch, theirs = our_batch(examples), plain_batch(examples, source)
    orders = batch.items.given_order
    undisturbed = other.train().order_and_match(theirs, orders)[0]

    def disturb(x, p=0.5, training=True, inplace=False):
        return x * (0.5 + torch.arange(x.size(-1)) / 5) if training else x

    monkeypatch.setattr(torch.nn.functional, "dropout", disturb)
    judgement = ours.train().judge(batch, given(orders))
    logits, log_p, _ = other.order_and_match(theirs, orders)
    assert_close(logits, judgement.logits, **CLOSE)
    assert_close(log_p, judgement.log_probability, **CLOSE)
    assert ((logits - undisturbed).abs() > 1e-3).all()
    assert_close(other.eval().order_and_match(theirs, orders)[0], undisturbed, **CLOSE)


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_a_step_on_resident_examples_never_waits_for_the_gpu(name):
    examples = yellow_circle_examples(32)
    vocabulary = Vocabulary.of((example.statement for example in examples), minimum_count=1)
    model = plain_model(name, "resident", dropout=0.1, vocabulary=vocabulary).float().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    batches = plain.Resident(examples, vocabulary, "cuda").batches(8)
    plain.train_step(model, next(batches), optimizer)  # libraries initialise here
    torch.cuda.set_sync_debug_mode("error")
    try:
        plain.train_step(model, next(batches), optimizer)
    finally:
        torch.cuda.set_sync_debug_mode("default")
