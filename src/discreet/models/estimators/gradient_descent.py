"""What models fitted by private gradient descent share: how long, how far, with how much noise, and from where on."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from discreet.accounting.banded import Turns
from discreet.accounting.lots import Lots
from discreet.core import numbers
from discreet.core.ask import Account
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation, check_relation
from discreet.core.release import Entry, Release
from discreet.core.runner import Desk, Procedure
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design
from discreet.models.estimators.privacy import Privacy
from discreet.models.estimators.private_model import LossModel
from discreet.models.gradient import checkpoint as checkpoints
from discreet.models.gradient.clip_quantile import ClipQuantile, clip_norm, left_of
from discreet.models.gradient.engine import Run, State, Trained, Watch, better_turns, descend, turns_of
from discreet.models.gradient.network import Network
from discreet.models.gradient.optimizers import Optimizer
from discreet.models.gradient.steps import StepSize, step_size
from discreet.models.gradient.trainable import Trainable
from discreet.models.losses import Loss
from discreet.models.protocol import Columns
from discreet.sources import open_source

METHOD = "gradient descent"
LOT = 256
_SECONDS = 3.0  # between two checkpoints
_SHARE = 20  # and at least so many times as long as one took, so that large networks are not held up


@dataclass(frozen=True)
class DescentPrivacy(Privacy):
    """What a descent cost: the claim, the noise multiplier, the rate and number of its lots, and the accountant's curve."""

    run: Run | None = None
    account: Account | None = None  # where a ledger keeps it
    taken: int = 0
    entry: Entry | None = None  # the one charge

    @property
    def noise(self) -> float:
        """z: the deviation of the noise over the clip norm."""
        return math.nan if self.run is None or self.run.noise is None else float(self.run.noise)

    @property
    def rate(self) -> float:
        """q: the probability that a person is in a lot."""
        return math.nan if self.run is None else float(self.run.rate)

    @property
    def steps(self) -> int:
        """The number of lots that the model was made of."""
        return self.taken

    @property
    def lost(self) -> int:
        """How many more were paid for, and lost when a run was broken off."""
        return 0 if self.run is None else self.run.steps - self.taken

    @property
    def lots(self) -> Lots | None:
        """What the accountant sees."""
        return None if self.run is None else self.run.lots

    @cached_property
    def curve(self) -> list[tuple[float, float]]:
        """(delta, epsilon) of the whole fit, a clip norm that was bought included: every pair of them holds."""
        beside = sum(float(r.cost.epsilon) for r in self.releases if r.cost is not None and r.cost.epsilon is not None)
        return [] if self.lots is None else [(d, (e + beside) * (1 + 2.0**-50)) for d, e in self.lots.curve()]

    @cached_property
    def path_noise(self) -> dict[str, float]:
        """What ``lots="best"`` compares: the noise in the path with either kind of lots, in clip norms.

        The root mean square over steps of the noise in what the steps so far add up to. Nothing where there is no noise.
        """
        run = self.run
        if run is None or run.epsilon is None:
            return {}
        lot = round(run.rate * run.expected_rows)
        _, drawn, turned = better_turns(run.epsilon, run.delta, lot, run.steps, run.expected_rows, run.relation)
        return {"lots drawn at random": drawn, "people in turns": turned}

    def __str__(self) -> str:
        lost = f" and {self.lost} paid for and lost" if self.lost else ""
        turned = "" if self.run is None or self.run.turns is None else f", people in turns, {self.run.turns.band} bands"
        lots = f"noise multiplier {self.noise:.4g}, rate {self.rate:.4g}, {self.steps} steps{lost}{turned}"
        paid = "" if self.account is None or not self.account.seal else f", paid by account {self.account.number}"
        return f"{super().__str__()} ({lots}{paid})"


@dataclass(kw_only=True, eq=False, repr=False)
class Descends(LossModel):
    """The parameters of a descent, for estimators that mix it in.

    ``expected_rows`` is the public guess of the number of rows (the schema's by default; under replace the number
    itself). A lot holds ``lot_size`` rows on average (256, or all of fewer); ``epochs`` is how often a row is met on
    average, unless ``steps`` is given. ``clip`` is the public norm to which a person's gradient is shortened, or a
    ``ClipQuantile``. ``learning_rate`` is a number, a step size such as ``Cosine`` or ``InverseRoot``, or "auto".
    ``optimizer`` is ``Adam()``, or None for descent with ``momentum``. ``lots`` are "random", or people are cut into parts
    that take "turns", with noise that is correlated over steps; "best" takes whichever has less noise. ``iterate`` is "last"
    or "average" (of the later half of the path). ``checkpoint`` is a file that keeps the run from the moment it is paid
    for, then every few seconds, and every ``checkpoint_every`` steps where that is given; a fit that finds it there goes on
    from it with the account it was paid by, so it needs a ledger, and the same ``data_version`` for arrays in memory. Steps
    are paid 64 at a time: those that a crash loses stay lost, and ``privacy_.steps`` says how many were taken.
    """

    ridge: Number = 0.0
    expected_rows: int | None = None
    lot_size: int | None = None
    epochs: float = 10
    steps: int | Literal["theorem"] | None = None
    clip: Any = 1.0
    learning_rate: Any = "auto"
    momentum: float = 0.0
    optimizer: Any = None
    iterate: Literal["last", "average"] = "average"
    lots: Literal["random", "turns", "best"] = "random"
    checkpoint: Any = None
    checkpoint_every: int | None = None
    data_version: str | None = None
    verbose: bool = False

    @classmethod
    def with_noise(
        cls, noise: Number, *, delta: Number, expected_rows: int, neighbors: Relation = "add_remove", **parameters: Any
    ) -> Self:
        """A model whose ``epsilon`` is what this noise multiplier costs over its lots and steps, at ``delta``; not fitted.

        The fit then takes the least noise for that epsilon, which is the one given to a few parts in ten thousand.
        """
        made = cls(epsilon=1, delta=delta, expected_rows=expected_rows, neighbors=neighbors, **parameters)
        if isinstance(made.clip, ClipQuantile):
            raise InvalidRequest("a clip norm that is bought has a price of its own; give clip a number beside a noise")
        expected, lot, steps = made.settings(None)
        lots = Lots(Fraction(lot, expected), steps, numbers.positive(noise, "noise"), check_relation(neighbors))
        found = lots.epsilon(delta)
        if not math.isfinite(found):
            raise InvalidRequest(
                f"a noise multiplier of {noise} promises no finite epsilon at delta {delta}; take more noise"
            )
        made.set_params(epsilon=math.ceil(found * 1e6) / 1e6)
        return made

    def _expected(self, columns: Columns | None) -> int:
        declared: tuple[int | None, ...] = () if columns is None else (columns.schema.expected_rows, columns.rows)
        if columns is not None and columns.parts > 1 and columns.rows is not None:
            return columns.rows
        for known in (self.expected_rows, *declared):
            if known is not None:
                return known if columns is None or columns.parts == 1 else max(1, -(-known // columns.parts))
        raise InvalidRequest(
            f"{type(self).__name__} needs expected_rows, a public guess of the number of rows (under replace the number "
            "itself, which is public there); give one",
            key="expected_rows",
        )

    def _declarations(self) -> list[Callable[[], Any]]:
        return [*super()._declarations(), self._check_expected]

    @property
    def price(self) -> Price:
        """What a fit may cost."""
        if self.epsilon is None or (self.delta is None and self.epsilon != math.inf):
            missing = [word for word in ("epsilon", "delta") if getattr(self, word) is None]
            raise InvalidRequest(
                f"{type(self).__name__} descends with normal noise and needs epsilon and delta beside it, got no "
                f"{' and no '.join(missing)}; neither has a default",
                key=missing[0],
            )
        return super().price

    def _check_expected(self) -> None:
        """Arrays under replace say their number of rows themselves."""
        if self.neighbors != "replace":
            self._expected(None)

    @property
    def _optimizer(self) -> Optimizer | None:
        if self.optimizer is None or isinstance(self.optimizer, Optimizer):
            return self.optimizer
        raise InvalidRequest(f"optimizer must be Adam(...) or None for descent with momentum, got {self.optimizer!r:.60}")

    def _turns(self, epsilon: Any, lot: int, steps: int, expected: int, relation: Relation) -> Turns | None:
        """Parts of the people in turns, where they are asked for or have less noise; None for lots drawn at random."""
        if self.lots not in ("random", "turns", "best"):
            raise InvalidRequest(f"lots must be 'random', 'turns' or 'best', got {self.lots!r}")
        if self.lots == "random":
            return None
        if self.checkpoint is not None:
            raise InvalidRequest(
                "a run whose people take turns keeps exact sums of its last lots, which are written nowhere, so it cannot "
                "go on from a checkpoint; use lots='random', or no checkpoint"
            )
        if self.lots == "turns" or self.delta is None or epsilon == math.inf:
            return turns_of(lot, steps, expected)
        return better_turns(epsilon, self.delta, lot, steps, expected, relation)[0]

    @property
    def _public_clip(self) -> float:
        """The clip norm, or 1 for one that is still to be bought."""
        return 1.0 if isinstance(self.clip, ClipQuantile) else float(numbers.positive(self.clip, "clip"))

    def settings(self, columns: Columns | None) -> tuple[int, int, int]:
        """Expected rows, expected size of a lot, and steps."""
        expected = self._expected(columns)
        lot = min(LOT, expected) if self.lot_size is None else self.lot_size
        if isinstance(self.steps, str):
            raise InvalidRequest(f"steps must be a whole number, or 'theorem' for GRPUA, got {self.steps!r}")
        if self.steps is not None:
            return expected, lot, self.steps
        if isinstance(self.epochs, bool) or not isinstance(self.epochs, int | float) or not self.epochs > 0:
            raise InvalidRequest(f"epochs must be positive, got {self.epochs!r}")
        return expected, lot, max(1, math.ceil(self.epochs * expected / max(lot, 1)))

    def _sizes(self, scale: float, clip: float, design: Design | None, columns: Columns, relation: Relation) -> StepSize:
        """The sizes of the steps; "auto" is ``scale`` over the clip norm."""
        return step_size(self.learning_rate, scale=scale / clip)

    def _descend(
        self, design: Design | None, network: Trainable, columns: Columns, relation: Relation, scale: float, **rest: Any
    ) -> Procedure[tuple[Trained, tuple[Release, ...]]]:
        """Buy the clip norm where it is to be bought, then descend, or go on with what a checkpoint holds."""
        _ = self.price
        assert self.epsilon is not None
        expected, lot, steps = self.settings(columns)
        asked = self.clip if isinstance(self.clip, ClipQuantile) else None
        epsilon = self.epsilon if asked is None else left_of(self.epsilon, asked)
        path = None if self.checkpoint is None else Path(self.checkpoint)
        if path is not None:
            checkpoints.check_place(path)
        kept = checkpoints.load(path) if path is not None and path.exists() else None

        turns = self._turns(epsilon, lot, steps, expected, relation)

        def run_at(clip: Any, noise: Fraction | None = None) -> Run:
            sizes = self._sizes(scale, float(numbers.positive(clip, "clip")), design, columns, relation)
            return Run.within(
                design, network, epsilon=epsilon, delta=self.delta, lot=lot, steps=steps, clip=clip, sizes=sizes,
                expected_rows=expected, relation=relation, momentum=self.momentum, optimizer=self._optimizer,
                iterate=self.iterate, noise=noise, turns=turns, **rest,
            )  # fmt: skip

        bought: Release | None = None
        state: State | None = None
        if kept is not None and path is not None:
            run = run_at(kept[0].clip if asked is not None else self.clip, kept[0].noise)
            checkpoints.check_same(path, kept[0], run)
            state, bought = kept[1], kept[2]
        elif asked is not None:
            assert design is not None
            assert isinstance(network, Network)
            run_at(1)  # refuses what it would refuse later before anything is paid
            clip, bought = yield from clip_norm(asked, design, network, relation, rest.get("start", 0))
            run = run_at(clip)
        else:
            run = run_at(self.clip)
        with self._watching(run, path, bought) as watch:
            trained: Trained = yield from descend(run, state, watch, None if bought is None else bought.cost)
        return trained, () if bought is None else (bought,)

    def _descend_linear(self, design: Design, loss: Loss, columns: Columns, relation: Relation) -> Procedure[dict[str, Any]]:
        """A linear model is a network of one layer without a bias: the fields of what was fitted."""
        ridge = numbers.non_negative(self.ridge, "ridge")
        network = Network((design.width, 1), loss, bias=False)
        # The inverse of the curvature of the mean loss, the largest step that cannot overshoot; for the clip norm of 1.
        scale = self._public_clip / (float(loss.curvature * design.most_weight) + float(ridge) / self._expected(columns))
        trained, bought = yield from self._descend(design, network, columns, relation, scale, ridge=float(ridge))
        return {
            "design": design,
            "theta": trained.flat,
            "ridge": ridge,
            "method": METHOD,
            "rows": columns.rows,
            "releases": bought,
            "descent": privacy_of(trained, bought, relation, ridge),
        }

    @contextlib.contextmanager
    def _watching(self, run: Run, path: Path | None, bought: Release | None) -> Iterator[Watch | None]:
        """Keeps the run on the disk now and then, and shows how far it is; steps are public."""
        every = self.checkpoint_every
        if path is not None and every is not None and (isinstance(every, bool) or not isinstance(every, int) or every < 1):
            raise InvalidRequest(f"checkpoint_every must be a whole number of at least 1, or None, got {every!r}")
        bar, due = self._bar(run), -math.inf

        def watch(run: Run, state: State) -> None:
            nonlocal due
            asked = every is not None and state.step % every == 0
            if path is not None and (asked or not state.left or time.monotonic() >= due):
                began = time.monotonic()
                checkpoints.save(path, run, state, bought)
                ended = time.monotonic()
                due = ended + max(_SECONDS, _SHARE * (ended - began))
            if bar is not None:
                bar.update(bar.task_ids[0], completed=state.step)

        with bar if bar is not None else contextlib.nullcontext():
            yield None if path is None and bar is None else watch

    def _bar(self, run: Run) -> Any:
        if not self.verbose:
            return None
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(file=sys.stderr))
        bar.add_task("steps", total=run.steps)
        return bar

    def desk(self, table: Mapping[str, Any], schema: Schema) -> Desk:
        desk = super().desk(table, schema)
        if self.data_version is None:
            return desk
        return replace(desk, source=open_source(table, schema, version=self.data_version))


def privacy_of(trained: Trained, bought: tuple[Release, ...], relation: Relation, ridge: Fraction) -> DescentPrivacy:
    """What a fit by descent says of its price."""
    private = trained.private and all(r.private for r in bought)
    return DescentPrivacy(
        trained.cost, relation, private, METHOD, float(ridge), bought, trained.run, trained.account,
        trained.steps, trained.entry,
    )  # fmt: skip
