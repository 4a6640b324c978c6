"""A reader turns a statement into a program: a transformer writes the tokens of language/tokens.py.

A word is the sum of its own vector and those of its letter n-grams, so that a misspelt or unknown word is still near
the words that look like it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional as F

from veriscene import files, worlds
from veriscene.errors import InputError
from veriscene.language.language import Language
from veriscene.language.program import Program
from veriscene.language.tokens import program_of
from veriscene.world.world_file import to_tree, world_of

# The first token tells how a statement is worded: in plain English, in the dialect of the world's corpus, or as
# something that says nothing about a scene, and then no program follows.
PLAIN, DIALECT, OUTSIDE = "plain", "dialect", "outside"
PAD, START, END = 0, 1, 2  # of program tokens
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", PLAIN, DIALECT, OUTSIDE)
UNKNOWN = 1  # of words; 0 is padding
MAX_NGRAMS = 20  # of a word
SCALE = ".scale"  # after the name of a matrix in whole numbers
CACHED = 4096  # readings of the most recent statements
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:\.\d+)?|[^\w\s]")


def split_words(text: str) -> list[str]:
    """Returns the words, numbers and signs of a statement, in lower case."""
    return _WORD.findall(text.lower().replace("’", "'"))


@dataclass(frozen=True)
class ReaderConfig:
    """The sizes of a reader; `words` and `tokens` follow from what it is taught."""

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
        past: list[KeyValue | None] = [None] * len(statement)
        token = torch.full((len(words), 1), START, device=words.device)
        least = torch.ones(len(words), device=words.device)
        is_open = torch.ones(len(words), dtype=torch.bool, device=words.device)
        found: list[Tensor] = []
        for place in range(length or self.config.max_tokens - 1):
            x = self.token(token) + self.token_place.weight[place]
            for number, layer in enumerate(self._decoder()):
                x, past[number] = layer.decode(x, statement[number], mask, past[number])
            logits = (self.decoder_norm(x[:, 0]) @ self.token.weight.T).float().log_softmax(-1)
            best, chosen = logits.max(-1)
            if place == 0:
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

    def _decoder(self) -> Iterator[DecoderLayer]:
        for layer in self.decoder:
            assert isinstance(layer, DecoderLayer)
            yield layer


@dataclass(frozen=True)
class Reading:
    """What a reader understood. Without a program, it understood nothing that can be seen in a scene."""

    program: Program | None
    certainty: float  # probability of the least certain token of the program
    dialect: float  # probability that it is worded in the corpus's dialect,
    outside: float  # and that it is about something else


class Reader:
    """A network with its words, its tokens and the language of its programs."""

    def __init__(self, network: ReaderNetwork, words: Sequence[str], tokens: Sequence[str], language: Language) -> None:
        """`words`: without padding and the unknown word, which come first."""
        self.network, self.words, self.tokens, self.language = network, tuple(words), tuple(tokens), language
        self.numbers = {word: number for number, word in enumerate(words, 2)}
        self._known: dict[str, Reading] = {}
        self.is_compact = False  # how it was stored

    @property
    def device(self) -> torch.device:
        return self.network.token.weight.device

    def knows(self, word: str) -> bool:
        """Whether it was taught the word; signs and numbers count as known."""
        return not any(letter.isalpha() for letter in word) or all(part in self.numbers for part in split_words(word))

    def read(self, statements: Sequence[str]) -> list[Reading]:
        """Returns what each statement says. The most recent readings are cached."""
        if len(self._known) > CACHED:
            self._known.clear()
        if new := [text for text in dict.fromkeys(statements) if text not in self._known]:
            self._known |= zip(new, self._read(new), strict=True)
        return [self._known[text] for text in statements]

    def encode(self, statements: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """(batch, place), (batch, place, n-gram): the numbers of the words of each statement, and of their n-grams."""
        longest = max(1, *map(len, statements))
        words = torch.zeros(len(statements), longest, dtype=torch.long)
        ngrams = torch.zeros(len(statements), longest, MAX_NGRAMS, dtype=torch.long)
        for row, statement in enumerate(statements):
            for place, word in enumerate(statement):
                words[row, place] = self.numbers.get(word, UNKNOWN)
                ngrams[row, place] = torch.tensor(ngrams_of(word, self.network.config.ngrams))
        return words.to(self.device), ngrams.to(self.device)

    def _read(self, statements: Sequence[str]) -> list[Reading]:
        split = [split_words(text)[: self.network.config.max_words] for text in statements]
        numbers, certainty, first = self.network.eval().write(*self.encode(split))
        dialect, outside = (first[:, SPECIAL_TOKENS.index(style)].exp().tolist() for style in (DIALECT, OUTSIDE))
        return [
            Reading(self._program(row), *shares)
            for row, *shares in zip(numbers.tolist(), certainty.tolist(), dialect, outside, strict=True)
        ]

    def _program(self, numbers: list[int]) -> Program | None:
        if END not in numbers:
            return None
        tokens = [self.tokens[number] for number in numbers[1 : numbers.index(END)]]
        try:
            return program_of(tokens, self.language)
        except InputError:
            return None

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
            with safe_open(path, "pt") as stored:
                about: Any = files.parse_json(stored.metadata()["reader"])
                weights = {name: stored.get_tensor(name).float() for name in stored.keys()}  # noqa: SIM118
            scales = [name for name in weights if name.endswith(SCALE)]
            for name in scales:
                weights[name.removesuffix(SCALE)] *= weights.pop(name)
            network = ReaderNetwork(_checked(ReaderConfig(**about["config"]), about, weights))
            network.load_state_dict(weights)
            language = worlds.language(world_of(about["world"], where=str(path)))
            reader = cls(network.to(device).eval(), about["words"], about["tokens"], language)
            reader.is_compact = bool(scales)
            return reader
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OSError) as error:
            what = f"is no reader ({next(iter(str(error).splitlines()), type(error).__name__)!r:.80})"
            raise InputError(what, where=path, allowed="give a file that `veriscene train-reader` wrote") from None


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
