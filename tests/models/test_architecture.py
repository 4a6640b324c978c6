"""What the models are made of: sizes, sharing and initialisation as in appendix A.3.1."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from toy import batch_of, mixed_toys, toy_model

from veriscene.config import ModelConfig, load_preset
from veriscene.errors import InputError
from veriscene.models import MODELS, build
from veriscene.models.biatt_pointer import sampled
from veriscene.models.layers.pooling import POOLINGS
from veriscene.models.layers.recurrence import gates_of, lstm_step
from veriscene.tensors.vocabulary import Vocabulary

WORDS = 50
VOCABULARY = Vocabulary(tuple(f"word{number}" for number in range(WORDS)))


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


ENCODERS = {
    "embed_words.weight": (WORDS, 128),
    "embed_items.weight": (64, 9),
    "embed_items.bias": (64,),
    **bilstm("lang_lstm", 128),
    **bilstm("obj_lstm", 64),
}
BIENC = ENCODERS | {"similarity.weight": (512, 512)}
BIATT = ENCODERS | {
    "b1.weight": (512, 512),
    "b2.weight": (512, 512),
    "w_lang.weight": (512, 4 * 512),
    "w_obj.weight": (512, 4 * 512),
    **bilstm("word_lstm", 512),
    **bilstm("item_lstm", 512),
    "pool.scorer.first.weight": (512, 1024),
    "pool.scorer.first.bias": (512,),
    "pool.scorer.last.weight": (1, 512),
}
POINTER = {f"comprehension.{name}": shape for name, shape in BIATT.items()} | {
    "pointer.start": (64,),
    **lstm("pointer.encoder", 64),
    **lstm("pointer.decoder", 64),
    "pointer.attend.weight": (512, 256),
    "pointer.attentional.weight": (256, 512 + 256),
    "pointer.point.weight": (256, 256),
}


@pytest.fixture(scope="module", params=["bienc", "biatt", "biatt-pointer"])
def preset(request) -> tuple[str, nn.Module]:
    torch.manual_seed(0)
    return request.param, build(load_preset(request.param).model, vocabulary=VOCABULARY)


def test_the_presets_have_the_parameters_of_the_appendix_and_no_others(preset):
    name, model = preset
    shapes = {key: tuple(parameter.shape) for key, parameter in model.named_parameters()}
    assert shapes == {"bienc": BIENC, "biatt": BIATT, "biatt-pointer": POINTER}[name]
    assert list(model.state_dict()) == list(shapes)  # no two names for one tensor, nothing outside the optimiser
    dropout = 0.5 if name == "bienc" else 0.3  # BiENC learns scenes by heart sooner
    assert {module.p for module in model.modules() if isinstance(module, nn.Dropout)} == {dropout}


def test_matrices_start_as_xavier_draws_them_and_vectors_at_zero_but_for_open_forget_gates(preset):
    name, model = preset
    assert load_preset(name).model.forget_bias == 1
    for key, parameter in model.named_parameters():
        if parameter.dim() == 1:
            gates = parameter.view(4, -1) if ".bias_ih" in key else parameter[None]
            forget = gates[1] if len(gates) == 4 else gates[:0]
            assert (forget == 1).all(), key
            assert parameter.sum() == forget.numel(), key
            assert parameter.min() >= 0, key
            continue
        fan_out, fan_in = parameter.shape
        bound = (6 / (fan_in + fan_out)) ** 0.5
        assert parameter.abs().max() <= bound, key
        assert_close(parameter.std().item(), bound / 3**0.5, rtol=0.06, atol=0), key
        assert parameter.abs().max() > 0.98 * bound, key


def test_one_reading_of_words_and_one_projection_of_items_serve_pointer_and_comprehension_alike(monkeypatch):
    model = toy_model("biatt-pointer", seed=1)
    batch = batch_of(mixed_toys())
    torch.manual_seed(0)
    comprehension, pointer = model.comprehension, model.pointer
    inputs: dict[str, list] = {}
    outputs: dict[str, list] = {}
    for name, module in {
        "lang_lstm": comprehension.lang_lstm.dropout,
        "obj_lstm": comprehension.obj_lstm,
        "b1": comprehension.b1,
        "encoder": pointer.encoder,
    }.items():

        def remember(_module, arguments, output, name=name):
            inputs.setdefault(name, []).append(arguments[0])
            outputs.setdefault(name, []).append(output)

        module.register_forward_hook(remember)
    decoder_gates, asked = [], []
    ask = pointer.ask

    def asking(*arguments):
        asked.append(arguments[0])
        return ask(*arguments)

    def step(gates, *arguments):
        decoder_gates.append(gates)
        return lstm_step(gates, *arguments)

    monkeypatch.setattr("veriscene.models.biatt_pointer.lstm_step", step)
    monkeypatch.setattr(pointer, "ask", asking)
    for _ in range(2):  # the second time with another projection: all three readers must follow it
        inputs.clear(), outputs.clear(), decoder_gates.clear(), asked.clear()
        judgement = model.judge(batch, sampled)
        assert len(outputs["lang_lstm"]) == 1
        h = outputs["lang_lstm"][0]
        assert asked[0] is h and inputs["b1"][0] is h

        layer = comprehension.embed_items
        e = batch.items @ layer.weight.T + layer.bias
        read = torch.stack([e[row][box][judgement.order[row, box]] for row in range(len(batch)) for box in range(3)])
        flat = e.flatten(0, 1)
        assert_close(inputs["obj_lstm"][0], read)
        assert_close(torch.stack(inputs["encoder"], dim=1), flat)
        assert_close(decoder_gates[0], gates_of(pointer.start.expand(len(flat), -1), pointer.decoder))
        assert_close(torch.stack(decoder_gates[1:], dim=1), gates_of(read[:, :-1], pointer.decoder))
        with torch.no_grad():
            layer.weight.mul_(-0.5)
            layer.bias.add_(1)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(InputError, match=", ".join(sorted(MODELS))):
        build(ModelConfig(name="bert"), vocabulary=VOCABULARY)
    with pytest.raises(InputError, match=", ".join(POOLINGS)):
        build(ModelConfig(name="biatt", pooling="sum"), vocabulary=VOCABULARY)
    with pytest.raises(InputError, match="max or mean"):
        build(ModelConfig(name="bienc", pooling="lstm"), vocabulary=VOCABULARY)
