"""The network of a reader: a transformer that writes the tokens of language/tokens.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional as F

from veriscene import files
from veriscene.data.reader import (
    FILE_ERRORS,
    PAD,
    SCALE,
    Array,
    ProgramReader,
    ReaderConfig,
    invalid_reader,
    language_of,
    read_file,
)
from veriscene.language.language import Language
from veriscene.world.world_file import to_tree

KeyValue = tuple[Tensor, Tensor]  # (batch, head, place, dim / heads) each
# What each layer attends to, which words are padding, and the keys and values of the tokens so far.
State = tuple[Sequence[KeyValue], Tensor, Sequence[KeyValue | None]]
GPU_GROUP = 2048  # statements that a GPU reads together


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
    """A pre-norm layer of self-attention and a feed-forward network."""

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
    """A reader whose network runs in torch, on any device."""

    def __init__(self, network: ReaderNetwork, words: Sequence[str], tokens: Sequence[str], language: Language) -> None:
        """`words`: without padding and the unknown word, which come first."""
        super().__init__(network.config, words, tokens, language)
        self.network = network
        if self.device.type != "cpu":
            self.group = GPU_GROUP
        self.is_compact = False  # how it was stored

    @property
    def device(self) -> torch.device:
        return self.network.token.weight.device

    def encode(self, statements: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Returns what `numbered` does, as tensors on the network's device."""
        words, ngrams = (torch.from_numpy(each).to(self.device) for each in self.numbered(statements))
        return words, ngrams

    @torch.inference_mode()
    def begin(self, words: Array, ngrams: Array) -> State:
        if self.network.training:
            self.network.eval()
        given = (torch.from_numpy(each).to(self.device) for each in (words, ngrams))
        statement, mask = self.network.encode(*given)
        return statement, mask, [None] * len(statement)

    @torch.inference_mode()
    def step(self, token: Array, place: int, state: State) -> tuple[Array, State]:
        statement, mask, past = state
        given = torch.from_numpy(token).to(self.device)[:, None]
        scores, now = self.network.step(given, torch.tensor([place], device=self.device), statement, mask, past)
        return scores.cpu().numpy(), (statement, mask, now)

    @torch.inference_mode()
    def keep(self, state: State, rows: Array) -> State:
        statement, mask, past = state
        kept = torch.from_numpy(rows).to(self.device)
        before = [None if each is None else (each[0][kept], each[1][kept]) for each in past]
        return [(key[kept], value[kept]) for key, value in statement], mask[kept], before

    # ------------------------------------------------------------ files

    def save(self, path: Path, *, compact: bool | None = None) -> None:
        """Writes one file with all that is needed to use the reader: weights in half precision or, if `compact`,
        matrices in whole numbers of eight bits with a scale for each row, which takes half the space.

        One that was loaded is written as it was stored, without loss, unless `compact` says otherwise.
        """
        compact = self.is_compact if compact is None else compact
        world = to_tree(self.language.world)
        about = {"config": asdict(self.network.config), "words": self.words, "tokens": self.tokens, "world": world}
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
            reader.is_compact = bool(scales)
            return reader
        except FILE_ERRORS as error:
            raise invalid_reader(path, error) from None
