"""The pointer network samples permutations from p(π | s, o)."""

from dataclasses import replace
from itertools import permutations, product

import pytest
import torch
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from toy import batch_of, mixed_toys, toy_model, toys

from samples import given
from veriscene.errors import InputError
from veriscene.models.biatt_pointer import BiATTPointerConfig, greedy, sampled

COUNTS = st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=1, max_size=4)


def every_order(counts: list[int], width: int) -> Tensor:
    """All orders of a scene's three boxes, (order, box, place), with padding at the end."""
    of_box = [[[*order, *range(count, width)] for order in permutations(range(count))] for count in counts]
    return torch.tensor(list(product(*of_box)))


def recording(choose):
    """The same choices, and a list of the log-probabilities, (batch, box, item), that each was made from."""
    seen = []

    def choosing(place: int, log_p: Tensor) -> Tensor:
        seen.append(log_p)
        return choose(place, log_p)

    return choosing, seen


@settings(deadline=None, max_examples=40)
@drawn(COUNTS, st.integers(0, 2**31), st.sampled_from([sampled, greedy]))
def test_an_order_is_a_permutation_followed_by_the_padding(counts, seed, choose):
    torch.manual_seed(seed)
    batch = batch_of(toys(seed, counts=counts, lengths=[2] * len(counts)), more_items=1)
    choosing, seen = recording(choose)
    order = toy_model("biatt-pointer").judge(batch, choosing).order
    width = batch.items.features.size(2)
    assert order.shape == batch.items.features.shape[:3] and len(seen) == width
    for row, of_boxes in enumerate(counts):
        for box, count in enumerate(of_boxes):
            read = order[row, box].tolist()
            assert sorted(read[:count]) == list(range(count))
            assert read[count:] == list(range(count, width))
            for place in range(width):
                p = seen[place][row, box].exp()
                possible = [place] if place >= count else read[place:count]
                impossible = [k for k in range(width) if k not in possible]
                assert (p[impossible] == 0).all() and (p[possible] > 0).all()
                assert_close(p.sum().item(), 1.0)
                if choose is greedy:
                    assert read[place] == p.argmax().item()


@pytest.mark.parametrize("training", [False, True])
def test_the_probability_of_an_order_is_that_of_its_choices(training):
    # Choices are made place by place; log_probability computes all places at once, under the same dropout.
    batch = batch_of(mixed_toys(seed=8), more_items=2)
    model = toy_model("biatt-pointer", seed=9, dropout=0.5).train(training)
    choosing, seen = recording(sampled)
    torch.manual_seed(3)
    judgement = model.judge(batch, choosing)
    chosen = torch.stack(seen, dim=2).gather(3, judgement.order[..., None])
    assert_close(judgement.log_probability, chosen.sum(dim=(1, 2, 3)))


@pytest.mark.parametrize("counts", [(3, 2, 1), (1, 1, 4), (2, 2, 2)])
def test_the_probabilities_of_all_orders_sum_to_one(counts):
    example = toys(3, counts=[counts], lengths=[5])[0]
    model = toy_model("biatt-pointer", seed=4)
    orders = every_order(example.counts, max(counts) + 1)
    batch = batch_of([example] * len(orders), more_items=1)
    assert_close(model.judge(batch, given(orders)).log_probability.exp().sum().item(), 1.0)


def test_samples_follow_the_distribution():
    example = toys(5, counts=[(3, 2, 1)], lengths=[4])[0]
    model = toy_model("biatt-pointer", seed=3)
    orders = every_order(example.counts, 4)
    p = model.judge(batch_of([example] * len(orders), more_items=1), given(orders)).log_probability.exp()
    assert p.max() > 4 * p.min()  # far from uniform, or the test would have no power
    draws = 24_000
    torch.manual_seed(7)
    batch = batch_of([example] * 4000, more_items=1)
    read = torch.cat([model.judge(batch, sampled).order for _ in range(draws // 4000)])
    same = (read[:, None] == orders[None]).flatten(2).all(-1)
    assert (same.sum(1) == 1).all()
    observed, expected = same.sum(0), draws * p
    assert expected.min() > 20
    chi_square = ((observed - expected) ** 2 / expected).sum().item()
    assert chi_square < 37.4  # 11 degrees of freedom: exceeded by one seed in ten thousand


def test_orders_are_sampled_in_training_and_greedy_in_inference():
    batch = batch_of(toys(5, counts=[(3, 3, 3)], lengths=[4]) * 200)
    model = toy_model("biatt-pointer", seed=6)
    torch.manual_seed(0)
    training = model.train()(batch)
    assert len(training.order.unique(dim=0)) > 20
    # log p(π) is that of the order that was read.
    again = model.judge(batch, given(training.order))
    assert_close(training.log_probability, again.log_probability)
    assert_close(training.logits, again.logits)
    inference = model.eval()(batch)
    assert len(inference.order.unique(dim=0)) == 1
    assert inference.baseline_logits is None
    assert_close(inference.order, model.judge(batch, greedy).order)


@pytest.mark.parametrize("comprehension", ["biatt", "bienc"])
def test_the_items_are_read_in_the_pointers_order(comprehension):
    examples = mixed_toys(seed=14)
    batch = batch_of(examples, more_items=1)
    model = toy_model("biatt-pointer", seed=15, comprehension=comprehension)
    plain_model = toy_model(comprehension)
    plain_model.load_state_dict(model.comprehension.state_dict())
    torch.manual_seed(1)
    judged = model.judge(batch, sampled)
    plain = plain_model(replace(batch, items=batch.items.reordered(judged.order)))
    assert_close(judged.logits, plain.logits)
    assert_close(judged.alpha, plain.alpha)
    assert_close(judged.beta, plain.beta)
    assert not torch.allclose(judged.logits, model.comprehension(batch).logits)  # the order matters
    # Through `positions`, an order refers to the scene's own list, whatever the order of the batch.
    shuffled = batch.items.reordered(model.judge(batch, sampled).order)
    order = model.eval()(replace(batch, items=shuffled)).order
    in_scene = shuffled.positions.gather(2, order)
    for row, example in enumerate(examples):
        for box, count in enumerate(example.counts):
            read = shuffled.features[row, box, order[row, box, :count]]
            named = torch.from_numpy(example.boxes[box])[in_scene[row, box, :count]]
            assert_close(read, named, atol=0, rtol=0)


@pytest.mark.parametrize("seed", range(3))
def test_the_distribution_over_orders_depends_on_the_statement(seed):
    example = toys(seed, counts=[(3, 3, 3)], lengths=[4])[0]
    model = toy_model("biatt-pointer", seed=seed)
    batch = batch_of([example, replace(example, words=example.words[::-1])])
    log_p = model.judge(batch, given(batch.items.given_order)).log_probability
    assert abs(log_p[0] - log_p[1]) > 1e-3


@pytest.mark.parametrize("encoder", ["lstm", "mean"])
def test_the_expected_entropy_of_the_choices_is_that_of_the_orders(encoder):
    example = toys(3, counts=[(3, 2, 1)], lengths=[5])[0]
    model = toy_model("biatt-pointer", seed=4, encoder=encoder)
    orders = every_order(example.counts, 4)
    judgement = model.judge(batch_of([example] * len(orders), more_items=1), given(orders))
    p = judgement.log_probability.exp()
    assert_close((p * judgement.entropy).sum(), -(p * judgement.log_probability).sum())


def test_with_the_mean_as_encoder_the_order_of_the_batch_does_not_matter():
    batch = batch_of(mixed_toys(seed=5), more_items=1)
    torch.manual_seed(2)
    orders = toy_model("biatt-pointer", seed=6).judge(batch, sampled).order
    shuffled = replace(batch, items=batch.items.reordered(orders))
    for encoder, same in (("mean", True), ("lstm", False)):
        model = toy_model("biatt-pointer", seed=6, encoder=encoder).eval()
        one, other = model(batch), model(shuffled)
        read = [batch.items.positions.gather(2, one.order), shuffled.items.positions.gather(2, other.order)]
        assert torch.equal(*read) is same
        assert torch.allclose(one.logits, other.logits) is same


@pytest.mark.parametrize("reading", ["sampled", "greedy"])
def test_several_orders_are_judged_as_in_inference(reading):
    batch = batch_of(toys(5, counts=[(3, 3, 3)] * 2, lengths=[4, 6]))
    model = toy_model("biatt-pointer", seed=6, dropout=0.5, samples=40, reading=reading).train()
    torch.manual_seed(0)
    judgement = model(batch)
    assert judgement.sampled_logits.shape == judgement.log_probability.shape == (len(batch), 40)
    assert judgement.logits.requires_grad and judgement.log_probability.requires_grad
    assert not judgement.sampled_logits.requires_grad and all(module.training for module in model.modules())
    # Equal logits have equal probabilities, and both are those of an order in inference.
    orders = every_order([3, 3, 3], 3)
    model.eval()
    for row in range(len(batch)):
        every = model.judge(batch[torch.tensor([row] * len(orders))], given(orders))
        pairs = torch.stack([every.logits, every.log_probability], dim=1)
        tried = torch.stack([judgement.sampled_logits[row], judgement.log_probability[row]], dim=1)
        assert (torch.cdist(tried, pairs).amin(dim=1) < 1e-4).all()


def test_settings_that_cannot_be_learned_from_are_refused():
    for wrong in ({"samples": 1}, {"reading": "greedy"}, {"comprehension": "bienc", "pooling": "joint"}):
        with pytest.raises(InputError):
            BiATTPointerConfig(**wrong)


def test_a_rate_of_its_own_exempts_the_pointer_from_decay():
    model = toy_model("biatt-pointer", pointer_rate=3.0)
    rest, pointer = model.parameter_groups()
    assert pointer["params"] == list(model.pointer.parameters())
    assert (pointer["rate"], pointer["decay"]) == (3.0, 0.0) and not rest.keys() & {"rate", "decay"}
    assert len(rest["params"]) + len(pointer["params"]) == len(list(model.parameters()))
