"""How many people a private test needs, what it finds with those there are, and what that costs: without any data.

For a score with mean a n, sampling variance s n and noise of variance v, a test at alpha has power 1 - beta where (a n)**2 =
z**2 (s n + v), z = z(1 - alpha/2) + z(1 - beta): n = (z**2 s + sqrt(z**4 s**2 + 4 a**2 z**2 v)) / 2 a**2. Tests of
several groups and of tables are chi-squared, with the non-centrality of their statistic at the expected counts.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import drawing
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation, check_relation
from discreet.core.schema import Categories, Integer, Real, Schema
from discreet.errors import InvalidRequest
from discreet.hypotheses.logrank import log_rank
from discreet.hypotheses.reading import check_alternative
from discreet.statistics.equation import noise_variance
from discreet.statistics.question import Question, Table, builder

if TYPE_CHECKING:
    import matplotlib.axes


_MOST = 1e12  # people
EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True)
class Power:
    """People, effect and power that belong together; one of the three was worked out.

    ``without_privacy`` is the same number for a test without noise. ``people`` says whom n counts.
    """

    test: str
    effect: float
    n: int
    power: float
    without_privacy: float
    sought: str
    people: str
    alpha: float
    asked: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        bare = f"{self.without_privacy:.4g}"
        words = {
            "n": f"{self.n} {self.people} find an effect of {self.effect:g} with probability {self.power:g}",
            "power": f"{self.n} {self.people} find an effect of {self.effect:g} with probability {self.power:.3f}",
            "effect": f"{self.n} {self.people} find an effect of {self.effect:.4g} with probability {self.power:g}",
        }[self.sought]
        return f"{self.test}: {words} at a level of {self.alpha:g} ({self.sought} without privacy: {bare})"

    def plot(self, axes: matplotlib.axes.Axes | None = None, epsilons: Sequence[float] = EPSILONS) -> matplotlib.axes.Axes:
        """What was sought as a curve over epsilon, beside the same without privacy; returns the Matplotlib axes."""
        axes = drawing.new_axes(axes)
        asked = {k: v for k, v in self.asked.items() if k not in ("epsilon", "delta", "rho")}
        found = [getattr(power(epsilon=e, **asked), self.sought) for e in epsilons]
        axes.plot(epsilons, found, marker="o", label=f"{self.test}, private")
        axes.axhline(self.without_privacy, ls=":", color="grey", label="without privacy")
        axes.set_xscale("log")
        drawing.plain_ticks(axes.xaxis)
        if self.sought == "n":
            axes.set_yscale("log")
            drawing.plain_ticks(axes.yaxis)
        axes.set_xlabel("epsilon")
        axes.set_ylabel({"n": self.people, "power": "power", "effect": "smallest effect"}[self.sought])
        given = {
            "n": f"effect {self.effect:.4g}, power {self.power:g}",
            "power": f"effect {self.effect:.4g}, {self.n} {self.people}",
            "effect": f"power {self.power:g}, {self.n} {self.people}",
        }[self.sought]
        axes.set_title(f"{self.test} at a level of {self.alpha:g}\n{given}")
        axes.legend()
        return axes


@dataclass(frozen=True)
class _Design:
    """What a test needs to be known for: the power that an effect has with n people."""

    power_at: Callable[[float, float], float]  # (effect, n)
    people: str
    largest: float
    smallest: float = 0.0

    def least_effect(self, n: float, wanted: float) -> float:
        """The smallest effect that n people find with the power wanted."""
        return _least(lambda effect: self.power_at(effect, n) >= wanted, self.smallest, self.largest)

    def least_people(self, effect: float, wanted: float) -> float:
        """The fewest people that find an effect with the power wanted."""
        return _least(lambda n: self.power_at(effect, n) >= wanted, 1.0, _MOST)


def power(
    test: str,
    *,
    effect: float | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    n: int | None = None,
    power: float | None = None,
    alpha: float = 0.05,
    alternative: str = "two-sided",
    neighbors: Relation = "add_remove",
    **facts: Any,
) -> Power:
    """The people needed to find ``effect`` with probability ``power`` (.8), the power at ``n``, or the smallest effect.

    Give the effect (then n is sought), the effect and n (the power), or n (the smallest effect). Effects and further facts:

    - ``ttest_1samp``, ``ttest_rel``, ``ttest_ind``: a difference of means, with ``sd`` and ``bounds`` (0 to 1 unless given);
      n of ``ttest_ind`` is the size of a group;
    - ``f_oneway``: one of ``groups`` means that differs from all others, with ``bounds`` and ``sd``; n a group;
    - ``binomtest``: a difference from the share ``p`` (.5);
    - ``mannwhitneyu``: P(X > Y) - 1/2, or with ``sd`` a shift of normal values; two groups of n/2 each; ``kruskal``: the
      same for one of ``groups`` groups of n/groups each;
    - ``wilcoxon``: the rank-biserial correlation: the share of pairs whose mean is above the centre less that below;
    - ``chisquare``: Cohen's w over ``cells`` even cells; ``chi2_contingency``: over a table of ``shape`` cells;
    - ``logrank``: a hazard ratio, with ``events`` the share of people who have the event, in ``bins`` (10); n in all.
    """
    if test not in _DESIGNS:
        raise InvalidRequest(f"no power is known for {test!r}; known: {', '.join(sorted(_DESIGNS))}")
    for name, value in {"effect": effect, "n": n, "power": power, "alpha": alpha, **_numbers_in(facts)}.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
            raise InvalidRequest(f"{name} must be a number, got {value!r}")
    if not 0 < alpha < 1:
        raise InvalidRequest(f"alpha must lie strictly between 0 and 1, got {alpha}")
    asked: dict[str, Any] = {"test": test, "effect": effect, "epsilon": epsilon, "delta": delta, "rho": rho, "n": n,
                             "power": power, "alpha": alpha, "alternative": alternative, "neighbors": neighbors,
                             **facts}  # fmt: skip
    wanted = 0.8 if power is None else power
    if not alpha < wanted < 1:
        raise InvalidRequest(f"power must lie between the level {alpha} and 1, got {wanted}")
    if effect is not None and n is not None and power is not None:
        raise InvalidRequest("give two of effect, n and power, and the third is worked out; got all three")
    if effect is None and n is None:
        raise InvalidRequest("give an effect to find, or n people, or both; got neither")
    if n is not None and (isinstance(n, bool) or n < 2):
        raise InvalidRequest(f"n must be at least 2, got {n}")
    prices = Price(epsilon=epsilon, delta=delta, rho=rho), Price(epsilon=math.inf)
    tail = alpha / 2 if check_alternative(alternative) == "two-sided" else alpha
    known = [name for name in inspect.signature(_DESIGNS[test]).parameters if name != "setting"]
    for name in facts:
        if name not in known:
            raise InvalidRequest(f"the power of {test} takes no {name!r}; it takes {', '.join(known) or 'nothing more'}")
    designs = [_DESIGNS[test](_Setting(price, check_relation(neighbors), tail, alpha), **facts) for price in prices]
    design = designs[0]
    if effect is not None and not design.smallest < abs(effect) <= design.largest:
        inverse = "; of a hazard ratio below 1 give its inverse" if design.smallest == 1 else ""
        raise InvalidRequest(
            f"an effect of {test} lies above {design.smallest:g} and up to {design.largest:g}, got {effect}{inverse}"
        )
    if effect is None:
        assert n is not None
        found = [d.least_effect(n, wanted) for d in designs]
        return Power(test, found[0], n, wanted, found[1], "effect", design.people, alpha, asked)
    if n is not None:
        ours, bare = (d.power_at(effect, n) for d in designs)
        return Power(test, effect, n, ours, bare, "power", design.people, alpha, asked)
    people = [math.ceil(d.least_people(effect, wanted) - 1e-6) for d in designs]
    return Power(test, effect, people[0], wanted, people[1], "n", design.people, alpha, asked)


def _numbers_in(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that are single numbers, and those that are several one by one."""
    found = {name: value for name, value in facts.items() if name not in ("bounds", "shape")}
    for name in facts.keys() & {"bounds", "shape"}:
        if not isinstance(facts[name], Sequence) or len(facts[name]) != 2:
            raise InvalidRequest(f"{name} must be two numbers, got {facts[name]!r}")
        found |= {f"{name}[{i}]": value for i, value in enumerate(facts[name])}
    for name in facts.keys() & {"groups", "cells", "bins"}:
        if not isinstance(facts[name], numbers.Integral):
            raise InvalidRequest(f"{name} must be a whole number, got {facts[name]!r}")
    return found


def _least(enough: Callable[[float], bool], low: float, high: float) -> float:
    """The least number that is enough, by bisection; ``high`` where none is."""
    if not enough(high):
        return high
    for _ in range(200):
        middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
        if high - low <= 1e-9 * high:
            break
    return high


@dataclass(frozen=True)
class _Setting:
    """What to spend under which relation, and the level."""

    price: Price
    relation: Relation
    tail: float
    alpha: float

    def question(self, name: str, *args: Any, columns: Mapping[str, Any], **options: Any) -> tuple[Question, Any]:
        """A test asked of made-up declarations, and its law."""
        rows = 1000 if self.relation == "replace" else None
        table = Table(Schema(dict(columns), neighbors=self.relation), rows, gaussian=self.price.is_gaussian)
        made = builder(name)(table, *args, **options)
        return made, made.law(self.price, self.relation)

    def normal(self, mean: Callable[[float], float], sampling: float, noise: float, people: str, largest: float) -> _Design:
        """A score of mean a n, sampling variance s n and a variance of the noise."""
        from scipy.special import ndtr, ndtri

        least = float(ndtri(1 - self.tail))

        def power_at(effect: float, n: float) -> float:
            return float(ndtr(abs(mean(effect)) * n / math.sqrt(sampling * n + noise) - least))

        return _Design(power_at, people, largest)

    def chi_squared(self, freedom: int, off_centre: Callable[[float, float], float], people: str, largest: float) -> _Design:
        """A chi-squared statistic whose non-centrality is known for an effect and n."""
        from scipy.special import chdtri, chndtr

        least = float(chdtri(freedom, self.alpha))

        def power_at(effect: float, n: float) -> float:
            far = off_centre(effect, n)
            return 1.0 if far > 1e4 else float(1 - chndtr(least, freedom, far))

        return _Design(power_at, people, largest)


def _scaled(bounds: Sequence[float], sd: float | None) -> tuple[float, float, float]:
    """Bounds, and the variance on the scale of [0, 1]."""
    if sd is None:
        raise InvalidRequest("tests of means need sd= and bounds=(lo, hi), both in the units of the data")
    lo, hi = (float(b) for b in bounds)
    if not 0 < sd <= (hi - lo) / 2:
        raise InvalidRequest(f"sd must be positive and at most half the range of the bounds, {(hi - lo) / 2:g}, got {sd}")
    return lo, hi, (sd / (hi - lo)) ** 2


def _one_mean(setting: _Setting, bounds: Any = (0, 1), sd: float | None = None, about: float | None = None) -> _Design:
    lo, hi, variance = _scaled(bounds, sd)
    middle = (lo + hi) / 2 if about is None else float(about)
    question, law = setting.question("ttest_1samp", "x", popmean=middle, columns={"x": Real(lo, hi)})
    mean: Any = question.reading.mean  # type: ignore[attr-defined]
    at = mean.score.equation(np.zeros(mean.shape))(np.array([(middle - lo) / (hi - lo)]))
    noise = float(noise_variance(at.weights, law)[0])
    return setting.normal(lambda e: e / (hi - lo), variance, noise, "people", hi - lo)


def _mean_noise(setting: _Setting, lo: float, hi: float, about: float | None, labels: Sequence[str], test: str) -> float:
    """The variance of the noise of one group's score of a mean."""
    columns = {"x": Real(lo, hi), "g": Categories(tuple(labels))}
    question, law = setting.question(test, "x", by="g", columns=columns)
    means: Any = question.reading.means  # type: ignore[attr-defined]
    share = 0.5 if about is None else (float(about) - lo) / (hi - lo)
    at = means.score.equation(np.zeros(means.shape[-1]))(np.array([share]))
    width = means.shape[-1]
    return float(noise_variance(at.weights, law.at(slice(0, width)))[0])


def _two_means(setting: _Setting, bounds: Any = (0, 1), sd: float | None = None, about: float | None = None) -> _Design:
    lo, hi, variance = _scaled(bounds, sd)
    noise = _mean_noise(setting, lo, hi, about, ("a", "b"), "ttest_ind")
    return setting.normal(lambda e: e / (hi - lo), 2 * variance, 2 * noise, "people in each group", hi - lo)


def _labels(groups: int) -> list[str]:
    if isinstance(groups, bool) or groups < 3:
        raise InvalidRequest(f"groups must be at least 3, got {groups}; two are for ttest_ind or mannwhitneyu")
    return [str(i) for i in range(groups)]


def _means(
    setting: _Setting, groups: int = 3, bounds: Any = (0, 1), sd: float | None = None, about: float | None = None
) -> _Design:
    lo, hi, variance = _scaled(bounds, sd)
    noise = _mean_noise(setting, lo, hi, about, _labels(groups), "f_oneway")

    def off_centre(effect: float, n: float) -> float:
        return (effect / (hi - lo)) ** 2 * (1 - 1 / groups) * n * n / (variance * n + noise)

    return setting.chi_squared(groups - 1, off_centre, "people in each group", hi - lo)


def _one_share(setting: _Setting, p: float = 0.5) -> _Design:
    if not 0 < p < 1:
        raise InvalidRequest(f"p must lie strictly between 0 and 1, got {p}")
    columns = {"x": Categories(("no", "yes"), missing="no")}
    question, law = setting.question("binomtest", "x", p=p, columns=columns)
    weights = np.array([[1.0]]) if question.size == 1 else np.array([[1 - p, -p]])
    return setting.normal(lambda e: e, p * (1 - p), float(noise_variance(weights, law)[0]), "people", max(p, 1 - p))


def _rank_noise(setting: _Setting, test: str, labels: Sequence[str]) -> float:
    columns: dict[str, Any] = {"x": Real(-1, 1), "g": Categories(tuple(labels))}
    question, law = setting.question(test, "x", columns=columns, **({"by": "g"} if labels[1:] else {}))
    return float(noise_variance(np.eye(question.size)[:1], law)[0])


def _higher(effect: float, sd: float | None) -> float:
    """P(X > Y) - 1/2: the effect itself, or that of a shift of normal values of this deviation."""
    from scipy.special import ndtr

    return effect if sd is None else float(ndtr(effect / (sd * math.sqrt(2)))) - 0.5


def _largest_shift(sd: float | None) -> float:
    """The largest effect on ranks: P(X > Y) - 1/2, or a shift of so many deviations."""
    if sd is not None and not 0 < sd < math.inf:
        raise InvalidRequest(f"sd must be positive, got {sd}")
    return 0.5 if sd is None else 10 * sd


def _two_ranks(setting: _Setting, sd: float | None = None) -> _Design:
    noise = _rank_noise(setting, "mannwhitneyu", ("a", "b"))
    largest = _largest_shift(sd)
    return setting.normal(lambda e: _higher(e, sd) / 4, 1 / 48, noise, "people in both groups together", largest)


def _ranks(setting: _Setting, groups: int = 3, sd: float | None = None) -> _Design:
    noise = _rank_noise(setting, "kruskal", _labels(groups))

    def off_centre(effect: float, n: float) -> float:
        own = n / groups
        sums = np.append(own * (1 - 1 / groups), np.full(groups - 1, -own / groups)) * _higher(effect, sd)
        return float((sums**2).sum() / (own / 12 + noise))

    return setting.chi_squared(groups - 1, off_centre, "people in all groups together", _largest_shift(sd))


def _signed_ranks(setting: _Setting) -> _Design:
    noise = _rank_noise(setting, "wilcoxon", ("a",))
    return setting.normal(lambda r: r / 2, 1 / 3, noise, "people", 1.0)


def _counts(setting: _Setting, cells: int, freedom: int) -> _Design:
    labels = tuple(str(i) for i in range(cells))
    _, law = setting.question("chisquare", "x", columns={"x": Categories(labels)})
    noise = float(noise_variance(np.eye(cells)[:1], law)[0])

    def off_centre(effect: float, n: float) -> float:
        return n * n * effect**2 / cells / (n / cells + noise)

    return setting.chi_squared(freedom, off_centre, "people", math.sqrt(cells - 1))


def _fit(setting: _Setting, cells: int = 2) -> _Design:
    if isinstance(cells, bool) or cells < 2:
        raise InvalidRequest(f"cells must be at least 2, got {cells}")
    return _counts(setting, cells, cells - 1)


def _independence(setting: _Setting, shape: Sequence[int] = (2, 2)) -> _Design:
    rows, columns = (int(k) for k in shape)
    if min(rows, columns) < 2:
        raise InvalidRequest(f"shape must be two whole numbers of at least 2, got {list(shape)}")
    found = _counts(setting, rows * columns, (rows - 1) * (columns - 1))
    return replace(found, largest=math.sqrt(min(rows, columns) - 1))


def _lives(setting: _Setting, events: float | None = None, bins: int = 10) -> _Design:
    """A constant hazard, everybody followed to the end: the counts that are expected of one person, half in each group."""
    if events is None or not 0 < events < 1:
        raise InvalidRequest(f"logrank needs events=, the share of people who have the event, between 0 and 1, got {events}")
    if bins < 1:
        raise InvalidRequest(f"bins must be at least 1, got {bins}")
    alive = (1 - events) ** (np.arange(bins + 1) / bins)
    one = np.concatenate([np.zeros(bins), -np.diff(alive), alive[-1:]]) / 2
    _, variance, weights = log_rank(np.stack([one, one]))
    columns = {"t": Real(0, 1), "e": Integer(0, 1), "g": Categories(("a", "b"))}
    _, law = setting.question("logrank", "t", "e", by="g", bins=bins, columns=columns)
    noise = float(noise_variance(weights.reshape(1, -1), law)[0])
    per_person = float(variance)

    def mean(ratio: float) -> float:
        return per_person * math.log(ratio)

    made = setting.normal(mean, per_person, noise, "people in both groups together", 100.0)
    return replace(made, smallest=1.0)


_DESIGNS: dict[str, Callable[..., _Design]] = {
    "ttest_1samp": _one_mean,
    "ttest_rel": _one_mean,
    "ttest_ind": _two_means,
    "f_oneway": _means,
    "binomtest": _one_share,
    "mannwhitneyu": _two_ranks,
    "kruskal": _ranks,
    "wilcoxon": _signed_ranks,
    "chisquare": _fit,
    "chi2_contingency": _independence,
    "logrank": _lives,
}
