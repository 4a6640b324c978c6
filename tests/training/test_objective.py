"""The objective's gradient is that of the expected loss, L_RL = Σ_π p(π) L(π), in both of its terms."""

from dataclasses import replace
from itertools import permutations, product

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from samples import given
from veriscene import models
from veriscene.data.batch import Batch, Statement
from veriscene.data.items import Items
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.models import Judgement
from veriscene.models.biatt_pointer import BiATTPointer, BiATTPointerConfig
from veriscene.training.optimization import Loss, objective, r_drop
from veriscene.worlds.nlvr.looks import WORLD

ORDERS = torch.tensor(list(product(permutations(range(3)), repeat=3)))  # (216, box, place)
VOCABULARY = Vocabulary((*SPECIAL, *"abcdefg"))


def pointer_model(*, pooling: str = "max", dropout: float = 0.0, seed: int = 0) -> BiATTPointer:
    """Float64, with orders of different probability, and logits that depend on the order."""
    sizes = {"embedding": 4, "hidden": 4, "item": 3, "joint": 5, "mlp": 6}
    config = BiATTPointerConfig(**sizes, dropout=dropout, pooling=pooling)
    model = models.build(config, vocabulary=VOCABULARY, world=WORLD).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 2.0 if name.startswith("pointer.") else 0.7
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def scene(*, copies: int, label: float = 1.0, seed: int = 0) -> Batch:
    """`copies` copies of one scene with three items in each box."""
    generator = torch.Generator().manual_seed(seed)
    items = torch.randn(1, 3, 3, WORLD.feature_count, generator=generator, dtype=torch.float64)
    words = torch.randint(1, len(VOCABULARY), (1, 4), generator=generator)
    return Batch(
        statement=Statement(words.expand(copies, -1), torch.full((copies,), 4)),
        items=Items(
            features=items.expand(copies, -1, -1, -1),
            counts=torch.full((copies, 3), 3),
            positions=torch.arange(3).expand(copies, 3, 3),
        ),
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
def test_summed_over_all_orders_each_term_is_its_part_of_the_gradient_of_the_expected_loss(pooling, seed, label):
    model = pointer_model(pooling=pooling, seed=seed)
    judgement, labels, p, loss = every_order(model, label)
    assert_close(p.sum().item(), 1.0)
    assert p.max() > 5 * p.min() and loss.max() - loss.min() > 0.2  # orders differ in probability and in loss
    exactly = {"atol": 1e-11, "rtol": 1e-8}

    comprehension = gradient((p.detach() * comprehension_term(judgement, labels)).sum(), model)
    assert_close(comprehension, gradient((p.detach() * loss).sum(), model), **exactly)

    policy = gradient((p.detach() * policy_term(judgement, labels)).sum(), model)
    assert policy.norm() > 1e-3
    assert_close(policy, gradient((p * loss.detach()).sum(), model), **exactly)

    both = gradient((p.detach() * objective(judgement, labels).surrogate).sum(), model)
    assert_close(both, gradient((p * loss).sum(), model), **exactly)
    assert_close(both, comprehension + policy, **exactly)


def test_finite_differences_of_the_expected_loss_agree_with_the_objective():
    """Would show a path that is detached from automatic differentiation by mistake."""
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


def test_averaged_over_sampled_orders_each_term_converges_to_its_part_of_the_gradient():
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


def test_orders_that_are_each_others_baseline_have_the_same_expectation():
    model = pointer_model(seed=4)
    judgement, labels, p, loss = every_order(model, 1.0)
    pairs = torch.cartesian_prod(*[torch.arange(len(p))] * 2)  # two orders are drawn: (216 * 216, 2)
    first = pairs[:, 0]
    several = Judgement(
        logits=judgement.logits.detach()[first],
        log_probability=judgement.log_probability[pairs],
        sampled_logits=judgement.logits.detach()[pairs],
        entropy=judgement.entropy[first],
    )
    weights = p.detach()[pairs].prod(dim=1)
    found = gradient((weights * objective(several, labels[first]).surrogate).sum(), model)
    assert_close(found, gradient((p * loss.detach()).sum(), model), atol=1e-11, rtol=1e-8)
    plain, rewarded = (objective(several, labels[first], entropy_weight=w).surrogate for w in (0.0, 0.5))
    assert_close(plain - rewarded, several.entropy / 2)


@pytest.mark.parametrize("baseline", [-3.0, 0.0, 2.0])
def test_the_baseline_changes_single_samples_and_not_the_expectation(baseline):
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


def test_the_baseline_is_inference_without_dropout_and_sampling():
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


def test_orders_better_than_the_greedy_one_become_more_likely_and_worse_ones_less():
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
    judgement = Judgement(logits=logits)
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
    # Smoothing by s mixes the loss of the label (weight 1 - s) and of a uniform label (weight s).
    smooth, sharp, uniform = (
        objective(judgement, y, smoothing=s) for y, s in ((labels, 0.3), (labels, 0), (labels, 1))
    )
    assert_close(smooth.surrogate, 0.7 * sharp.surrogate + 0.3 * uniform.surrogate)
    assert_close(uniform.surrogate, objective(judgement, 1 - labels, smoothing=1).surrogate)


def test_the_loss_of_half_precision_logits_has_the_precision_of_the_labels():
    logits = torch.tensor([3.0, -0.5, 0.125], dtype=torch.bfloat16)
    labels = torch.tensor([1.0, 1.0, 0.0])
    rough, exact = (objective(Judgement(logits=values), labels, smoothing=0.1) for values in (logits, logits.float()))
    assert rough.surrogate.dtype == torch.float32
    assert_close(rough.surrogate, exact.surrogate, atol=0, rtol=0)


def test_r_drop_is_the_mean_of_two_losses_and_of_both_divergences():
    generator = torch.Generator().manual_seed(0)
    logits = (2 * torch.randn(8, generator=generator)).requires_grad_()
    each = torch.rand(8, generator=generator)
    loss = r_drop(Loss(surrogate=each, comprehension=each + 1), logits, weight=3.0)
    p, q = (torch.distributions.Bernoulli(logits=half) for half in logits.chunk(2))
    divergence = (torch.distributions.kl_divergence(p, q) + torch.distributions.kl_divergence(q, p)) / 2
    assert_close(loss.surrogate, (each[:4] + each[4:]) / 2 + 3 * divergence)
    assert_close(loss.comprehension, (each[:4] + each[4:]) / 2 + 1)
    (found,) = torch.autograd.grad(loss.surrogate.sum(), logits)
    (expected,) = torch.autograd.grad(3 * divergence.sum(), logits)
    assert_close(found, expected)
    assert (expected[:4] * found[4:] != 0).all()  # gradients reach both passes
