"""The modules of a neural module network, on maps (…, cell) with values in [0, 1]: how much each cell belongs.

Maps are fuzzy sets of cells, so modules without words have no weights. Cells are those of a square grid, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from veriscene.config import choice, number, share, size
from veriscene.data.batch import Batch, Layouts, required
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.language.module_layout import MAX_LAYOUTS, Module
from veriscene.models.base import Judgement
from veriscene.models.layers.geometry import at_least
from veriscene.models.layers.recurrence import BiLSTM, last_outputs
from veriscene.models.vision.backbone import GRID
from veriscene.models.vision.feature_maps import FeatureMapConfig, FeatureMapModel
from veriscene.world.schema import World

MOST_COUNTED = 5  # larger counts are told apart only by the linear term


def displacements() -> Tensor:
    """(7, source, target): whether a target stands in each of seven relations to a source, along one axis.

    With d = target - source: before (d < 0), just before (-3 to -1), equal, near (-1 to 1), just after, after, any.
    The centres of two neighbouring blocks of a tower are two cells apart.
    """
    d = torch.arange(GRID)[None, :] - torch.arange(GRID)[:, None]
    relations = [d < 0, (d < 0) & (d >= -3), d == 0, d.abs() <= 1, (d > 0) & (d <= 3), d > 0, d.abs() < GRID]
    return torch.stack(relations).float()


class Relate(nn.Module):
    """Finds the places that stand in a relation to the cells of a map: a vertical and a horizontal displacement, each a
    mixture of seven that the relation's words choose."""

    kernels: Tensor

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.register_buffer("kernels", displacements(), persistent=False)
        self.choose = nn.Linear(size, 2 * len(self.kernels))

    def forward(self, words: Tensor, maps: Tensor) -> Tensor:
        """words (batch, size), maps (batch, …, cell) -> (batch, …, cell)."""
        vertical, horizontal = self.choose(words).unflatten(-1, (2, -1)).softmax(dim=-1).unbind(dim=-2)
        return self.moved(vertical, horizontal, maps)

    def moved(self, vertical: Tensor, horizontal: Tensor, maps: Tensor) -> Tensor:
        """With the given mixtures (batch, 7)."""
        by_rows = torch.einsum("bk,kst->bst", vertical, self.kernels)
        by_columns = torch.einsum("bk,kst->bst", horizontal, self.kernels)
        grids = maps.reshape(len(maps), -1, GRID, GRID)
        related: Tensor = by_rows.transpose(1, 2)[:, None] @ grids @ by_columns[:, None]
        return related.clamp(max=1).reshape(maps.shape)


class Surroundings(nn.Module):
    """Counts the objects above, below, left and right of each cell, in its own row or column and those next to it.

    It tells the top block of a tower from the others.
    """

    kernels: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kernels", displacements(), persistent=False)

    def forward(self, presence: Tensor) -> Tensor:
        """(…, cell) -> (…, cell, 4)."""
        before, _, _, near, _, after, _ = self.kernels.unbind()
        grids = presence.reshape(*presence.shape[:-1], GRID, GRID)
        near_columns, near_rows = grids @ near, near.T @ grids
        counts = [after.T @ near_columns, before.T @ near_columns, near_rows @ after, near_rows @ before]
        return torch.stack(counts, dim=-1).flatten(-3, -2)


# ---------------------------------------------------------------- nmn

# NMN: a neural module network, whose modules are put together by the structure of the statement. All examples of a
# batch run the same steps: a step computes every module and selects by the module's number, so shapes are static.
# Maps never depend on verdicts, so all FINDs run at once, then the other maps step by step, then all COUNTs. Every
# map exists in several heads, each with its own idea of every word. True and false scenes mostly hold the same items
# in other places, so words must be learned in combination, which more random maps to start from make likelier.

SHARPNESS, THRESHOLD = 20.0, 0.3  # of an object's contrast, relative to the largest in the scene
PREFERENCE = 2.0  # initially, for the first to choose from: the max of box scores, and the layout that rules prefer
COUNTED = 3  # maps: what a COUNT is about, what it leaves of its second map, and what it leaves of all objects


POOLING = (
    "How boxes become a verdict: one layer on the max, mean and min of what is known of them; or one score for each box"
    " and the max of the scores, or what the words of the quantity choose of their max, mean and min."
)
LAYOUTS = (
    "Layouts of a statement that are judged. The verdict is their mean, weighted by what the model makes of the words"
    " and of their modules."
)
WORDS = "What modules read of their words: embeddings, or a BiLSTM's states, which know the words around them."


@dataclass(frozen=True)
class NMNConfig(FeatureMapConfig):
    name: str = "nmn"
    embedding: int = size(32)
    cell: int = size(24, "Width of the vector of a cell.")
    heads: int = number(8, 1, 1024, "Maps of each step.")
    spread: float = number(0.5, 0.0, 10.0, "Standard deviation of the initial queries.")
    hidden: int = size(96)
    verdict: int = size(32, "Width of what is known before the verdict.")
    dropout: float = share(0.0)
    pooling: str = choice("joint", ("joint", "max", "chosen"), POOLING)
    words: str = choice("embeddings", ("embeddings", "states"), WORDS)
    layouts: int = number(1, 1, MAX_LAYOUTS, LAYOUTS)


class NMN(FeatureMapModel):
    Config = NMNConfig
    summary = "NMN: find, relate, count and decide, assembled by the statement's structure"
    inputs = frozenset({Input.PIXELS, Input.LAYOUT})

    config: NMNConfig
    coordinates: Tensor

    def __init__(self, config: NMNConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)

        def mlp(inputs: int, outputs: int, bias: bool = True) -> nn.Sequential:
            first, last = nn.Linear(inputs, config.hidden), nn.Linear(config.hidden, outputs, bias)
            return nn.Sequential(first, nn.ReLU(), nn.Dropout(config.dropout), last)

        self.heads = config.heads
        self.dropout = nn.Dropout(config.dropout)
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.embed_cells = nn.Linear(self.channels, config.cell)
        self.correct = nn.Linear(config.cell, 1)
        self.surroundings = Surroundings()
        self.describe = mlp(config.cell + 4 + 2, config.cell)
        queries = config.heads * (config.cell + 1)  # each with a bias
        self.queries = nn.Embedding(len(vocabulary), queries, padding_idx=PADDING)
        width, self.lang_lstm = config.embedding, None
        if config.words == "states":
            width, self.lang_lstm = 2 * config.hidden, BiLSTM(config.embedding, config.hidden, config.dropout)
            self.queries_in_context = nn.Linear(width, queries)
        self.relate = Relate(size=width)
        self.count = mlp(COUNTED * config.heads * (MOST_COUNTED + 1) + width, config.verdict)
        self.decide = mlp((3 if config.pooling == "joint" else 1) * config.verdict + 2 * width, 1)
        if config.pooling == "chosen":
            self.choose = nn.Linear(2 * width, 3)
            nn.init.zeros_(self.choose.weight)
            self.choose.bias.data = torch.tensor([PREFERENCE, 0.0, 0.0])
        if config.layouts > 1:
            self.weigh = mlp(width + len(Module) - 1, 1, bias=False)
            self.preference = nn.Parameter(torch.tensor([PREFERENCE] + [0.0] * (config.layouts - 1)))
        nn.init.normal_(self.queries.weight, std=config.spread)
        nn.init.zeros_(self.correct.weight)
        nn.init.zeros_(self.correct.bias)
        axis = torch.linspace(-1, 1, GRID)
        coordinates = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), dim=-1).flatten(0, 1)
        self.register_buffer("coordinates", coordinates, persistent=False)

    def layers_on_maps(self) -> tuple[nn.Module, None]:
        return self.embed_cells, None

    def forward(self, batch: Batch) -> Judgement:
        statement, count = batch.statement, self.config.layouts
        layouts = required(batch.layout).map(lambda tensor: tensor[:, :count])
        layout = layouts.map(lambda tensor: tensor.flatten(0, 1))  # (batch x layout, step, …), as all that follows
        embedded = self.dropout(self.embed_words(statement.words))
        queries = self.queries(statement.words)  # (batch, word, head x (cell + 1))
        if self.lang_lstm is None:
            words, whole = embedded, mean_over(statement.mask[:, None], embedded)[:, 0]
        else:
            words = self.lang_lstm(embedded, statement.lengths)
            queries, whole = queries + self.queries_in_context(words), last_outputs(words, statement.lengths)
        cells, presence = self.look(batch)
        spans, steps = layouts.spans.flatten(1, 2), layout.modules.shape
        phrases = mean_over(spans, words).view(*steps, -1)
        found = self.find_all(spans, queries, cells, presence)  # (batch, layout x step, …): queries are computed once
        maps = self.relate_all(layout, phrases, found.view(*steps, *found.shape[2:]))
        presence, said = (each[:, None].expand(-1, count, *each.shape[1:]).flatten(0, 1) for each in (presence, whole))
        verdicts = self.combine(layout, self.count_all(layout, phrases, maps, presence))
        quantity = (phrases * (layout.modules == Module.DECIDE)[..., None]).sum(dim=1)
        judgement = self.pool(verdicts, torch.cat([quantity, said], dim=-1))
        return judgement if count == 1 else self.weighted(judgement.logits.view(-1, count), layouts.modules, whole)

    def weighted(self, logits: Tensor, modules: Tensor, whole: Tensor) -> Judgement:
        """p(y | s, o) = sum_z p(z | s) p(y | z, o) over the layouts z (batch, layout, step) of a statement."""
        kinds = torch.arange(1, len(Module), device=modules.device)  # all but NOTHING
        numbers = (modules[..., None] == kinds).sum(dim=2)  # (batch, layout, module): how many of each
        said = whole[:, None].expand(-1, logits.size(1), -1)
        scores = self.weigh(torch.cat([said, numbers.to(said.dtype)], dim=-1)).squeeze(-1) + self.preference
        is_missing = (modules == Module.NOTHING).all(dim=2)
        log_p = scores.masked_fill(is_missing, -torch.inf).log_softmax(dim=-1)
        true, false = ((log_p + logsigmoid(sign * logits)).logsumexp(dim=-1) for sign in (1, -1))
        return Judgement(logits=true - false)

    def pool(self, verdicts: Tensor, said: Tensor) -> Judgement:
        """DECIDE: verdicts (batch, box, verdict), and what was said of boxes and in all (batch, 2 width)."""
        # Boxes have no order (the corpus shuffles them), so pooling must be symmetric.
        if self.config.pooling == "joint":
            boxes = [verdicts.amax(dim=1), verdicts.mean(dim=1), verdicts.amin(dim=1)]
            return Judgement(logits=self.decide(torch.cat([*boxes, said], dim=-1)).squeeze(-1))
        said_of_each = said[:, None].expand(-1, verdicts.size(1), -1)
        scores = self.decide(torch.cat([verdicts, said_of_each], dim=-1)).squeeze(-1)  # (batch, box)
        if self.config.pooling == "max":
            return Judgement(logits=scores.amax(dim=1), scores=scores)
        pooled = torch.stack([scores.amax(dim=1), scores.mean(dim=1), scores.amin(dim=1)], dim=-1)
        return Judgement(logits=(self.choose(said).softmax(dim=-1) * pooled).sum(dim=-1))

    def look(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sees each cell (batch, box, cell, size), and whether an object is centred there (batch, box, cell)."""
        seen = self.embed_cells(self.cells(batch))
        presence = self.objects(seen)
        coordinates = self.coordinates.expand(*presence.shape, -1)
        cells = seen + self.describe(torch.cat([seen, self.surroundings(presence), coordinates], dim=-1))
        # The same units are dropped in all cells, so that cells stay comparable.
        return cells * self.dropout(torch.ones_like(cells[:, :1, :1])), presence

    def objects(self, seen: Tensor) -> Tensor:
        """Says whether an object is centred in each cell: (batch, box, cell, size) -> (batch, box, cell), in [0, 1].

        Most cells of a box are empty, so its median cell is background, and what differs from it most is an object. A
        linear correction of this guess is learned.
        """
        background = seen.detach().median(dim=2, keepdim=True).values
        contrast = (seen - background).square().sum(dim=-1)
        contrast = contrast / contrast.detach().amax(dim=(1, 2), keepdim=True).clamp(min=1e-6)
        correction: Tensor = self.correct(seen).squeeze(-1)
        return (SHARPNESS * (contrast - THRESHOLD) + correction).sigmoid()

    def find_all(self, spans: Tensor, queries: Tensor, cells: Tensor, presence: Tensor) -> Tensor:
        """FIND for every step: the objects that fit every word of its span, (batch, step, box, head, cell)."""
        batch, length, _ = queries.shape
        asked, bias = queries.view(batch, length * self.heads, -1).tensor_split([cells.size(-1)], dim=-1)
        scores = asked @ cells.flatten(1, 2).transpose(1, 2) + bias
        fits = logsigmoid(scores).reshape(batch, length, -1)  # (batch, word, head * box * cell)
        found: Tensor = (spans.to(fits.dtype) @ fits).exp()
        found = found.view(batch, -1, self.heads, *presence.shape[1:]).transpose(2, 3)
        return presence[:, None, :, None] * found

    def relate_all(self, layout: Layouts, phrases: Tensor, found: Tensor) -> Tensor:
        """Returns the map of every step, (batch, step, box, head, cell); it has no meaning for a verdict."""
        maps = [found[:, 0]]
        for step in range(1, found.size(1)):
            a, b = arguments(layout, step, maps)
            outcome = found[:, step]
            for module, value in (
                (Module.RELATE, self.relate(phrases[:, step], a)),
                (Module.AND, a * b),
                (Module.OR, a + b - a * b),
                (Module.EXCEPT, a * (1 - b)),
            ):
                chosen = (layout.modules[:, step] == module)[:, None, None, None]
                outcome = torch.where(chosen, value, outcome)
            maps.append(outcome)
        return torch.stack(maps, dim=1)

    def count_all(self, layout: Layouts, phrases: Tensor, maps: Tensor, presence: Tensor) -> Tensor:
        """COUNT and COUNT_ALL for every step: the logarithm of a verdict's truth, (batch, step, box, verdict)."""
        sizes = maps.sum(dim=-1)  # (batch, step, box, head)
        rows = torch.arange(len(sizes), device=sizes.device)[:, None]
        of_map, of_whole = (sizes[rows, layout.arguments[..., number]] for number in range(2))
        of_all = presence.sum(dim=-1)[:, None, :, None]
        counts = torch.cat([of_map, of_whole - of_map, of_all - of_map], dim=-1)
        is_global = (layout.modules == Module.COUNT_ALL)[:, :, None, None]
        counts = torch.where(is_global, counts.sum(dim=2, keepdim=True), counts)
        words = phrases[:, :, None].expand(*counts.shape[:3], -1)
        return logsigmoid(
            self.count(torch.cat([at_least(counts, MOST_COUNTED).flatten(3), counts / MOST_COUNTED, words], dim=-1))
        )

    def combine(self, layout: Layouts, counted: Tensor) -> Tensor:
        """Returns DECIDE's verdict, (batch, box, verdict), after every BOTH: truths multiply, so logarithms add."""
        verdicts, final = [counted[:, 0]], counted[:, 0]
        for step in range(1, counted.size(1)):
            a, b = arguments(layout, step, verdicts)
            module = layout.modules[:, step, None, None]
            verdicts.append(torch.where(module == Module.BOTH, a + b, counted[:, step]))
            final = torch.where(module == Module.DECIDE, a, final)
        return final


def arguments(layout: Layouts, step: int, outcomes: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Returns the two arguments of a step, for each example, among the outcomes of the steps before."""
    earlier = torch.stack(outcomes, dim=1)
    numbers = layout.arguments[:, step].view(-1, 2, *[1] * (earlier.dim() - 2)).expand(-1, -1, *earlier.shape[2:])
    a, b = earlier.gather(1, numbers).unbind(dim=1)
    return a, b


def mean_over(spans: Tensor, words: Tensor) -> Tensor:
    """Averages the words of each span, zero for an empty one: (batch, step, word), (batch, word, dim)."""
    weights = spans.to(words.dtype)
    return weights @ words / weights.sum(dim=-1, keepdim=True).clamp(min=1)
