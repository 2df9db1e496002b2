"""Accounts that are paid before they are used: plans of steps, disjoint parts of the people, and reservations.

What was paid in advance and not used when a process died is not redeemed by asking again, as a single question is
(``answers``); a plan goes on where whoever opened it kept its account (``steps_left``). The theorem there is about an entry
that says which question it pays for, on which people. An opening does not:

- a plan pays for one question T times, each time with fresh noise. Which of the T a question is, it does not tell, and an
  answer handed out for the wrong one would be the noise of another step a second time. Steps are not stored either;
- parts are cut when they are opened, where no column names people by a key that dies with the run. Cut anew, a person could
  be in part 1 before the death and in part 2 after it: two draws, each within the cap, and the cap was paid once.

An account on all people in one part could be found again by its question; its answers would have to be as well. It is left
as it is, because what uses one is paid by itself wherever no delta is given (``synthetic.measuring``).
"""

from __future__ import annotations

from dataclasses import replace

from discreet.core.ask import Account, Open, Reopen
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.release import Entry
from discreet.errors import AccountClosed
from discreet.ledger import checks, event_tables
from discreet.ledger.drafting import Drafting
from discreet.ledger.events import Draft, Terms, read_cost
from discreet.ledger.journal import Journal


def opening(drafting: Drafting, account: Open, relation: Relation) -> Draft:
    """The event that opens accounts: it pays ``cost`` for a plan of steps, and ``cost.padded()`` for disjoint parts."""
    cost = checks.cost(account.cost, drafting.test)
    if account.plan is None:
        cap = cost if account.cap is None else checks.cost(account.cap, drafting.test)
        question = f"{account.parts} accounts on disjoint people, each up to {cap}"
        terms = Terms(cap, account.parts)
        return Draft(kind="open", question=question, relation=relation, cost=cost.padded(), terms=terms)
    checks.plan(cost, account.steps)
    distance = account.plan.query.distance(relation)
    step = checks.cost(account.plan.mechanism.cost(distance), drafting.test)
    plan = drafting.draft(replace(account.plan, account=None, ahead=1), distance, cost, relation)
    return replace(plan, kind="open", terms=Terms(step, plan=plan.plan, steps=account.steps))


def steps_left(journal: Journal, drafting: Drafting, request: Reopen, relation: Relation) -> int:
    """How many steps the account of a plan has left, at most those asked for; refuses another ledger or another plan."""
    account, plan = request.account, replace(request.plan, account=None, ahead=1)
    wanted = drafting.draft(plan, plan.query.distance(relation), Cost.nothing(), relation).plan
    with journal.database.work(write=False) as work:
        if journal.opening(work, account) != account.seal:
            raise AccountClosed(
                f"a run continues at the ledger that was paid for it, and {journal.name!r} has no account {account.number} "
                "with that seal; open the ledger the run began with"
            )
        if journal.part_that_paid(work, account) is not None:
            raise AccountClosed(
                f"a plan on a part of the people serves the run that opened it, got number {account.number}; begin a new run"
            )
        standing = journal.load(work, journal.read_books(work), account)
    if standing.terms.plan != wanted:
        raise AccountClosed(
            f"account {account.number} was opened for another plan: the columns, the model, the clip norm, the noise "
            "or the rate differ; continue with the settings the run began with"
        )
    return min(standing.left, request.steps)


def reserving(cost: Cost, question: str, relation: Relation) -> Draft:
    """The event that sets an amount aside."""
    return Draft(kind="reserve", question=question, relation=relation, cost=cost.padded(), terms=Terms(cost))


def cancel(journal: Journal, account: Account, relation: Relation) -> Entry:
    """Close a reservation: what was drawn stays spent, and what was never drawn is free again."""
    number, part = account.number, account.part
    draft = Draft(kind="cancel", question="", relation=relation, cost=Cost.nothing(), account=number, part=part)
    with journal.database.work(write=True) as work:
        books = journal.lock(work)
        journal.load_reservations(work, books)
        standing = journal.load(work, books, account)
        place = {"of_ledger": journal.id, "of_account": number}
        standing.paid = sum((read_cost(row[0]) for row in work.rows(event_tables.paid_of_account, place)), Cost.nothing())
        return journal.post(work, books, [draft])[0]
