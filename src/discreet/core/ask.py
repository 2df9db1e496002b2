"""What a procedure may yield: a question with the law of its answer, or the opening of a prepaid account."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core import numbers
from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism
from discreet.core.query import Query
from discreet.errors import InvalidRequest


@dataclass(frozen=True)
class Ask:
    """One question: what to compute, the law of the answer, and the account that pays (the ledger if none).

    With a ``rate`` it is put to a lot: each person is in it independently with that probability, drawn by the runner. An
    ask that pays by itself pays as if it had been put to everybody; what lots save is in the price of a plan. ``ahead``
    is how many steps of a plan are paid in one transaction, this step first. ``where`` restricts the rows of
    this ask to declared categories, as ``Source.where`` does: asks of one batch may each have rows of their own.

    With ``turns`` the people are divided at random into 1 / rate disjoint parts, once for the account, and the steps of the
    plan are put to one part after another.

    Proof that rows of its own change no cost: a row is kept or dropped by what it holds itself, so neighbours stay
    neighbours under the same relation, and the distance of the query holds on the rows that are kept.
    """

    query: Query
    mechanism: Mechanism
    account: Account | None = None
    rate: Fraction | None = None
    ahead: int = 1
    where: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    turns: bool = False

    def __post_init__(self) -> None:
        if self.turns and (self.rate is None or self.rate.numerator != 1):
            raise InvalidRequest(f"people take turns in a whole number of parts, at rate 1 / parts, got rate {self.rate}")
        if self.where and self.account is not None:
            raise InvalidRequest("an account pays for the rows it was opened for, got an ask with a where of its own")
        if self.rate is not None and not 0 < self.rate <= 1:
            raise InvalidRequest(f"rate must lie in (0, 1], got {self.rate}")
        if self.ahead < 1 or (self.ahead > 1 and self.account is None):
            raise InvalidRequest(f"only steps of an account are paid ahead, at least 1 at a time, got ahead={self.ahead}")

    @property
    def subject(self) -> dict[str, Any]:
        """What is asked of whom, as it is written into the ledger."""
        asked = self.query.to_dict()
        if self.rate is None:
            return asked
        return {"query": asked, "rate": numbers.write(self.rate)} | ({"turns": True} if self.turns else {})

    @property
    def question(self) -> dict[str, Any]:
        """The question with its law: the same for the same question."""
        return {"query": self.subject, "mechanism": self.mechanism.to_dict()}


@dataclass(frozen=True)
class Account:
    """A prepaid account at a ledger: its number there and, where it is for part ``part`` of ``parts`` people, which.

    ``seal`` is the hash of the event that opened it and ``version`` the state of the table it was opened for: a run that
    was broken off continues only with both. ``of`` is the account on a part of the people that paid for this one, whose
    steps are then taken on that part.
    """

    number: int
    part: int = 0
    parts: int | None = None
    seal: str = ""
    version: str = ""
    of: Account | None = None


@dataclass(frozen=True)
class Open:
    """Pay once for much: ``steps`` asks of one ``plan``, or ``parts`` accounts on disjoint people capped at ``cost``.

    ``cap`` is what each part is held to where that is another statement than ``cost``: a rho, say, that implies the
    (epsilon, delta) which is paid. The ledger checks that it does. ``account`` is an account on a part of the people that
    pays for a plan on that part, and ``turns`` says that people will take turns in such plans: refused before it is paid
    where they cannot.

    Proof: with ``plan`` the account accepts only asks whose law and query are the plan's, ``steps`` of them, and the
    cost was computed for exactly that sequence before any of it ran. With ``parts`` one person is in one part only;
    each part is a filter at ``cap``, which is ``cost`` or implies it, so the whole costs what the dearest part may. A plan
    that a part pays for is drawn on its filter like any question, at what the plan costs whom it is about: that part.
    """

    cost: Cost
    plan: Ask | None = None
    steps: int = 1
    parts: int | None = None
    cap: Cost | None = None
    account: Account | None = None
    turns: bool = False

    def __post_init__(self) -> None:
        if self.account is not None and (self.plan is None or self.account.parts is None):
            raise InvalidRequest("what opens an account of its own is a plan on a part of the people; give plan and a part")
        if (self.plan is None) == (self.parts is None):
            raise InvalidRequest("an account is opened either for a plan of steps or for disjoint parts; give one of them")
        if self.cap is not None and self.parts is None:
            raise InvalidRequest("a cap is for accounts on parts; a plan is held to its steps")
        if self.plan is not None and self.plan.where:
            raise InvalidRequest("an account pays for the rows of its table, got a plan with a where; restrict the table")
        if self.steps < 1 or (self.parts is not None and self.parts < 1):
            raise InvalidRequest(f"steps and parts must be at least 1, got steps={self.steps}, parts={self.parts}")


@dataclass(frozen=True)
class Reopen:
    """Continue a plan that was broken off: ``steps`` more of it, by the account that was opened for it.

    The answer is how many the account still has, at most ``steps``. Nothing is paid, so only a ledger that kept the account
    can answer.

    Proof: the account keeps to the steps it was opened for, whoever asks for them; a step that was paid and lost stays lost.
    """

    account: Account
    plan: Ask
    steps: int
