"""The network of a reader: a transformer that writes the tokens of language/tokens.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional as F

from veriscene import files
from veriscene.data.reader import (
    DIALECT,
    END,
    MAX_NGRAMS,
    OUTSIDE,
    PAD,
    PLAIN,
    SCALE,
    SPECIAL_TOKENS,
    START,
    UNKNOWN,
    Array,
    ProgramReader,
    ReaderConfig,
    Reading,
    invalid_reader,
    language_of,
    ngrams_of,
    split_words,
)
from veriscene.language.language import Language
from veriscene.world.world_file import to_tree

__all__ = [
    "DIALECT",
    "END",
    "MAX_NGRAMS",
    "OUTSIDE",
    "PAD",
    "PLAIN",
    "SPECIAL_TOKENS",
    "START",
    "UNKNOWN",
    "Reader",
    "ReaderConfig",
    "ReaderNetwork",
    "Reading",
    "ngrams_of",
    "split_words",
]

KeyValue = tuple[Tensor, Tensor]  # (batch, head, place, dim / heads) each


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
        query = self._split(self.query(x))
        mask = None if mask is None else mask.to(query.dtype)
        found = F.scaled_dot_product_attention(query, *context, attn_mask=mask, is_causal=causal)
        attended: Tensor = self.out(found.transpose(1, 2).flatten(2))
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
        self.dropout = nn.Dropout(config.dropout)

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
        self.dropout = nn.Dropout(config.dropout)
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

    @torch.inference_mode()
    def write(self, words: Tensor, ngrams: Tensor, length: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the most probable tokens, one by one; the least probability of those after the first; and the log
        probabilities of all first tokens."""
        statement, mask = self.encode(words, ngrams)
        past: Sequence[KeyValue | None] = [None] * len(statement)
        token = torch.full((len(words), 1), START, device=words.device)
        least = torch.ones(len(words), device=words.device)
        is_open = torch.ones(len(words), dtype=torch.bool, device=words.device)
        found: list[Tensor] = []
        for place in torch.arange(length or self.config.max_tokens - 1, device=words.device)[:, None]:
            logits, past = self.step(token, place, statement, mask, past)
            best, chosen = logits.max(-1)
            if not found:
                first = logits
            else:
                least = torch.where(is_open, torch.minimum(least, best.exp()), least)
            chosen = torch.where(is_open, chosen, PAD)
            found.append(chosen)
            is_open = is_open & (chosen != END)
            token = chosen[:, None]
            if not is_open.any():
                break
        return torch.stack(found, 1), least, first

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

    @property
    def device(self) -> torch.device:
        return self.network.token.weight.device

    def encode(self, statements: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Returns what `numbered` does, as tensors on the network's device."""
        words, ngrams = (torch.from_numpy(each).to(self.device) for each in self.numbered(statements))
        return words, ngrams

    def write(self, words: Array, ngrams: Array) -> tuple[Array, Array, Array]:
        given = (torch.from_numpy(words).to(self.device), torch.from_numpy(ngrams).to(self.device))
        numbers, least, first = (each.cpu().numpy() for each in self.network.eval().write(*given))
        return numbers, least, first

    # ------------------------------------------------------------ files

    def save(self, path: Path, *, compact: bool = False) -> None:
        """Writes one file with all that is needed to use the reader: weights in half precision or, if `compact`,
        matrices in whole numbers of eight bits with a scale for each row, which takes half the space."""
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
            with safe_open(path, "pt") as stored:
                about: Any = files.parse_json(stored.metadata()["reader"])
                weights = {name: stored.get_tensor(name).float() for name in stored.keys()}  # noqa: SIM118
            for name in [name for name in weights if name.endswith(SCALE)]:
                weights[name.removesuffix(SCALE)] *= weights.pop(name)
            network = ReaderNetwork(_checked(ReaderConfig(**about["config"]), about, weights))
            network.load_state_dict(weights)
            language = language_of(about, path)
            return cls(network.to(device).eval(), about["words"], about["tokens"], language)
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OSError) as error:
            raise invalid_reader(path, error) from None


def _checked(config: ReaderConfig, about: Any, weights: Mapping[str, Tensor]) -> ReaderConfig:
    """Returns the sizes, if they are those of the file's weights: no memory is allocated for others."""
    names = (*about["words"], *about["tokens"])
    if (len(about["words"]) + 2, len(about["tokens"])) != (config.words, config.tokens) or not all(
        isinstance(name, str) for name in names
    ):
        raise ValueError("its words are not those of its weights")
    if not 0 < config.layers <= len(weights) or config.dim % config.heads:
        raise ValueError("its sizes are wrong")
    tables = {"word": config.words, "ngram": config.ngrams, "token": config.tokens}
    tables |= {"word_place": config.max_words, "token_place": config.max_tokens}
    are_stated = all(weights[f"{name}.weight"].shape == (size, config.dim) for name, size in tables.items())
    if not are_stated or config.feedforward * config.dim > sum(tensor.numel() for tensor in weights.values()):
        raise ValueError("its sizes are not those of its weights")
    if not all(bool(tensor.isfinite().all()) for tensor in weights.values()):
        raise ValueError("a weight is not finite")
    return config
