"""A transformer that reads a statement and writes its program, as the tokens of language/tokens.py.

A word is the sum of its own vector and those of its letter n-grams, so that a misspelt or unknown word is still near the
words that look like it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PAD, START, END = 0, 1, 2  # of program tokens
UNKNOWN = 1  # of words; 0 is padding
MAX_NGRAMS = 20  # of a word


@dataclass(frozen=True)
class ReaderConfig:
    words: int
    tokens: int
    dim: int = 256
    heads: int = 8
    feedforward: int = 1024
    layers: int = 4
    dropout: float = 0.1
    ngrams: int = 8192
    max_words: int = 64
    max_tokens: int = 96


@lru_cache(maxsize=200_000)
def ngrams_of(word: str, buckets: int) -> tuple[int, ...]:
    """Returns the hashed letter n-grams of a word, of two to four letters; 0 is padding."""
    marked = f"<{word}>"
    found = [marked[at : at + n] for n in (3, 4, 2) for at in range(len(marked) - n + 1)]
    numbers = [1 + crc32(each.encode()) % (buckets - 1) for each in dict.fromkeys(found)][:MAX_NGRAMS]
    return tuple(numbers + [0] * (MAX_NGRAMS - len(numbers)))


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def keys_values(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, place, dim) -> two of (batch, head, place, dim / heads)."""
        key, value = self.key_value(context).chunk(2, dim=-1)
        return self._split(key), self._split(value)

    def forward(self, x: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        found = F.scaled_dot_product_attention(self._split(self.query(x)), key, value, attn_mask=mask, is_causal=causal)
        return self.out(found.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Layer(nn.Module):
    """A pre-norm layer; with `cross`, it also attends to the statement."""

    def __init__(self, config: ReaderConfig, *, cross: bool) -> None:
        super().__init__()
        dim = config.dim
        self.attention_norm, self.attention = nn.LayerNorm(dim), Attention(dim, config.heads)
        if cross:
            self.cross_norm, self.cross = nn.LayerNorm(dim), Attention(dim, config.heads)
        self.norm = nn.LayerNorm(dim)
        self.expand, self.contract = nn.Linear(dim, config.feedforward), nn.Linear(config.feedforward, dim)
        self.dropout = nn.Dropout(config.dropout)

    def feed(self, x: Tensor) -> Tensor:
        return x + self.dropout(self.contract(self.dropout(F.gelu(self.expand(self.norm(x))))))  # type: ignore[no-any-return]


class Reader(nn.Module):
    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.config, dim = config, config.dim
        self.word = nn.Embedding(config.words, dim, padding_idx=0)
        self.ngram = nn.Embedding(config.ngrams, dim, padding_idx=0)
        self.word_place = nn.Embedding(config.max_words, dim)
        self.token = nn.Embedding(config.tokens, dim, padding_idx=PAD)
        self.token_place = nn.Embedding(config.max_tokens, dim)
        self.encoder = nn.ModuleList(Layer(config, cross=False) for _ in range(config.layers))
        self.decoder = nn.ModuleList(Layer(config, cross=True) for _ in range(config.layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.dropout = nn.Dropout(config.dropout)
        for embedding in (self.word, self.ngram, self.word_place, self.token, self.token_place):
            nn.init.normal_(embedding.weight, std=0.02 if embedding is self.token else 0.05)

    def encode(self, words: Tensor, ngrams: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, place), (batch, place, n-gram) -> the statement's vectors, and a mask that is 0 or -inf."""
        is_word = ngrams[..., 0] != 0
        count = (ngrams != 0).sum(-1, keepdim=True).clamp_min(1)
        x = self.word(words) + self.ngram(ngrams).sum(-2) / count.to(self.ngram.weight.dtype).sqrt()
        x = self.dropout(x + self.word_place.weight[: words.size(1)])
        mask = torch.zeros_like(is_word, dtype=x.dtype).masked_fill(~is_word, -1e4)[:, None, None]
        for layer in self.encoder:
            y = layer.attention_norm(x)
            x = x + layer.dropout(layer.attention(y, *layer.attention.keys_values(y), mask.to(y.dtype)))
            x = layer.feed(x)
        return self.encoder_norm(x), mask

    def forward(self, words: Tensor, ngrams: Tensor, tokens: Tensor) -> Tensor:
        """(batch, place), (batch, place, n-gram), (batch, token) -> (batch, token, number of tokens): the logits of the
        token after each one."""
        memory, mask = self.encode(words, ngrams)
        x = self.dropout(self.token(tokens) + self.token_place.weight[: tokens.size(1)])
        for layer in self.decoder:
            y = layer.attention_norm(x)
            x = x + layer.dropout(layer.attention(y, *layer.attention.keys_values(y), None, causal=True))
            y = layer.cross_norm(x)
            x = x + layer.dropout(layer.cross(y, *layer.cross.keys_values(memory), mask.to(y.dtype)))
            x = layer.feed(x)
        return self.decoder_norm(x) @ self.token.weight.T

    @torch.inference_mode()
    def write(self, words: Tensor, ngrams: Tensor, length: int | None = None) -> tuple[Tensor, Tensor]:
        """The most probable program, token by token, and its log probability."""
        memory, mask = self.encode(words, ngrams)
        cross = [layer.cross.keys_values(memory) for layer in self.decoder]
        past: list[tuple[Tensor, Tensor] | None] = [None] * len(self.decoder)
        token = torch.full((len(words), 1), START, device=words.device)
        total = torch.zeros(len(words), device=words.device)
        is_open = torch.ones(len(words), dtype=torch.bool, device=words.device)
        found = []
        for place in range(length or self.config.max_tokens - 1):
            x = self.token(token) + self.token_place.weight[place]
            for number, layer in enumerate(self.decoder):
                y = layer.attention_norm(x)
                key, value = layer.attention.keys_values(y)
                if (before := past[number]) is not None:
                    key, value = torch.cat([before[0], key], 2), torch.cat([before[1], value], 2)
                past[number] = key, value
                x = x + layer.attention(y, key, value, None)
                x = x + layer.cross(layer.cross_norm(x), *cross[number], mask.to(x.dtype))
                x = layer.feed(x)
            logits = (self.decoder_norm(x[:, 0]) @ self.token.weight.T).float().log_softmax(-1)
            best, token = logits.max(-1)
            total += best * is_open
            token = torch.where(is_open, token, PAD)
            found.append(token)
            is_open &= token != END
            token = token[:, None]
            if not is_open.any():
                break
        return torch.stack(found, 1), total
