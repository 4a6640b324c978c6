"""What the models are made of: sizes, sharing and initialisation as in appendix A."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from toy import batch_of, mixed_toys, toy_model

from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.models import build, load_preset
from veriscene.models.biatt_pointer import sampled
from veriscene.models.layers.recurrence import gates_of, lstm_step
from veriscene.worlds.nlvr.looks import WORLD

WORDS = 50
VOCABULARY = Vocabulary((*SPECIAL, *(f"word{number}" for number in range(WORDS - len(SPECIAL)))))


def lstm(prefix: str, size: int, hidden: int = 256, suffix: str = "") -> dict[str, tuple[int, ...]]:
    """Four gates, each with weights from the input and from the state."""
    return {
        f"{prefix}.weight_ih{suffix}": (4 * hidden, size),
        f"{prefix}.weight_hh{suffix}": (4 * hidden, hidden),
        f"{prefix}.bias_ih{suffix}": (4 * hidden,),
        f"{prefix}.bias_hh{suffix}": (4 * hidden,),
    }


def bilstm(prefix: str, size: int) -> dict[str, tuple[int, ...]]:
    return lstm(f"{prefix}.forwards", size, suffix="_l0") | lstm(f"{prefix}.backwards", size, suffix="_l0")


def linear(prefix: str, size: int, units: int) -> dict[str, tuple[int, ...]]:
    return {f"{prefix}.weight": (units, size), f"{prefix}.bias": (units,)}


def scorer(size: int, units: int) -> dict[str, tuple[int, ...]]:
    return linear("pool.scorer.first", size, units) | {"pool.scorer.last.weight": (1, units)}


ENCODERS = {
    "embed_words.weight": (WORDS, 128),
    **linear("embed_items", 9, 64),
    **bilstm("lang_lstm", 128),
    **bilstm("obj_lstm", 64),
}
BIENC = ENCODERS | {"similarity.weight": (512, 512)}
BIATT = ENCODERS | {
    "matching.b1.weight": (512, 512),
    "matching.b2.weight": (512, 512),
    "matching.w_lang.weight": (512, 4 * 512),
    "matching.w_obj.weight": (512, 4 * 512),
    **bilstm("matching.word_lstm", 512),
    **bilstm("matching.item_lstm", 512),
    **scorer(1024, 512),
}
BIDAF = ENCODERS | {
    "w_similarity.weight": (1, 3 * 512),
    **bilstm("model_lstm1", 4 * 512),
    **bilstm("model_lstm2", 512),
    **scorer(512, 512),
}
RELATION_NET = {
    "embed_words.weight": (WORDS, 128),
    **lstm("lang_lstm", 128),
    **linear("g1", 9 + 9 + 256, 256),
    **linear("g2", 256, 256),
    **linear("g3", 256, 256),
    **linear("pool.scorer.second", 256, 256),
    **scorer(256, 256),
}
POINTER = {f"comprehension.{name}": shape for name, shape in BIATT.items()} | {
    "pointer.start": (64,),
    **lstm("pointer.encoder", 64),
    **lstm("pointer.decoder", 64),
    "pointer.attend.weight": (512, 256),
    "pointer.attentional.weight": (256, 512 + 256),
    "pointer.point.weight": (256, 256),
}


SHAPES = {"bienc": BIENC, "biatt": BIATT, "biatt-pointer": POINTER, "bidaf": BIDAF, "relation-net": RELATION_NET}


@pytest.fixture(scope="module", params=sorted(SHAPES))
def preset(request) -> tuple[str, nn.Module]:
    torch.manual_seed(0)
    return request.param, build(load_preset(request.param).model, vocabulary=VOCABULARY, world=WORLD)


def test_the_presets_have_exactly_the_parameters_of_the_appendix(preset):
    name, model = preset
    assert {key: tuple(parameter.shape) for key, parameter in model.named_parameters()} == SHAPES[name]
    assert set(model.state_dict()) == set(SHAPES[name])  # no two names for one tensor, nothing outside the optimizer


def test_matrices_start_as_xavier_draws_them_and_vectors_at_zero_except_forget_gates(preset):
    name, model = preset
    forget_bias = load_preset(name).model.forget_bias
    for key, parameter in model.named_parameters():
        if parameter.dim() == 1:
            expected = torch.zeros_like(parameter)
            if ".bias_ih" in key:
                expected.view(4, -1)[1] = forget_bias
            assert torch.equal(parameter, expected), key
            continue
        fan_out, fan_in = parameter.shape
        bound = (6 / (fan_in + fan_out)) ** 0.5
        assert 0.98 * bound < parameter.abs().max() <= bound, key
        assert_close(parameter.std().item(), bound / 3**0.5, rtol=0.06, atol=0), key


def test_pointer_and_biatt_share_the_encoded_statement_and_the_embedded_items(monkeypatch):
    model = toy_model("biatt-pointer", seed=1)
    batch = batch_of(mixed_toys())
    torch.manual_seed(0)
    comprehension, pointer = model.comprehension, model.pointer
    inputs: dict[str, list] = {}
    outputs: dict[str, list] = {}
    for name, module in {
        "lang_lstm": comprehension.lang_lstm.dropout,
        "obj_lstm": comprehension.obj_lstm,
        "b1": comprehension.matching.b1,
        "encoder": pointer.encoder,
    }.items():

        def record(_module, arguments, output, name=name):
            inputs.setdefault(name, []).append(arguments[0])
            outputs.setdefault(name, []).append(output)

        module.register_forward_hook(record)
    decoder_gates, attended = [], []
    context = pointer.context

    def recorded(words, *arguments):
        attended.append(words.states)
        return context(words, *arguments)

    def step(gates, *arguments):
        decoder_gates.append(gates)
        return lstm_step(gates, *arguments)

    monkeypatch.setattr("veriscene.models.biatt_pointer.lstm_step", step)
    monkeypatch.setattr(pointer, "context", recorded)
    for _ in range(2):  # the second time with other weights, which all three must use
        inputs.clear(), outputs.clear(), decoder_gates.clear(), attended.clear()
        judgement = model.judge(batch, sampled)
        assert len(outputs["lang_lstm"]) == 1
        h = outputs["lang_lstm"][0]
        assert attended[0] is h and inputs["b1"][0] is h

        layer = comprehension.embed_items
        e = batch.items.features @ layer.weight.T + layer.bias
        read = torch.stack([e[row][box][judgement.order[row, box]] for row in range(len(batch)) for box in range(3)])
        flat = e.flatten(0, 1)
        assert_close(inputs["obj_lstm"][0], read)
        assert_close(torch.stack(inputs["encoder"], dim=1), flat)
        assert_close(decoder_gates[0], gates_of(pointer.start.expand(len(flat), -1), pointer.decoder))
        assert_close(torch.stack(decoder_gates[1:], dim=1), gates_of(read[:, :-1], pointer.decoder))
        with torch.no_grad():
            layer.weight.mul_(-0.5)
            layer.bias.add_(1)
