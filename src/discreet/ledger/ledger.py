"""The ledger: who asked what, under which law, at which cost; and the one place that says no."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.accounting.filters import Remaining
from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.budget import Budget
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Mechanism, Sensitivity
from discreet.core.query import Relation, check_relation
from discreet.core.release import Entry, Release
from discreet.errors import AccountClosed, InvalidRequest
from discreet.ledger import checks
from discreet.ledger.books import on_account
from discreet.ledger.creation import find_or_create
from discreet.ledger.database import Database
from discreet.ledger.events import Draft, Event, Terms, canonical, digest
from discreet.ledger.journal import Journal
from discreet.ledger.replay import verify


@dataclass(frozen=True)
class Preview:
    """What a charge would do: whether it fits, and what would be left after it (what is left now, if it does not fit).

    ``remaining`` is None where nothing is limited.
    """

    cost: Cost
    fits: bool
    remaining: Remaining | None


class Ledger:
    """Append-only events in a database, and a filter that refuses before anything is looked at.

    ``url`` is ``"sqlite:///file.db"``, ``"sqlite://"`` (in memory), ``"postgresql://..."`` or ``"test"``: in memory,
    with seeds and infinite costs allowed and, without a budget, no limit. A new ledger needs a ``budget``; an old one
    is opened as it is, and a ``budget`` or ``neighbors`` given again must be the one it was made with. ``name`` is
    the table of people it pays for. One database may hold many, but a second is made only by its name: without one it is
    the only ledger there is, and in a new database ``"default"``. ``timeout`` is how many seconds a charge waits for
    others.

    Proof that neither a race nor a crash can overspend. Every payment is one transaction that locks the ledger's
    row, reads the total, asks the filter whether the total with the payment in it fits, and writes the event and the
    new total; ``Database`` proves that such transactions happen one after another, so each sees all before it, and
    ``Books`` that a sequence of accepted events stays within the budget. The runner looks at data only after the
    transaction has committed to the disk. So at any instant, whatever was looked at is in the total; a crash between
    paying and looking wastes what was paid, and nothing is ever paid back once it may have been looked at.
    """

    test: bool

    def __init__(
        self,
        url: str,
        budget: Budget | None = None,
        *,
        name: str | None = None,
        neighbors: Relation | None = None,
        who: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        wanted_name = None if name is None else checks.text(name, "the name of a ledger", longest=200)
        self.who = checks.text(_user() if who is None else who, "who")
        if budget is not None and not isinstance(budget, Budget):
            raise InvalidRequest(f"budget must be a Budget, such as Budget(epsilon=1), got {budget!r}")
        if not 0 <= timeout < 1e6:
            raise InvalidRequest(f"timeout must be a number of seconds that is not negative, got {timeout}")
        wanted = None if neighbors is None else check_relation(neighbors)
        self.test = url == "test"
        self._database = Database("sqlite://" if self.test else url, timeout)
        try:
            row = find_or_create(self._database, wanted_name, budget, wanted or "add_remove", test=self.test)
            self.relation, self.filter = checks.same(row, budget, wanted)
            self.name: str = row["name"]
        except BaseException:
            self._database.close()
            raise
        self._journal = Journal(self._database, row["id"], self.name, self.filter, self.test, self.who)

    def close(self) -> None:
        """Close the connection; the ledger object is of no use afterwards."""
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: object) -> Ledger:
        """Itself: a copy that could be charged apart from it would be a second budget for the same people."""
        return self

    def __reduce__(self) -> Any:
        raise InvalidRequest(
            "a ledger is open at its database and is not pickled; set ledger=None on a model first, and open it again"
        )

    def __repr__(self) -> str:
        limit = "no limit" if self.budget is None else f"budget {self.budget}"
        return f"Ledger({str(self._database)!r}, name={self.name!r}, {limit}, neighbors={self.relation!r})"

    def charge(
        self,
        mechanism: Mechanism,
        sensitivity: Sensitivity = 1.0,
        question: str = "",
        *,
        relation: Relation | None = None,
    ) -> Entry:
        """Pay for one release of ``mechanism``, or raise ``BudgetExceeded`` and charge nothing."""
        distance = Distance.of(sensitivity)
        draft = Draft(
            kind="charge",
            question=checks.text(question, "question", empty=True),
            relation=self._check_relation(relation or self.relation),
            cost=checks.cost(checks.law(mechanism).cost(distance), self.test),
            law=canonical(mechanism.to_dict()),
            sensitivity=canonical(distance.to_dict()),
        )
        with self._database.transaction(write=True) as connection:
            return self._journal.post(connection, self._journal.lock(connection), [draft])[0]

    def pay(self, asks: Sequence[tuple[Ask, Distance, Cost]], relation: Relation) -> list[Entry]:
        """Pay for several asks in one transaction, each by the account it names or else by the ledger."""
        self._check_relation(relation)
        if not asks:
            return []
        made: dict[int, Draft] = {}  # steps paid ahead are one ask, many times
        for each in asks:
            if id(each) not in made:
                ask, distance, cost = each
                made[id(each)] = self._draft(ask, distance, checks.cost(cost, self.test), relation)
        drafts = [made[id(each)] for each in asks]
        with self._database.transaction(write=True) as connection:
            books = self._journal.lock(connection)
            for place, (ask, _, _) in enumerate(asks):
                if ask.account is not None:
                    standing = self._journal.load(connection, books, ask.account)
                    drafts[place] = on_account(drafts[place], standing)
            return self._journal.post(connection, books, drafts)

    def open(self, account: Open, relation: Relation) -> list[Account]:
        """Pay once for a plan of steps (``cost``) or for disjoint parts (``cost.padded()``); return the accounts.

        The price of a plan is computed by the procedure, which is trusted code: what a sequence of steps costs together
        (on random parts of the people, say) cannot be told from one step. The ledger refuses a price of nothing, holds
        the account to the plan, and records in the event the price beside the question, the law, the distance, the
        number of steps and what one step costs by itself, for a reviewer to hold against each other.
        """
        self._check_relation(relation)
        cost = checks.cost(account.cost, self.test)
        if account.plan is not None:
            checks.plan(cost, account.steps)
            distance = account.plan.query.distance(relation)
            step = checks.cost(account.plan.mechanism.cost(distance), self.test)
            plan = self._draft(replace(account.plan, account=None, ahead=1), distance, cost, relation)
            terms = Terms(step, plan=plan.plan, steps=account.steps)
            draft = replace(plan, kind="open", terms=terms)
        else:
            question = f"{account.parts} accounts on disjoint people, each up to {cost}"
            draft = Draft(
                kind="open", question=question, relation=relation, cost=cost.padded(), terms=Terms(cost, account.parts)
            )
        with self._database.transaction(write=True) as connection:
            entry = self._journal.post(connection, self._journal.lock(connection), [draft])[0]
        return [Account(entry.number, part, account.parts, entry.hash) for part in range(account.parts or 1)]

    def reopen(self, request: Reopen, relation: Relation) -> int:
        """How many steps the account of a plan has left, at most those asked for; refuses another ledger or another plan."""
        account, plan = request.account, replace(request.plan, account=None, ahead=1)
        wanted = self._draft(plan, plan.query.distance(self._check_relation(relation)), Cost.nothing(), relation).plan
        with self._database.transaction(write=False) as connection:
            opened = self._journal.opening(connection, account)
            if opened != account.seal:
                raise AccountClosed(
                    f"a run continues at the ledger that was paid for it, and {self.name!r} has no account {account.number} "
                    "with that seal; open the ledger the run began with"
                )
            standing = self._journal.load(connection, self._journal.read_books(connection), account)
        if standing.terms.plan != wanted:
            raise AccountClosed(
                f"account {account.number} was opened for another plan: the columns, the model, the clip norm, the noise "
                "or the rate differ; continue with the settings the run began with"
            )
        return min(standing.left, request.steps)

    def reserve(self, cost: Cost, question: str) -> Account:
        """Set an amount aside that nobody else can take; asks that name the account draw on it."""
        draft = Draft(
            kind="reserve",
            question=checks.text(question, "question", empty=True),
            relation=self.relation,
            cost=checks.cost(cost, self.test).padded(),
            terms=Terms(cost),
        )
        with self._database.transaction(write=True) as connection:
            return Account(self._journal.post(connection, self._journal.lock(connection), [draft])[0].number)

    def cancel(self, account: Account) -> Entry:
        """Close a reservation: what was drawn stays spent, and what was never drawn is free again."""
        draft = Draft(
            kind="cancel",
            question="",
            relation=self.relation,
            cost=Cost.nothing(),
            account=account.number,
            part=account.part,
        )
        with self._database.transaction(write=True) as connection:
            books = self._journal.lock(connection)
            self._journal.load(connection, books, account)
            self._journal.load_reservations(connection, books)
            return self._journal.post(connection, books, [draft])[0]

    def preview(self, what: Cost | Mechanism, sensitivity: Sensitivity = 1) -> Preview:
        """Whether a cost, or a law at a sensitivity, would fit now; changes nothing."""
        cost = checks.cost(what if isinstance(what, Cost) else checks.law(what).cost(Distance.of(sensitivity)), self.test)
        books = self._journal.read()
        fits = books.fits(books.total + cost)
        left = books.total + cost if fits else books.total
        return Preview(cost, fits, None if self.filter is None else self.filter.remaining(left))

    def recall(self, ask: Ask, source: Any, relation: Relation) -> Release | None:
        """The stored release of the identical question on the identical version of the data; asking again is free."""
        document = self._journal.find_release(self._key(ask, source, relation))
        return None if document is None else Release.from_json(document)

    def remember(self, ask: Ask, source: Any, release: Release) -> None:
        """Store a release for ``recall``: the first one stays. What a seed made is kept by a test ledger only.

        In the same transaction the hash of what is stored goes into the chain, as an event of kind ``store``.
        """
        if release.entry is None or release.entry.ledger != self.name:
            raise InvalidRequest(f"a ledger stores only what it was paid for, got a release of entry {release.entry}")
        if not (release.private or self.test):
            return
        key = self._key(ask, source, release.relation)
        self._journal.keep_release(key, release.entry.number, release.to_json(), release.relation or self.relation)

    def _key(self, ask: Ask, source: Any, relation: Relation | None) -> str:
        return digest(canonical([ask.question, relation, source.version]))

    @property
    def budget(self) -> Budget | None:
        """What may be spent in all; None in a test ledger without a limit."""
        return None if self.filter is None else self.filter.budget

    @property
    def head(self) -> str:
        """The hash of the last event. Keep it elsewhere: ``verify(head)`` then finds a book cut short or rewritten."""
        return self._journal.read().head

    def spent(self) -> Cost:
        """What counts against the budget: everything paid and everything set aside."""
        return self._journal.read().total

    def remaining(self) -> Remaining | None:
        """What is left; None where nothing is limited."""
        return None if self.filter is None else self.filter.remaining(self.spent())

    def events(self) -> Iterator[Event]:
        """Every event from the first, in order."""
        return map(Event.of, self._journal.rows())

    def verify(self, head: str | None = None) -> int:
        """The number of events, after checking every one of them; ``LedgerCorrupt`` says what does not hold.

        With ``head``, a hash noted down earlier, also that the book still contains the event it was the hash of.
        """
        with self._database.transaction(write=False) as connection:
            return verify(connection, self._journal.id, head)

    def _draft(self, ask: Ask, distance: Distance, cost: Cost, relation: Relation) -> Draft:
        return Draft(
            kind="charge",
            question=canonical(ask.subject),
            relation=relation,
            cost=cost,
            law=canonical(checks.law(ask.mechanism).to_dict()),
            sensitivity=canonical(distance.to_dict()),
            account=None if ask.account is None else ask.account.number,
            part=None if ask.account is None else ask.account.part,
        )

    def _check_relation(self, relation: Relation) -> Relation:
        return checks.relation(check_relation(relation), self.relation, self.name)


def _user() -> str:
    """The name the operating system knows us by; a container may run a number without one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
