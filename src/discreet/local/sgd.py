"""Local gradient descent: T groups of different people; each person clips its own gradient and reports once.

The server never sees a gradient. It publishes parameters, a group of people answers with one private report each, the
server takes a step along the estimated mean, and the next group is asked. So every person spends the law's epsilon,
once, whatever the number of steps. Averaging gradients on the server and adding noise there is not this: the server
would have seen them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.local.law import LocalMechanism, local_mechanisms
from discreet.local.reports import Reports
from discreet.mechanisms.sampling.uniform import Floats

Gradient = Callable[[Floats, Any], Floats]  # parameters and records in, one row for each record out
KIND = "local task"


@dataclass(frozen=True)
class Plan:
    """What is public before anybody is asked: who is in which group, the law, and the steps.

    Person i of ``people``, in a public order, is in group i // ``group``; those beyond ``steps`` groups are not asked.
    Step t goes ``rate`` / sqrt(t + 1) along the estimated gradient, and stays in the ball of ``reach`` if one is given.

    Proof: groups are disjoint and fixed in advance, and a client answers once, so a person's record enters one report,
    of cost epsilon. What earlier groups reported chooses the parameters, which are public by then; parallel composition.
    """

    law: LocalMechanism
    people: int
    steps: int
    group: int
    start: tuple[float, ...]
    rate: float = 1.0
    reach: float | None = None

    def __post_init__(self) -> None:
        for name in ("people", "steps", "group"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidRequest(f"{name} must be a whole number of at least 1, got {value!r}")
        if self.steps * self.group > self.people:
            raise InvalidRequest(
                f"steps times group must be at most the number of people, got {self.steps} times {self.group} > "
                f"{self.people}; nobody may report twice: take fewer steps or smaller groups"
            )
        dimension = getattr(self.law, "dimension", None)
        if dimension != len(self.start):
            raise InvalidRequest(
                f"the law must have one dimension for each parameter, got {dimension} for {len(self.start)}"
            )
        if not self.rate > 0 or not math.isfinite(self.rate):
            raise InvalidRequest(f"rate must be positive, got {self.rate}")

    def step_of(self, person: int) -> int | None:
        """The step at which a person is asked, or None."""
        step = person // self.group
        return step if person >= 0 and step < self.steps else None

    def cost(self) -> Cost:
        """What each person spends."""
        return self.law.cost()


@dataclass(frozen=True)
class Task:
    """What the server publishes at a step: the parameters, and the law to report a gradient with."""

    step: int
    parameters: tuple[float, ...]
    law: LocalMechanism

    def to_json(self) -> str:
        head = {"kind": KIND, "schema": SCHEMA_VERSION, "step": self.step}
        return json.dumps(head | {"parameters": list(self.parameters), "law": self.law.to_dict()})

    @staticmethod
    def from_json(text: str | bytes) -> Task:
        try:
            doc = json.loads(text)
            check_version(doc, KIND)
            return Task(int(doc["step"]), tuple(map(float, doc["parameters"])), local_mechanisms.read(doc["law"]))
        except (ValueError, KeyError, TypeError) as problem:
            raise UnsupportedFormat(f"a task needs step, parameters and law, got {text!r:.60}") from problem


class Client:
    """One person: a record that stays here, and the one report that leaves.

    ``most_epsilon`` is what its owner agreed to: a task that asks for more is refused, whatever the server says. It has
    no default, because without it a server could ask for 64, which tells everything.
    """

    def __init__(self, person: int, record: Any, gradient: Gradient, most_epsilon: Number) -> None:
        self.person = person
        self._record, self._gradient = record, gradient
        self._most = numbers.positive(most_epsilon, "most_epsilon")
        self._answered = False

    def answer(self, task: Task, *, seed: int | Random | None = None) -> Reports:
        """The clipped gradient at the task's parameters, through the law. Only once."""
        if self._answered:
            raise InvalidRequest("a client answers once, and this one has; a second report would spend epsilon again")
        if task.law.epsilon > self._most:
            raise InvalidRequest(
                f"epsilon must be at most {float(self._most):g}, as agreed, got {float(task.law.epsilon):g}"
            )
        self._answered = True
        gradient = self._gradient(np.array(task.parameters), np.asarray(self._record)[None])
        return task.law.reports(gradient, seed=seed).named([self.person])


class Server:
    """Parameters and reports; no records and no gradients. ``task`` is public, ``receive`` takes reports."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.step = 0
        self.path: list[Floats] = [np.array(plan.start, np.float64)]
        self.private = True
        self._parts: list[Reports] = []
        self._heard: set[int] = set()

    @property
    def finished(self) -> bool:
        return self.step >= self.plan.steps

    def task(self) -> Task:
        """What the group of this step is asked."""
        return Task(self.step, tuple(self.path[-1].tolist()), self.plan.law)

    def receive(self, reports: Reports) -> None:
        """Reports of people of this step's group, each once. The step is taken when all have been heard."""
        self.plan.law.require(reports.mechanism)
        if reports.people is None:
            raise InvalidRequest("reports to a server must name their person; use named([person])")
        people = [_place(p) for p in reports.people.tolist()]
        for person in people:
            if self.plan.step_of(person) != self.step or self.finished:
                raise InvalidRequest(f"person {person} is not in the group of step {self.step}; ask the plan when it is due")
        if len(set(people) - self._heard) < len(people):
            raise InvalidRequest("every person reports once, got somebody twice; drop the later report and find out why")
        self._parts.append(reports)
        self._heard |= set(people)
        if len(self._heard) == self.plan.group:
            self.advance()

    def advance(self) -> None:
        """Take the step with those who have been heard. The others of the group are not asked again."""
        found = self.plan.law.estimate(self._parts)
        self.private &= found.private
        moved = self.path[-1] - self.plan.rate / math.sqrt(self.step + 1) * np.asarray(found.value)
        length = float(np.sqrt(np.square(moved).sum()))
        if self.plan.reach is not None and length > self.plan.reach:
            moved *= self.plan.reach / length
        self.path.append(moved)
        self._parts, self._heard = [], set()
        self.step += 1

    def rule(self, classes: Sequence[Any] = (-1, 1), bounds: tuple[float, float] | None = None) -> LinearRule:
        """What predicts, for parameters that are the coefficients of a linear score of two classes."""
        return LinearRule(tuple(self.parameters.tolist()), tuple(classes), self.plan.cost(), self.private, bounds)

    @property
    def parameters(self) -> Floats:
        """The average of the later half of the path: its noise is lower than that of the last point."""
        average: Floats = np.mean(self.path[len(self.path) // 2 :], axis=0)
        return average


@dataclass(frozen=True)
class LinearRule:
    """A classifier learnt from local reports: the sign of <w, x>, positive for the second class; each person paid ``cost``.

    ``bounds`` are those that features are clipped to, where the people clipped theirs. Judge it on private rows with
    ``discreet.models.confusion_matrix`` or ``roc_curve``.
    """

    coefficients: tuple[float, ...]
    classes: tuple[Any, ...]
    cost: Cost
    private: bool = True
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if len(self.classes) != 2 or self.classes[0] == self.classes[1]:
            raise InvalidRequest(f"a linear rule has two different classes, got {list(self.classes)}")

    def decision_function(self, X: Any) -> Floats:
        """The score of each row."""
        x = np.asarray(X, np.float64)
        if x.ndim != 2 or x.shape[1] != len(self.coefficients):
            raise InvalidRequest(f"X must have one column for each of {len(self.coefficients)} coefficients, got {x.shape}")
        clipped = x if self.bounds is None else np.clip(x, *self.bounds)
        score: Floats = np.zeros(len(x))
        for column, coefficient in enumerate(self.coefficients):  # each row by the same operations wherever it stands
            score += clipped[:, column] * coefficient
        return score

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        return np.array(self.classes)[(self.decision_function(X) > 0).astype(int)]


def _place(person: Any) -> int:
    """The place of a person in the plan's order, which is its name here."""
    try:
        return int(person)
    except ValueError:
        raise InvalidRequest(f"a person must be named by its place in the plan, got {person!r:.60}") from None


def local_sgd(
    records: Sequence[Any] | Floats,
    gradient: Gradient,
    law: LocalMechanism,
    *,
    start: Sequence[float],
    steps: int,
    group: int | None = None,
    rate: float = 1.0,
    reach: float | None = None,
    seed: int | Random | None = None,
) -> Server:
    """A whole run in one process: the people of each group report, the server sees their reports only.

    ``gradient(parameters, records)`` gives one row for each record; the law clips it (to its bounds, or to its radius).
    Returns the server, with ``parameters``, ``path`` and ``rule()``, which predicts.
    """
    rows = np.asarray(records)
    size = len(rows) // steps if group is None and steps >= 1 else group or 0
    server = Server(Plan(law, len(rows), steps, size, tuple(map(float, start)), rate, reach))
    while not server.finished:
        task = server.task()
        mine = slice(server.step * size, (server.step + 1) * size)
        sent = task.law.reports(gradient(np.array(task.parameters), rows[mine]), seed=seed)
        server.receive(sent.named(range(mine.start, mine.stop)))
        # A seed that is a number would give every group the same noise.
        seed = None if seed is None else seed if isinstance(seed, Random) else seed + 1
    return server


def logistic_gradient(parameters: Floats, records: Floats) -> Floats:
    """The gradient of ln(1 + exp(-y <w, x>)) for records (x, y) with y = -1 or 1 in the last place."""
    x, y = records[:, :-1], records[:, -1]
    margin = y * (x @ parameters)
    weight = -y / (1 + np.exp(np.clip(margin, -700.0, 700.0)))
    result: Floats = weight[:, None] * x
    return result
