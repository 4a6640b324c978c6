"""The network of a reader: a transformer that writes the tokens of language/tokens.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional as F

from veriscene import files
from veriscene.data.reader import (
    END,
    FILE_ERRORS,
    PAD,
    SCALE,
    START,
    Array,
    ProgramReader,
    ReaderConfig,
    invalid_reader,
    language_of,
    read_file,
)
from veriscene.language.language import Language
from veriscene.models.captured import MIN_ROWS, Captured, Tensors, multiple, padded_count
from veriscene.world.world_file import to_tree

KeyValue = tuple[Tensor, Tensor]  # (batch, head, place, dim / heads) each
# What begins, and what writes the tokens at the places of each part.
Writing = tuple[Callable[..., Tensors], Mapping[range, Callable[..., Tensors]]]
GPU_GROUP = 2048  # statements that a GPU reads together
PLACES, WORDS = 8, 8  # a graph writes so many tokens; statements are padded to a multiple of so many words


class Dropout(nn.Module):
    """Dropout; on a CPU, where drawing numbers takes as long as a product of matrices, one random byte decides."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or x.device.type != "cpu":
            return F.dropout(x, self.p, self.training)
        zeros = round(256 * self.p)
        drawn = torch.empty(-(-x.numel() // 8), dtype=torch.int64).random_(-(2**63), None)
        kept = drawn.view(torch.uint8)[: x.numel()].view(x.shape) >= zeros
        return x * kept.to(x.dtype).mul_(256 / (256 - zeros))


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def keys_values(self, context: Tensor) -> KeyValue:
        """(batch, place, dim) -> keys and values."""
        key, value = self.key_value(context).chunk(2, dim=-1)
        return self._split(key), self._split(value)

    def forward(self, x: Tensor, context: KeyValue, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
        given = self._split(self.query(x)), *context
        # On a CPU, attention in half precision takes five times as long.
        query, key, value = (each.float() for each in given) if x.device.type == "cpu" else given
        mask = None if mask is None else mask.to(query.dtype)
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
        attended: Tensor = self.out(found.transpose(1, 2).flatten(2).to(x.dtype))
        return attended

    def _split(self, x: Tensor) -> Tensor:
        batch, places, dim = x.shape
        return x.view(batch, places, self.heads, dim // self.heads).transpose(1, 2)


class EncoderLayer(nn.Module):
    """Is a pre-norm layer of self-attention and a feed-forward network."""

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        dim = config.dim
        self.attention_norm, self.attention = nn.LayerNorm(dim), Attention(dim, config.heads)
        self.norm = nn.LayerNorm(dim)
        self.expand, self.contract = nn.Linear(dim, config.feedforward), nn.Linear(config.feedforward, dim)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = self.attention_norm(x)
        return self.feed(x + self.dropout(self.attention(y, self.attention.keys_values(y), mask)))

    def feed(self, x: Tensor) -> Tensor:
        fed: Tensor = self.dropout(self.contract(self.dropout(F.gelu(self.expand(self.norm(x))))))
        return x + fed


class DecoderLayer(EncoderLayer):
    """It also attends to the statement."""

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__(config)
        self.cross_norm, self.cross = nn.LayerNorm(config.dim), Attention(config.dim, config.heads)

    def decode(
        self, x: Tensor, statement: KeyValue, mask: Tensor, past: KeyValue | None = None
    ) -> tuple[Tensor, KeyValue]:
        """Without `past`, all tokens at once, each of which sees those before it; otherwise the next one. Also returns
        the keys and values of all tokens so far."""
        y = self.attention_norm(x)
        key, value = self.attention.keys_values(y)
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        x = x + self.dropout(self.attention(y, (key, value), causal=past is None))
        x = x + self.dropout(self.cross(self.cross_norm(x), statement, mask))
        return self.feed(x), (key, value)


class ReaderNetwork(nn.Module):
    """Statement in, tokens of its program out."""

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.config, dim = config, config.dim
        self.word = nn.Embedding(config.words, dim, padding_idx=0)
        self.ngram = nn.Embedding(config.ngrams, dim, padding_idx=0)
        self.word_place = nn.Embedding(config.max_words, dim)
        self.token = nn.Embedding(config.tokens, dim, padding_idx=PAD)
        self.token_place = nn.Embedding(config.max_tokens, dim)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.dropout = Dropout(config.dropout)
        for embedding in (self.word, self.ngram, self.word_place, self.token, self.token_place):
            nn.init.normal_(embedding.weight, std=0.02 if embedding is self.token else 0.05)

    def encode(self, words: Tensor, ngrams: Tensor) -> tuple[list[KeyValue], Tensor]:
        """(batch, place), (batch, place, n-gram) -> what each layer of the decoder attends to, and a mask: 0 for words,
        a large negative number for padding."""
        is_word = ngrams[..., 0] != 0
        count = (ngrams != 0).sum(-1, keepdim=True).clamp_min(1)
        # A bag never writes the vectors of single n-grams to memory, nor sorts them for the gradient.
        letters = F.embedding_bag(ngrams.flatten(0, 1), self.ngram.weight, mode="sum")
        x = self.word(words) + letters.view(*words.shape, -1) / count.to(letters.dtype).sqrt()
        x = self.dropout(x + self.word_place.weight[: words.size(1)])
        mask = torch.zeros_like(is_word, dtype=x.dtype).masked_fill(~is_word, -1e4)[:, None, None]
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.encoder_norm(x)
        return [layer.cross.keys_values(x) for layer in self._decoder()], mask

    def forward(self, words: Tensor, ngrams: Tensor, tokens: Tensor) -> Tensor:
        """(batch, place), (batch, place, n-gram), (batch, token) -> (batch, token, number of tokens): the logits of the
        token after each one."""
        statement, mask = self.encode(words, ngrams)
        x = self.dropout(self.token(tokens) + self.token_place.weight[: tokens.size(1)])
        for layer, context in zip(self._decoder(), statement, strict=True):
            x, _ = layer.decode(x, context, mask)
        logits: Tensor = self.decoder_norm(x) @ self.token.weight.T
        return logits

    def step(
        self,
        token: Tensor,
        place: Tensor,
        statement: Sequence[KeyValue],
        mask: Tensor,
        past: Sequence[KeyValue | None],
    ) -> tuple[Tensor, list[KeyValue]]:
        """Tokens (batch, 1) at a place (1,) -> the log probabilities of the next, (batch, number of tokens), and the
        keys and values of all tokens so far."""
        x = self.token(token) + self.token_place(place)
        now = []
        for layer, context, before in zip(self._decoder(), statement, past, strict=True):
            x, key_value = layer.decode(x, context, mask, before)
            now.append(key_value)
        return (self.decoder_norm(x[:, 0]) @ self.token.weight.T).float().log_softmax(-1), now

    def _decoder(self) -> Iterator[DecoderLayer]:
        for layer in self.decoder:
            assert isinstance(layer, DecoderLayer)
            yield layer


class Reader(ProgramReader):
    """Reads with a network in torch, on any device.

    It writes a few tokens at a time; between these parts, statements whose programs are complete are left out. On a
    GPU parts are longer, so that the CPU is seldom waited for, and can be captured as graphs.
    """

    def __init__(self, network: ReaderNetwork, words: Sequence[str], tokens: Sequence[str], language: Language) -> None:
        """`words`: without padding and the unknown word, which come first."""
        super().__init__(network.config, words, tokens, language)
        self.network = network
        self.is_compact = False  # how it was stored
        is_on_gpu, device, last = self.device.type != "cpu", self.device, network.config.max_tokens - 1
        if is_on_gpu:
            self.group = GPU_GROUP
        self._places = torch.arange(network.config.max_tokens, device=device)
        self._arity, self._begins, self._ends = (
            torch.from_numpy(each).to(device) for each in (self._arities, self._is_program, self._is_end)
        )
        step = PLACES if is_on_gpu else 1
        parts = [range(start, min(start + step, last)) for start in range(1, last, step)]
        self._plain: Writing = self._begin, {part: partial(self._go_on, part) for part in parts}
        self._captured: Writing | None = None

    @property
    def device(self) -> torch.device:
        return self.network.token.weight.device

    def encode(self, statements: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Returns what `numbered` does, as tensors on the network's device."""
        words, ngrams = (torch.from_numpy(each).to(self.device) for each in self.numbered(statements))
        return words, ngrams

    def capture(self) -> None:
        """Lets a GPU write the programs of many statements with CUDA graphs, which needs weights that stay where they
        are."""
        begin, parts = self._plain
        self._captured = Captured(begin, self.device), {p: Captured(run, self.device) for p, run in parts.items()}

    @torch.inference_mode()
    def _write(self, words: Array, ngrams: Array, is_brief: Array) -> tuple[Array, Array, Array]:
        if self.network.training:
            self.network.eval()
        rows = every = np.arange(len(words))
        captured = self._captured if len(rows) >= MIN_ROWS else None
        begin, parts = captured or self._plain
        if captured:  # in few shapes: some statements are repeated, and all are padded
            every = np.resize(every, padded_count(len(rows)))
            longest = min(multiple(words.shape[1], WORDS), self.config.max_words)
            words = np.pad(words, ((0, 0), (0, longest - words.shape[1])))
            ngrams = np.pad(ngrams, ((0, 0), (0, longest - ngrams.shape[1]), (0, 0)))
        scores, *state = begin(torch.from_numpy(words[every]), torch.from_numpy(ngrams[every]))
        first, least = scores[: len(rows)].cpu().numpy(), np.ones(len(rows), np.float32)
        tokens, missing = self._begun(first, is_brief)
        token, lacking = (torch.from_numpy(each[every]).to(self.device) for each in (tokens[:, 0], missing))
        state = [token, lacking, torch.ones(len(every), device=self.device), *state]
        for part, go_on in parts.items():
            is_open = np.flatnonzero(missing >= 0)
            if not len(is_open):
                break
            if (count := padded_count(len(is_open)) if captured else len(is_open)) < len(state[0]):
                kept = torch.from_numpy(np.resize(is_open, count)).to(self.device)
                state, rows = [tensor[kept] for tensor in state], rows[is_open]
            written, *state = go_on(*state)
            tokens[rows, part.start : part.stop], missing, least[rows] = (
                tensor[: len(rows)].cpu().numpy() for tensor in (written, state[1], state[2])
            )
        return tokens, least, first

    def _begin(self, words: Tensor, ngrams: Tensor) -> Tensors:
        """(batch, place), (batch, place, n-gram) -> the log probabilities of the first token, and what `_go_on` needs:
        the mask, then keys and values of the statement and of the tokens so far, layer by layer."""
        statement, mask = self.network.encode(words.to(self.device).long(), ngrams.to(self.device).long())
        start = torch.full((len(words), 1), START, device=self.device)
        scores, past = self.network.step(start, self._places[:1], statement, mask, [None] * len(statement))
        return (scores, mask, *_flat(statement), *_flat(past))

    def _go_on(
        self, part: range, token: Tensor, missing: Tensor, least: Tensor, mask: Tensor, *keys_values: Tensor
    ) -> Tensors:
        """The last tokens (batch,); how many expressions their programs lack, -1 after the end; the least probability
        of a token so far -> the tokens at the places of `part` (batch, place), and the arguments for the next part."""
        pairs = list(zip(keys_values[::2], keys_values[1::2], strict=True))
        statement, past = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
        written = []
        for place in part:
            scores, past = self.network.step(token[:, None], self._places[place : place + 1], statement, mask, past)
            is_open = missing >= 0
            allowed = torch.where((missing > 0)[:, None], self._begins, self._ends)
            best, chosen = scores.masked_fill(~allowed, -torch.inf).max(1)
            token = chosen.masked_fill(~is_open, PAD)
            least = torch.minimum(least, best.exp()).where(is_open, least)
            missing = (missing + self._arity[token] - 1).masked_fill(~is_open | (token == END), -1)
            written.append(token)
        return (torch.stack(written, 1), token, missing, least, mask, *_flat(statement), *_flat(past))

    # ------------------------------------------------------------ files

    def save(self, path: Path, *, compact: bool | None = None) -> None:
        """Writes one file with all that is needed to use the reader: weights in half precision or, if `compact`,
        matrices in whole numbers of eight bits with a scale for each row, which takes half the space.

        One that was loaded is written as it was stored, without loss, unless `compact` says otherwise.
        """
        compact = self.is_compact if compact is None else compact
        world = to_tree(self.language.world)
        about: dict[str, object] = {"config": asdict(self.network.config), "words": self.words, "tokens": self.tokens}
        about |= {"world": world, **({"grammar": self.grammar} if self.grammar else {})}
        weights: dict[str, Tensor] = {}
        for name, tensor in self.network.state_dict().items():
            weight = tensor.detach().cpu().float()
            if compact and weight.dim() == 2:
                scale = (weight.abs().amax(1, keepdim=True) / 127).clamp(min=1e-7).half()
                weights |= {name: (weight / scale.float()).round().clamp(-127, 127).to(torch.int8), name + SCALE: scale}
            else:
                weights[name] = weight.half()
        files.write_bytes(path, save(weights, metadata={"reader": json.dumps(about)}))

    @classmethod
    def load(cls, path: Path, *, device: str = "cpu") -> Reader:
        """Loads the file that `save` wrote; raises InputError if it is another one."""
        try:
            about, config, stored = read_file(path)
            weights = {name: torch.from_numpy(weight).float() for name, weight in stored.items()}
            scales = [name for name in weights if name.endswith(SCALE)]
            for name in scales:
                weights[name.removesuffix(SCALE)] *= weights.pop(name)
            network = ReaderNetwork(config)
            network.load_state_dict(weights)
            reader = cls(network.to(device).eval(), about["words"], about["tokens"], language_of(about, path))
            reader.is_compact, reader.grammar = bool(scales), about.get("grammar")
            return reader
        except FILE_ERRORS as error:
            raise invalid_reader(path, error) from None


def _flat(pairs: Sequence[KeyValue]) -> Tensors:
    return tuple(tensor for pair in pairs for tensor in pair)
