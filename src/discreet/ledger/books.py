"""The arithmetic of a ledger: what each event does to the totals, and which events are refused.

The same few lines decide a charge and, in ``verify``, replay every charge ever made; no database is in reach here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from discreet.accounting.filters import Filter
from discreet.core.cost import Cost
from discreet.core.documents import brief
from discreet.errors import AccountClosed, BudgetExceeded, InvalidRequest
from discreet.ledger.caps import implies
from discreet.ledger.events import Draft, Terms

PLAN, PARTS, RESERVED, CANCELLED = "plan", "parts", "reserved", "cancelled"


@dataclass
class Standing:
    """Where an account stands: what was drawn on it and how many steps of its plan are left.

    ``paid`` is the part of what was drawn that was released for it; the rest was drawn for the use of releases that somebody
    else had paid for. Only a replay keeps it, and ``Ledger.cancel``, which adds it up.
    """

    terms: Terms
    status: str
    left: int
    drawn: Cost
    paid: Cost = field(default_factory=Cost.nothing)

    @staticmethod
    def fresh(terms: Terms, status: str) -> Standing:
        return Standing(terms, status, terms.steps, Cost.nothing())


@dataclass
class Books:
    """The totals of a ledger and the accounts in play.

    Proof that the budget holds. What counts against it is ``total``: everything spent, plus every open reservation
    in full. A charge, an opening or a reservation is posted only if the filter accepts the total with it in. A step
    or a draw changes no total: it was paid for when its account was opened, and stays within the account's terms. Nor
    does a store, which tells only that a release already paid for was kept.
    Drawn sums are compared with the cap by ``Cost <=``, which lets the curve exceed it in the last digits; the ledger
    was charged ``cap.padded()``, which covers them. Cancelling replaces a reservation by what was drawn on it, which
    by the same comparison is no more; of that, a use of a stored release costs nobody anything, because its release was
    counted when it was paid for. What an opening costs that a reservation or a part pays for is drawn on it, within its
    cap, like any question. Accounts on ``parts`` are each a filter at the cap on people of their own, so
    all of them together cost what one may. Totals are recomputed from whole costs, never subtracted from, so no
    rounding can make a total too small.

    Proof that steps, draws and other charges may be interleaved. Draws on parts and on reservations are counted by the
    filter's own induction: fix the part a neighbour differs in; the answers about other parts cost nothing, and along every
    path the draws on this part and all charges stay within the total. A plan is different where its price is less than the
    sum of its steps (lots, composition by loss distributions): it is then one interactive mechanism, bought when it was
    opened and answered while others are. ``accounting.filters`` says by which theorem its price holds all the same.
    """

    filter: Filter | None
    test: bool
    number: int
    head: str
    spent: Cost = field(default_factory=Cost.nothing)
    reserved: Cost = field(default_factory=Cost.nothing)
    accounts: dict[tuple[int, int], Standing] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)  # the questions of the store events taken in
    unit: str | None = None
    _after: tuple[Draft | None, Cost] = (None, Cost.nothing())  # the last payment admitted, and the total with it in

    @property
    def total(self) -> Cost:
        """What counts against the budget: all that is spent and all that is set aside."""
        return self.spent + self.reserved if self.reserved is not Cost.nothing() else self.spent

    def fits(self, total: Cost) -> bool:
        """Whether a total is within the budget; always, once a test ledger has accepted a cost without a guarantee."""
        return self.filter is None or self.filter.fits(total) or (self.test and not total.is_finite)

    def admit(self, draft: Draft) -> None:
        """Raise if the event must be refused; change nothing."""
        if draft.unit is not None and self.unit is not None:
            raise InvalidRequest(f"a ledger is bound to one unit once, and it has {self.unit}, got {draft.unit}")
        _ADMIT[draft.kind](self, draft)

    def apply(self, draft: Draft, number: int, hash: str) -> None:  # noqa: A002
        """Take an admitted event into the totals, as event ``number``."""
        _APPLY[draft.kind](self, draft, number)
        self.number, self.head, self.unit = number, hash, draft.unit or self.unit

    def standing(self, draft: Draft) -> Standing:
        """The account an event names."""
        try:
            return self.accounts[draft.account or 0, draft.part or 0]
        except KeyError:
            raise AccountClosed(
                f"an account must have been opened at this ledger, and {_name(draft)} was not; open or reserve one"
            ) from None

    def _admit_payment(self, draft: Draft) -> None:
        total = self.total
        after = total + draft.cost
        if self.filter is None or self.fits(after):
            self._after = (draft, after)
            return
        never = not self.filter.fits(draft.cost)
        remedy = (
            "it would not fit an unspent budget either: ask for less, with a law of the budget's kind"
            if never
            else "ask for less"
        )
        raise BudgetExceeded(
            f"the total must stay within the budget of {self.filter.budget}: {_brief(draft)} asks for {draft.cost}, "
            f"and {self.filter.remaining(total)} is left; {remedy}. Nothing was charged"
        )

    def _admit_open(self, draft: Draft) -> None:
        """An opening is paid by the ledger, or drawn on the account that it names; a cap on parts implies its price.

        A reservation pays for any, and a part of the people for a plan on that part.
        """
        if draft.terms is not None and draft.terms.parts is not None:
            implies(draft.terms.cap, draft.cost)
        if draft.account is None:
            self._admit_payment(draft)
            return
        plan = draft.terms is not None and draft.terms.plan is not None
        if self.standing(draft).status not in ((RESERVED, PARTS) if plan else (RESERVED,)):
            raise AccountClosed(
                f"an account is opened by a reservation, or a plan by a part of the people, and {_name(draft)} is "
                f"{self.standing(draft).status}"
            )
        self._admit_draw(draft)

    def _admit_use(self, draft: Draft) -> None:
        """A release that was paid for before is used by one more person, whose reservation pays its price."""
        if self.standing(draft).status != RESERVED:
            raise AccountClosed(f"a release is used on a reservation, and {_name(draft)} is {self.standing(draft).status}")
        self._admit_draw(draft)

    def _admit_step(self, draft: Draft) -> None:
        standing = self.standing(draft)
        if standing.left < 1:
            raise AccountClosed(
                f"{_name(draft)} was opened for {standing.terms.steps} steps and all were taken; "
                "open another account for more"
            )
        if standing.terms.plan != draft.plan:
            raise AccountClosed(
                f"{_name(draft)} takes only the question, law and distance it was opened for, got "
                f"{_brief(draft)} under {brief(draft.law)}; open an account for that plan"
            )

    def _admit_draw(self, draft: Draft) -> None:
        standing = self.standing(draft)
        if standing.status not in (PARTS, RESERVED):
            raise AccountClosed(f"{_name(draft)} must be open for questions, and it is {standing.status}; open another")
        if not standing.drawn + draft.cost <= standing.terms.cap:
            raise BudgetExceeded(
                f"{_name(draft)} is capped at {standing.terms.cap}: {standing.drawn} is drawn, and {_brief(draft)} "
                f"asks for {draft.cost} more; ask for less. Nothing was charged"
            )

    def _admit_cancel(self, draft: Draft) -> None:
        status = self.standing(draft).status
        if status != RESERVED:
            raise AccountClosed(f"only an open reservation can be cancelled, and {_name(draft)} is {status}")

    def _admit_store(self, draft: Draft) -> None:
        if draft.cost != Cost.nothing() or draft.question in self.stored:
            raise InvalidRequest(
                f"a release is stored once and at no cost, got {brief(draft.question)} at {draft.cost}; ask the ledger for "
                "it"
            )

    def _admit_note(self, draft: Draft) -> None:
        if draft.cost != Cost.nothing():
            raise InvalidRequest(f"what the custodian notes costs nothing, got {draft.cost}")

    def _note(self, draft: Draft, number: int) -> None:
        """A custodian's decision about entries without an answer changes no total."""

    def _charge(self, draft: Draft, number: int) -> None:
        admitted, after = self._after
        # Where nothing is set aside, what was admitted is what is spent.
        same = admitted is draft and self.reserved is Cost.nothing()
        self.spent = after if same else self.spent + draft.cost

    def _open(self, draft: Draft, number: int) -> None:
        if draft.account is None:
            self.spent += draft.cost
        else:
            self._draw(draft, number)
        self._add(draft, number, PARTS if draft.terms and draft.terms.parts else PLAN)

    def _reserve(self, draft: Draft, number: int) -> None:
        self.reserved += draft.cost
        self._add(draft, number, RESERVED)

    def _add(self, draft: Draft, number: int, status: str) -> None:
        assert draft.terms is not None
        for part in range(draft.terms.parts or 1):
            self.accounts[number, part] = Standing.fresh(draft.terms, status)

    def _step(self, draft: Draft, number: int) -> None:
        self.standing(draft).left -= 1

    def _draw(self, draft: Draft, number: int) -> None:
        self.standing(draft).drawn += draft.cost
        self.standing(draft).paid += draft.cost

    def _use(self, draft: Draft, number: int) -> None:
        self.standing(draft).drawn += draft.cost

    def _cancel(self, draft: Draft, number: int) -> None:
        """Cancel a reservation; all open ones must be in ``accounts``, because what stays set aside is added up anew."""
        standing = self.standing(draft)
        standing.status = CANCELLED
        self.spent += standing.paid
        self.reserved = sum(
            (s.terms.cap.padded() for _, s in sorted(self.accounts.items(), key=_place) if s.status == RESERVED),
            Cost.nothing(),
        )

    def _store(self, draft: Draft, number: int) -> None:
        self.stored.add(draft.question)


def on_account(draft: Draft, standing: Standing) -> Draft:
    """The event of an ask that an account pays for: a step of its plan, or a draw on it."""
    if standing.terms.plan is None:
        return replace(draft, kind="draw")
    if draft.cost != standing.terms.cap:
        raise AccountClosed(
            f"{_name(draft)} takes only steps that each cost {standing.terms.cap} by themselves, got {draft.cost}; "
            "open an account for that plan"
        )
    return replace(draft, kind="step", cost=Cost.nothing())


def _place(item: tuple[tuple[int, int], Standing]) -> tuple[int, int]:
    return item[0]


def _name(draft: Draft) -> str:
    return f"account {draft.account}" + (f" (part {draft.part})" if draft.part else "")


_ADMIT: dict[str, Callable[[Books, Draft], None]] = {
    "charge": Books._admit_payment,
    "open": Books._admit_open,
    "reserve": Books._admit_payment,
    "step": Books._admit_step,
    "draw": Books._admit_draw,
    "use": Books._admit_use,
    "cancel": Books._admit_cancel,
    "store": Books._admit_store,
    "redeem": Books._admit_note,
    "forgo": Books._admit_note,
    "adopt": Books._admit_note,
}
_APPLY: dict[str, Callable[[Books, Draft, int], None]] = {
    "charge": Books._charge,
    "open": Books._open,
    "reserve": Books._reserve,
    "step": Books._step,
    "draw": Books._draw,
    "use": Books._use,
    "cancel": Books._cancel,
    "store": Books._store,
    "redeem": Books._note,
    "forgo": Books._note,
    "adopt": Books._note,
}


def _brief(draft: Draft) -> str:
    """A question in an error message: as it was put by hand, not the long description a query gives of itself."""
    return repr(draft.question) if 0 < len(draft.question) <= 60 else "the question"
