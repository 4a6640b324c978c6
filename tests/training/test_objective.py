"""The objective's gradient is that of the expected loss, L_RL = Σ_π p(π) L(π), in both of its terms."""

from dataclasses import replace
from itertools import permutations, product

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from veriscene.models import Judgement
from veriscene.models.biatt_pointer import BiATTPointer, given
from veriscene.tensors.batch import Batch
from veriscene.tensors.features import ITEM_FEATURES
from veriscene.training.objective import Loss, agreeing, objective

ORDERS = torch.tensor(list(product(permutations(range(3)), repeat=3)))  # (216, box, place)
VOCABULARY = 9


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pointer_model(*, pooling: str = "max", dropout: float = 0.0, seed: int = 0) -> BiATTPointer:
    """Float64, with preferences among orders, and a verdict that depends on the order."""
    sizes = {"vocabulary": VOCABULARY, "embedding": 4, "hidden": 4, "item": 3, "joint": 5, "mlp": 6}
    model = BiATTPointer(**sizes, dropout=dropout, pooling=pooling).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 2.0 if name.startswith("pointer.") else 0.7
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def scene(*, copies: int, label: float = 1.0, seed: int = 0) -> Batch:
    """One scene of three items a box, so many times."""
    generator = torch.Generator().manual_seed(seed)
    items = torch.randn(1, 3, 3, ITEM_FEATURES, generator=generator, dtype=torch.float64)
    words = torch.randint(1, VOCABULARY, (1, 4), generator=generator)
    return Batch(
        words=words.expand(copies, -1),
        lengths=torch.full((copies,), 4),
        items=items.expand(copies, -1, -1, -1),
        counts=torch.full((copies, 3), 3),
        positions=torch.arange(3).expand(copies, 3, 3),
        labels=torch.full((copies,), label, dtype=torch.float64),
    )


def gradient(value: Tensor, model: nn.Module) -> Tensor:
    """All parameters' gradients in one vector, zero where the value does not depend on one."""
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(value, parameters, retain_graph=True, allow_unused=True)
    pairs = zip(gradients, parameters, strict=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs])


def comprehension_term(judgement: Judgement, labels: Tensor) -> Tensor:
    """The surrogate with nothing left to differentiate but L."""
    return objective(replace(judgement, log_probability=judgement.log_probability.detach()), labels).surrogate


def policy_term(judgement: Judgement, labels: Tensor) -> Tensor:
    """The surrogate with nothing left to differentiate but log p."""
    return objective(replace(judgement, logits=judgement.logits.detach()), labels).surrogate


def every_order(model: BiATTPointer, label: float) -> tuple[Judgement, Tensor, Tensor, Tensor]:
    """The judgements of all orders with the baseline of training; the labels; p(π) and L(π), by hand."""
    batch = scene(copies=len(ORDERS), label=label)
    baseline = model.train()(scene(copies=1, label=label)).baseline_logits
    judgement = replace(model.judge(batch, given(ORDERS)), baseline_logits=baseline.expand(len(ORDERS)))
    probability = torch.sigmoid(judgement.logits)
    loss = -label * torch.log(probability) - (1 - label) * torch.log(1 - probability)
    return judgement, batch.labels, judgement.log_probability.exp(), loss


@pytest.mark.parametrize(
    ("pooling", "seed", "label"), [("max", 0, 1.0), ("max", 3, 0.0), ("mean", 9, 0.0), ("joint", 1, 1.0)]
)
def test_averaged_over_all_orders_each_term_is_its_part_of_the_gradient_of_the_expected_loss(pooling, seed, label):
    model = pointer_model(pooling=pooling, seed=seed)
    judgement, labels, p, loss = every_order(model, label)
    assert_close(p.sum().item(), 1.0)
    assert p.max() > 5 * p.min() and loss.max() - loss.min() > 0.2  # orders differ, in likelihood and in merit
    exactly = {"atol": 1e-11, "rtol": 1e-8}

    comprehension = gradient((p.detach() * comprehension_term(judgement, labels)).sum(), model)
    assert_close(comprehension, gradient((p.detach() * loss).sum(), model), **exactly)

    policy = gradient((p.detach() * policy_term(judgement, labels)).sum(), model)
    assert policy.norm() > 1e-3
    assert_close(policy, gradient((p * loss.detach()).sum(), model), **exactly)

    both = gradient((p.detach() * objective(judgement, labels).surrogate).sum(), model)
    assert_close(both, gradient((p * loss).sum(), model), **exactly)
    assert_close(both, comprehension + policy, **exactly)


def test_the_expected_loss_changes_along_any_direction_as_the_objective_says():
    """Differences instead of derivatives: a path that automatic differentiation was cut off from would show."""
    model = pointer_model(seed=3)
    judgement, labels, p, _ = every_order(model, 1.0)
    slope = gradient((p.detach() * objective(judgement, labels).surrogate).sum(), model)
    start = nn.utils.parameters_to_vector(model.parameters()).detach()
    generator = torch.Generator().manual_seed(0)
    parts = torch.cat([torch.full((q.numel(),), n) for n, q in enumerate(model.parameters())])
    for part in parts.unique():
        direction = torch.randn(len(start), generator=generator, dtype=torch.float64) * (parts == part)
        ends = []
        for step in (1e-5, -1e-5):
            nn.utils.vector_to_parameters(start + step * direction, model.parameters())
            with torch.no_grad():
                _, _, p, loss = every_order(model, 1.0)
            ends.append((p * loss).sum().item())
        nn.utils.vector_to_parameters(start, model.parameters())
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx((slope @ direction).item(), abs=1e-8, rel=1e-6)


def test_averaged_over_sampled_orders_each_term_comes_to_its_part_of_the_gradient_of_the_expected_loss():
    model = pointer_model(pooling="mean", seed=9)
    _, _, p, loss = every_order(model, 0.0)
    expected = {
        comprehension_term: gradient((p.detach() * loss).sum(), model),
        policy_term: gradient((p * loss.detach()).sum(), model),
    }
    batch = scene(copies=500, label=0.0)
    torch.manual_seed(0)
    samples: dict = {term: [] for term in expected}
    for _ in range(60):
        judgement = model(batch)
        for term in samples:
            samples[term].append(gradient(term(judgement, batch.labels).mean(), model))
    for term, exact in expected.items():
        chunks = torch.stack(samples[term])
        mean, error = chunks.mean(dim=0), chunks.std(dim=0) / len(chunks) ** 0.5
        moves = error > 1e-12
        assert_close(mean[~moves], exact[~moves], atol=1e-11, rtol=1e-8)
        z = (mean - exact)[moves] / error[moves]
        assert z.abs().max() < 5, term
        assert (z**2).mean() < 4, term
        assert (mean - exact).norm() < 0.05 * exact.norm(), term


@pytest.mark.parametrize("baseline", [-3.0, 0.0, 2.0])
def test_the_baseline_leaves_the_expectation_and_moves_the_single_draw(baseline):
    model = pointer_model(seed=4)
    judgement, labels, p, loss = every_order(model, 1.0)
    judgement = replace(judgement, baseline_logits=torch.full_like(judgement.logits, baseline))
    expected = gradient((p.detach() * policy_term(judgement, labels)).sum(), model)
    assert_close(expected, gradient((p * loss.detach()).sum(), model), atol=1e-11, rtol=1e-8)

    one = 17
    at_baseline = torch.nn.functional.softplus(torch.tensor(-baseline, dtype=torch.float64))
    drawn = gradient(policy_term(judgement, labels)[one], model)
    by_hand = (loss[one].detach() - at_baseline) * gradient(judgement.log_probability[one], model)
    assert_close(drawn, by_hand)  # -(R - b) ∇ log p with R = -L and b = -L at the baseline
    plain, weighed = (objective(judgement, labels, policy_weight=w).surrogate[one] for w in (1.0, 0.25))
    assert_close(weighed - plain, 0.75 * (loss[one] - objective(judgement, labels).surrogate[one]))


def test_the_baseline_is_the_judgement_of_inference_whatever_dropout_and_sampling_do():
    model = pointer_model(dropout=0.5, seed=5)
    batch = scene(copies=30)
    inference = model.eval()(batch)
    model.train()
    torch.manual_seed(0)
    first, second = model(batch), model(batch)
    assert all(module.training for module in model.modules())
    assert not torch.allclose(first.logits, second.logits)
    for judgement in (first, second):
        assert_close(judgement.baseline_logits, inference.logits.detach(), atol=0, rtol=0)
        assert not judgement.baseline_logits.requires_grad
        assert judgement.logits.requires_grad and judgement.log_probability.requires_grad


def test_an_order_better_than_the_greedy_one_is_made_likelier_and_a_worse_one_less_likely():
    model = pointer_model(seed=1)
    judgement, labels, _, loss = every_order(model, 1.0)
    with torch.no_grad():
        at_greedy = objective(model.eval()(scene(copies=1)), labels[:1]).comprehension
    assert loss.min() + 0.01 < at_greedy < loss.max() - 0.01  # the greedy order is neither the best nor the worst
    for one in (loss.argmin(), loss.argmax()):
        step = -gradient(policy_term(judgement, labels)[one], model)
        likelier = step @ gradient(judgement.log_probability[one], model)
        assert torch.sign(likelier) == torch.sign(at_greedy - loss[one].detach())


def test_without_a_sampled_order_the_objective_is_the_cross_entropy():
    logits = torch.tensor([-200.0, -1.5, 0.0, 0.3, 200.0, -1.5], dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    scores, order = torch.zeros(6, 3), torch.zeros(6, 3, 1, dtype=torch.int64)
    judgement = Judgement(logits=logits, scores=scores, order=order)
    p = torch.sigmoid(logits[1:4].detach())
    by_hand = [-torch.log(p[0]), -torch.log(p[1]), -torch.log(1 - p[2])]
    for case in (judgement, replace(judgement, log_probability=torch.ones(6, requires_grad=True))):  # BiATT; inference
        loss = objective(case, labels)
        assert_close(loss.surrogate[1:4].detach(), torch.stack(by_hand))
        assert_close(loss.comprehension, loss.surrogate.detach())
        assert not loss.comprehension.requires_grad
        (slope,) = torch.autograd.grad(loss.surrogate.sum(), logits)
        assert_close(slope, (torch.sigmoid(logits) - labels).detach())
    wrong = objective(replace(judgement, logits=-logits), labels).surrogate
    assert wrong.isfinite().all() and wrong[0] == 200
    # A label smoothed by s is the label with 1 - s, and a coin's throw with s.
    smooth, sharp, coin = (objective(judgement, y, smoothing=s) for y, s in ((labels, 0.3), (labels, 0), (labels, 1)))
    assert_close(smooth.surrogate, 0.7 * sharp.surrogate + 0.3 * coin.surrogate)
    assert_close(coin.surrogate, objective(judgement, 1 - labels, smoothing=1).surrogate)


def test_logits_in_half_precision_are_judged_in_the_labels_precision():
    logits = torch.tensor([3.0, -0.5, 0.125], dtype=torch.bfloat16)
    labels = torch.tensor([1.0, 1.0, 0.0])
    order = torch.zeros(3, 3, 1, dtype=torch.int64)
    rough, exact = (
        objective(Judgement(logits=values, scores=None, order=order), labels, smoothing=0.1)
        for values in (logits, logits.float())
    )
    assert rough.surrogate.dtype == torch.float32
    assert_close(rough.surrogate, exact.surrogate, atol=0, rtol=0)


def test_two_readings_cost_the_mean_of_their_losses_and_of_both_divergences_between_them():
    generator = torch.Generator().manual_seed(0)
    logits = (2 * torch.randn(8, generator=generator)).requires_grad_()
    each = torch.rand(8, generator=generator)
    loss = agreeing(Loss(surrogate=each, comprehension=each + 1), logits, weight=3.0)
    p, q = (torch.distributions.Bernoulli(logits=half) for half in logits.chunk(2))
    divergence = (torch.distributions.kl_divergence(p, q) + torch.distributions.kl_divergence(q, p)) / 2
    assert_close(loss.surrogate, (each[:4] + each[4:]) / 2 + 3 * divergence)
    assert_close(loss.comprehension, (each[:4] + each[4:]) / 2 + 1)
    (told,) = torch.autograd.grad(loss.surrogate.sum(), logits)
    (expected,) = torch.autograd.grad(3 * divergence.sum(), logits)
    assert_close(told, expected)
    assert (expected[:4] * told[4:] != 0).all()  # both readings move
