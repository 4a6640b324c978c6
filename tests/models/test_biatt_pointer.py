"""The pointer network draws from p(π | s, o): permutations only, each as often as it should."""

from itertools import permutations, product

import pytest
import torch
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from toy import batch_of, mixed_toys, toy_model, toys

from veriscene.models.biatt_pointer import given, greedy, sampled

COUNTS = st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=1, max_size=4)


def every_order(counts: list[int], width: int) -> Tensor:
    """All orders of a scene's three boxes, (order, box, place), with the padding at its place."""
    of_box = [[[*order, *range(count, width)] for order in permutations(range(count))] for count in counts]
    return torch.tensor(list(product(*of_box)))


def chooser_with_memory(choose):
    """The same choices; and the log-probabilities, (batch, box, item), that each was made from."""
    seen = []

    def choosing(place: int, log_p: Tensor) -> Tensor:
        seen.append(log_p)
        return choose(place, log_p)

    return choosing, seen


@settings(deadline=None, max_examples=40)
@drawn(COUNTS, st.integers(0, 2**31), st.sampled_from([sampled, greedy]))
def test_an_order_holds_each_item_once_and_leaves_the_padding_where_it_was(counts, seed, choose):
    torch.manual_seed(seed)
    batch = batch_of(toys(seed, counts=counts, lengths=[2] * len(counts)), more_items=1)
    choosing, seen = chooser_with_memory(choose)
    order = toy_model("biatt-pointer").judge(batch, choosing).order
    width = batch.items.size(2)
    assert order.shape == batch.items.shape[:3] and len(seen) == width
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
def test_an_order_is_as_likely_as_the_choices_that_made_it(training):
    # They are made place by place; how likely they were is asked of all places at once, under the same dropout.
    batch = batch_of(mixed_toys(seed=8), more_items=2)
    model = toy_model("biatt-pointer", seed=9, dropout=0.5).train(training)
    choosing, seen = chooser_with_memory(sampled)
    torch.manual_seed(3)
    judgement = model.judge(batch, choosing)
    chosen = torch.stack(seen, dim=2).gather(3, judgement.order[..., None])
    assert_close(judgement.log_probability, chosen.sum(dim=(1, 2, 3)))


@pytest.mark.parametrize("counts", [(3, 2, 1), (1, 1, 4), (2, 2, 2)])
def test_the_probabilities_of_all_orders_add_up_to_one(counts):
    example = toys(3, counts=[counts], lengths=[5])[0]
    model = toy_model("biatt-pointer", seed=4)
    orders = every_order(example.counts, max(counts) + 1)
    batch = batch_of([example] * len(orders), more_items=1)
    assert_close(model.judge(batch, given(orders)).log_probability.exp().sum().item(), 1.0)


def test_orders_are_sampled_as_often_as_p_says():
    example = toys(5, counts=[(3, 2, 1)], lengths=[4])[0]
    model = toy_model("biatt-pointer", seed=3)
    orders = every_order(example.counts, 4)
    p = model.judge(batch_of([example] * len(orders), more_items=1), given(orders)).log_probability.exp()
    assert p.max() > 4 * p.min()  # far from uniform, or the test would not tell
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


def test_in_training_orders_are_sampled_and_in_evaluation_they_are_the_likeliest_at_each_step():
    batch = batch_of(toys(5, counts=[(3, 3, 3)], lengths=[4]) * 200)
    model = toy_model("biatt-pointer", seed=6)
    torch.manual_seed(0)
    training = model.train()(batch)
    assert len(training.order.unique(dim=0)) > 20
    # log p(π) belongs to the very order that was read.
    again = model.judge(batch, given(training.order))
    assert_close(training.log_probability, again.log_probability)
    assert_close(training.logits, again.logits)
    inference = model.eval()(batch)
    assert len(inference.order.unique(dim=0)) == 1
    assert inference.baseline_logits is None
    assert_close(inference.order, model.judge(batch, greedy).order)


def test_the_comprehension_model_reads_the_items_in_the_pointers_order():
    examples = mixed_toys(seed=14)
    batch = batch_of(examples, more_items=1)
    model = toy_model("biatt-pointer", seed=15)
    torch.manual_seed(1)
    judged = model.judge(batch, sampled)
    reordered = batch.reordered(judged.order)
    plain = model.comprehension(reordered)
    assert_close(judged.logits, plain.logits)
    assert_close(judged.alpha, plain.alpha)
    assert_close(judged.beta, plain.beta)
    assert not torch.allclose(judged.logits, model.comprehension(batch).logits)  # and the order does matter
    # Through `positions`, an order names the items of the file, whatever order the batch had come in.
    shuffled = batch.reordered(model.judge(batch, sampled).order)
    order = model.eval()(shuffled).order
    in_file = shuffled.positions.gather(2, order)
    for row, example in enumerate(examples):
        for box, count in enumerate(example.counts):
            read = shuffled.items[row, box, order[row, box, :count]]
            named = torch.from_numpy(example.boxes[box])[in_file[row, box, :count]]
            assert_close(read, named, atol=0, rtol=0)


@pytest.mark.parametrize("seed", range(3))
def test_the_statement_moves_the_distribution_over_orders(seed):
    example = toys(seed, counts=[(3, 3, 3)], lengths=[4])[0]
    model = toy_model("biatt-pointer", seed=seed)
    batch = batch_of([example, type(example)(example.words[::-1], example.boxes, example.label)])
    log_p = model.judge(batch, given(batch.as_they_come)).log_probability
    assert abs(log_p[0] - log_p[1]) > 1e-3
