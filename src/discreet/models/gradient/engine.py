"""Private gradient descent: one charge for all steps, then a noisy sum over a random lot of people at each.

A step is theta - (size of step) / (q n0) (sum of clipped gradients + N(0, (z C)^2 I)), with q n0 the public expected
size of a lot, not its own size, which is private. A lot may be empty; noise is added all the same.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from discreet.accounting.banded import BITS, Turns, best_turns, coefficients
from discreet.accounting.lots import Lots, noise_multiplier
from discreet.core import numbers
from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism
from discreet.core.query import Relation
from discreet.core.release import Entry, Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms import Gaussian, NoNoise
from discreet.models.design import Design
from discreet.models.gradient.banded_gradient import TURNED_SLACK, BandedGradient
from discreet.models.gradient.lot_gradient import SLACK
from discreet.models.gradient.network import LARGEST_WEIGHT
from discreet.models.gradient.optimizers import Momentum, Optimizer
from discreet.models.gradient.steps import StepSize
from discreet.models.gradient.trainable import StepQuery, Trainable

Iterate = Literal["last", "average"]
AHEAD = 64  # steps paid in one transaction: what a crash between two of them can lose


@dataclass(frozen=True)
class Run:
    """Everything that is public about a run before it begins.

    ``expected_rows`` is n0, a public guess of the number of people; ``rate`` is q, ``steps`` is T. ``noise`` is z, found
    for the target (``epsilon``, ``delta``); both are None where no noise is asked for, which only a test ledger allows.
    """

    design: Design | None
    network: Trainable
    rate: Fraction
    steps: int
    clip: Fraction
    sizes: StepSize
    expected_rows: int
    relation: Relation
    epsilon: Fraction | None
    delta: Fraction | None
    noise: Fraction | None
    ridge: float = 0.0
    momentum: float = 0.0
    optimizer: Optimizer | None = None
    iterate: Iterate = "last"
    radius: float | None = None
    start: int = 0
    turns: Turns | None = None

    def __post_init__(self) -> None:
        if isinstance(self.expected_rows, bool) or not isinstance(self.expected_rows, int) or self.expected_rows < 1:
            raise InvalidRequest(f"expected_rows must be a whole number of at least 1, got {self.expected_rows!r}")
        plain = Momentum(self.momentum)
        if self.optimizer is None:
            object.__setattr__(self, "optimizer", plain)
        elif self.momentum and self.optimizer != plain:
            raise InvalidRequest(f"momentum is for plain descent, got {self.momentum} and {self.optimizer}; leave one out")
        if self.ridge < 0:
            raise InvalidRequest(f"ridge must not be negative, got {self.ridge}")
        if self.iterate not in ("last", "average"):
            raise InvalidRequest(f"iterate must be 'last' or 'average', got {self.iterate!r}")

    @staticmethod
    def within(
        design: Design | None,
        network: Trainable,
        *,
        epsilon: Any,
        delta: Any,
        lot: int,
        steps: int,
        clip: Any,
        sizes: StepSize,
        expected_rows: int,
        relation: Relation,
        noise: Fraction | None = None,
        turns: Turns | None = None,
        **rest: Any,
    ) -> Run:
        """The run of lots of ``lot`` expected people with the least noise that the target allows, unless it is known.

        With ``turns`` lots are parts of the people, and the noise of steps is correlated.
        """
        rate = lot_rate(lot, expected_rows)
        exact_clip = numbers.positive(clip, "clip")
        if isinstance(epsilon, float) and epsilon == float("inf"):
            return Run(design, network, rate, steps, exact_clip, sizes, expected_rows, relation, None, None, None, **rest)
        if delta is None:
            raise InvalidRequest("private gradient descent needs delta beside epsilon; give one, such as 1e-6")
        e, d = numbers.positive(epsilon, "epsilon"), numbers.probability(delta, "delta")
        if turns is not None:
            rate = Fraction(1, turns.parts)
        if noise is None:
            noise = noise_multiplier(e, d, rate, steps, relation) if turns is None else turned_noise(e, d, turns, relation)
        rest["turns"] = turns
        return Run(design, network, rate, steps, exact_clip, sizes, expected_rows, relation, e, d, noise, **rest)

    @property
    def law(self) -> Mechanism:
        """The noise of one step. Its grid is a power of two far below the scale."""
        if self.noise is None:
            return NoNoise(Fraction(1, 1 << 40))
        return Gaussian(self.noise * self.clip * (1 + (SLACK if self.turns is None else TURNED_SLACK)))

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the noise in each number of a sum of gradients."""
        if self.noise is None:
            return 0.0
        spread = 1.0 if self.turns is None else float(np.sqrt(np.sum(self.turns.inverse**2)))
        return float(self.noise * self.clip) * spread

    @property
    def lots(self) -> Lots | None:
        """What the accountant sees."""
        if self.noise is None:
            return None
        if self.turns is not None:  # one Gaussian release of C G as a whole
            return Lots(Fraction(1), 1, self.noise / self.turns.sensitivity, self.relation)
        return Lots(self.rate, self.steps, self.noise, self.relation)

    @property
    def question(self) -> StepQuery:
        """What every step asks."""
        made = self.network.question(self.design, self.clip, float(self.rate * self.expected_rows))
        return made if self.turns is None else BandedGradient(made, self.turns.band)

    @property
    def cost(self) -> Cost:
        """What all steps cost together."""
        lots = self.lots
        return Cost.infinite() if lots is None else lots.cost(self.epsilon or 0, self.delta or 0)


@dataclass(eq=False)
class State:
    """Where a run stands: how many steps it has taken, the parameters, and what the next step needs of the last ones.

    ``private`` is whether the noise of all steps so far was, ``ledger`` the name of the one that paid, and ``left`` the
    number of steps that are still to be taken.
    """

    step: int
    flat: Any
    velocity: Any
    total: Any
    square: Any
    account: Account | None = None
    private: bool = True
    ledger: str = ""
    left: int = 0

    @staticmethod
    def fresh(run: Run) -> State:
        flat = run.network.start(run.start)
        return State(0, flat, np.zeros_like(flat), np.zeros_like(flat), np.zeros_like(flat))


@dataclass(frozen=True, eq=False)
class Trained:
    """The parameters that a run ended with, how it was run, and by what noise.

    ``steps`` are those taken: a run that was broken off may have lost some that were paid ahead. ``entry`` is where the
    ledger wrote the one charge, None where there is none.
    """

    run: Run
    flat: Any
    steps: int
    cost: Cost
    private: bool
    account: Account
    entry: Entry | None = None


Watch = Callable[[Run, State], None]


def descend(
    run: Run, state: State | None = None, watch: Watch | None = None, extra: Cost | None = None
) -> Procedure[Trained]:
    """Take the steps of a run; ``state`` continues one that was broken off, ``watch`` sees it paid and then every step.

    Proof: the account was paid ``run.cost``, which ``Lots`` proves for exactly this sequence: each step is one ask of a
    the same gradient at the run's rate under the run's law. All the rest is a function of releases and public numbers.
    """
    question, law = run.question, run.law
    cost = run.cost
    plan = Ask(question, law, rate=run.rate, turns=run.turns is not None)
    plain = _Plain(run.turns)
    state = State.fresh(run) if state is None else state
    if state.account is None:
        state.account = yield Open(cost, plan=plan, steps=run.steps)
        left = run.steps
    else:
        left = yield Reopen(state.account, plan, run.steps - state.step)
    assert state.account is not None
    state.left = left
    if watch is not None and state.account.seal:  # a ledger paid: what was paid for is kept before the first step
        watch(run, state)
    scale = 1.0 / float(run.rate * run.expected_rows)
    for place in range(left):
        ahead = min(AHEAD, left - place)
        release: Release = yield Ask(
            question.at(state.flat), law, state.account, run.rate, ahead, turns=run.turns is not None
        )
        state.private = state.private and release.private
        _move(run, state, plain.sum_of(release.value), scale)
        if release.entry is not None:  # else it was made up, for a plan
            state.ledger, state.left = release.entry.ledger, left - place - 1
            if watch is not None:
                watch(run, state)
    later = state.step - min(state.step, run.steps // 2)
    flat = state.total / later if run.iterate == "average" and later else state.flat
    entry = Entry(state.ledger, state.account.number, state.account.seal) if state.account.seal else None
    private = state.private and cost.is_finite
    return Trained(run, flat, state.step, cost if extra is None else cost + extra, private, state.account, entry)


class _Plain:
    """From releases C G + Z back to G + C^-1 Z, row by row: g_t = released_t - sum over j from 1 on of c_j g_(t-j)."""

    def __init__(self, turns: Turns | None) -> None:
        self._weights = () if turns is None else tuple(c * 2.0**-BITS for c in coefficients(turns.band)[1:])
        self._last: deque[Any] = deque(maxlen=max(1, len(self._weights)))

    def sum_of(self, released: Any) -> Any:
        made = released
        for weight, earlier in zip(self._weights, self._last, strict=False):
            made = made - weight * earlier
        self._last.appendleft(made)
        return made


def turned_noise(epsilon: Fraction, delta: Fraction, turns: Turns, relation: Relation) -> Fraction:
    """The noise of Z over the clip norm: one Gaussian release of ``turns.sensitivity``, twice that under replace."""
    return noise_multiplier(epsilon, delta, 1, 1, relation) * turns.sensitivity


def better_turns(
    epsilon: Any, delta: Any, lot: int, steps: int, expected_rows: int, relation: Relation
) -> tuple[Turns | None, float, float]:
    """Turns where their noise in the path is less than that of random lots, else None; and both, in clip norms.

    What is compared is the root mean square over steps of the noise in a prefix sum: for random lots z sqrt((T + 1) / 2).
    """
    e, d = numbers.positive(epsilon, "epsilon"), numbers.probability(delta, "delta")
    turns = turns_of(lot, steps, expected_rows)
    random = float(noise_multiplier(e, d, lot_rate(lot, expected_rows), steps, relation)) * math.sqrt((steps + 1) / 2)
    turned = float(noise_multiplier(e, d, 1, 1, relation)) * turns.error
    return (turns if turned < random else None), random, turned


def turns_of(lot: int, steps: int, expected_rows: int) -> Turns:
    """People in parts of about ``lot`` expected rows."""
    return best_turns(max(1, round(1 / lot_rate(lot, expected_rows))), steps)


def _move(run: Run, state: State, noisy: Any, scale: float) -> None:
    """One step along a noisy sum; the parameters stay within the ball of ``radius``, and within the doubles."""
    direction = noisy * scale
    if run.ridge:
        direction += (run.ridge / run.expected_rows) * state.flat
    assert run.optimizer is not None
    direction = run.optimizer.direction(direction, state.velocity, state.square, state.step, run.deviation * scale)
    flat = state.flat - run.sizes.at(state.step) * direction
    if run.radius is not None:
        length = float(np.sqrt(flat @ flat))
        if length > run.radius:
            flat *= run.radius / length
    np.clip(flat, -LARGEST_WEIGHT, LARGEST_WEIGHT, out=flat)
    state.flat = flat
    if run.iterate == "average" and state.step >= run.steps // 2:
        state.total += flat  # the later half of the path: the noise averages out, the start is forgotten
    state.step += 1


def lot_rate(lot: int, expected_rows: int) -> Fraction:
    """The rate at which lots hold ``lot`` people of ``expected_rows`` on average."""
    if isinstance(lot, bool) or not isinstance(lot, int) or lot < 1:
        raise InvalidRequest(f"lot_size must be a whole number of at least 1, got {lot!r}")
    if lot > expected_rows:
        raise InvalidRequest(
            f"lot_size must be at most expected_rows, got {lot} of {expected_rows}; a lot of all of them has rate 1"
        )
    return Fraction(lot, expected_rows)
