"""The tables of a ledger's database, and the statements run on them, built once.

One database may hold several ledgers. The running totals live in the ledger's own row, so a charge reads one row and
writes two, however many events came before it.

``SCHEMA`` 1 was written by version 0.1.0. Schema 2 adds to a ledger what it was founded with, its unit and the fingerprint
of its key; to an event the rows it was about, the digest of question and version, and the unit where it binds one; and the
table of entries that are paid and not answered. ``upgrade`` turns the first into the second.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    text,
)

metadata = MetaData()
SCHEMA = 2
PAGE = 1000
BEFORE_ALL = -(2**62)  # pages of events start after this, so that a row below number 1 is seen too

# SQLite numbers rows by itself only in a column of type INTEGER.
_ID = BigInteger().with_variant(Integer, "sqlite")

ledgers = Table(
    "discreet_ledgers",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("schema", Integer, nullable=False),
    Column("relation", String(16), nullable=False),
    Column("filter", Text),  # null only in a test ledger without a budget
    Column("test", Boolean, nullable=False),
    Column("created", String(40), nullable=False),
    Column("number", BigInteger, nullable=False),  # of the last event
    Column("head", String(64), nullable=False),  # its hash
    Column("spent", Text, nullable=False),  # the total of what is gone for good
    Column("reserved", Text, nullable=False),  # the total of what is set aside
    Column("founded", Text),  # what else it was founded with: the schema of then, and the unit where one was given
    Column("unit", Text),  # null until it is bound
    Column("keyed", String(64)),  # the fingerprint of the key of its digests
    UniqueConstraint("name"),
)

events = Table(
    "discreet_events",
    metadata,
    Column("ledger", _ID, ForeignKey(ledgers.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("time", String(40), nullable=False),
    Column("who", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("question", Text, nullable=False),
    Column("law", Text),
    Column("sensitivity", Text),
    Column("relation", String(16), nullable=False),
    Column("cost", Text, nullable=False),
    Column("account", BigInteger),
    Column("part", BigInteger),
    Column("terms", Text),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("rows", Text),  # what the rows were restricted to
    Column("key", String(64)),  # the keyed digest of question, law, relation and version
    Column("unit", Text),  # the unit that this event bound the ledger to
    # Of those that ``find_own`` looks for: every page that a transaction touches is written to the log.
    Index(
        "discreet_events_key",
        "ledger",
        "key",
        sqlite_where=text("key IS NOT NULL AND account IS NOT NULL"),
        postgresql_where=text("key IS NOT NULL AND account IS NOT NULL"),
    ),
)

accounts = Table(
    "discreet_accounts",
    metadata,
    Column("ledger", _ID, ForeignKey(ledgers.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the event that opened it
    Column("part", BigInteger, primary_key=True, autoincrement=False),
    Column("status", String(16), nullable=False),
    Column("left", BigInteger, nullable=False),
    Column("drawn", Text, nullable=False),
    Index("discreet_accounts_status", "ledger", "status"),
)

releases = Table(
    "discreet_releases",
    metadata,
    Column("ledger", _ID, ForeignKey(ledgers.c.id), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("number", BigInteger, nullable=False),  # of the event that paid for it
    Column("document", Text, nullable=False),
    Column("hash", String(64), nullable=False),
)

pending = Table(
    "discreet_pending",
    metadata,
    Column("ledger", _ID, ForeignKey(ledgers.c.id), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("number", BigInteger, nullable=False),  # of the event that paid
    Column("state", String(16), nullable=False),  # "paid", or "looked" once someone began to look
    Column("holder", BigInteger, nullable=False),  # who claims it; 0 for nobody
    sqlite_with_rowid=False,  # one tree of pages less to write
)

# The key of a database that has no files beside it.
keys = Table(
    "discreet_keys", metadata, Column("id", Integer, primary_key=True), Column("secret", String(64), nullable=False)
)

# Where schema 1 lacks a column or an index, this is added.
ADDED = {
    ledgers: ("founded", "unit", "keyed"),
    events: ("rows", "key", "unit"),
}

_ledger: BindParameter[int] = bindparam("of_ledger")

find_ledger = select(ledgers).where(ledgers.c.name == bindparam("of_name"))
read_ledger = select(ledgers).where(ledgers.c.id == _ledger)
# SQLite has no row locks and ignores this: its transaction holds the whole file already.
_totals = (ledgers.c.number, ledgers.c.head, ledgers.c.spent, ledgers.c.reserved, ledgers.c.unit)
read_totals = select(*_totals).where(ledgers.c.id == _ledger)
lock_totals = read_totals.with_for_update()
update_ledger = (
    ledgers.update()
    .where(ledgers.c.id == _ledger)
    .values({name: bindparam(f"new_{name}") for name in ("number", "head", "spent", "reserved", "unit")})
)
set_key = ledgers.update().where(ledgers.c.id == _ledger).values(keyed=bindparam("new_keyed"))
insert_event = events.insert()
# Whether somebody's own reservation paid for a question before.
find_own = select(events.c.number).where(
    events.c.ledger == _ledger,
    events.c.key == bindparam("of_key"),
    events.c.who == bindparam("of_who"),
    events.c.account.is_not(None),
    events.c.kind.in_([literal_column("'draw'"), literal_column("'use'")]),
)
paid_of_account = (
    select(events.c.cost)
    .where(
        events.c.ledger == _ledger,
        events.c.account == bindparam("of_account"),
        events.c.kind.in_([literal_column("'draw'"), literal_column("'open'")]),
    )
    .order_by(events.c.number)
)
_payment = (events.c.hash.label("paid"), events.c.question, events.c.law, events.c.cost)
read_payment = select(*_payment).where(events.c.ledger == _ledger, events.c.number == bindparam("of_number"))
hash_of_event = select(events.c.hash).where(events.c.ledger == _ledger, events.c.number == bindparam("of_number"))
_this_event = (events.c.ledger == _ledger, events.c.number == bindparam("of_number"))
payer_of_event = select(events.c.account, events.c.part).where(*_this_event)
previous_of_event = select(events.c.previous).where(*_this_event)
relation_of_event = select(events.c.relation).where(*_this_event)
cost_of_event = select(events.c.cost).where(*_this_event)
last_events = (
    select(events)
    .where(events.c.ledger == _ledger, events.c.number <= bindparam("upto"), events.c.kind != bindparam("without"))
    .order_by(events.c.number.desc())
    .limit(bindparam("most"))
)
page_of_events = (
    select(events)
    .where(events.c.ledger == _ledger, events.c.number > bindparam("after"))
    .order_by(events.c.number)
    .limit(PAGE)
)

_opened_by = and_(events.c.ledger == accounts.c.ledger, events.c.number == accounts.c.number)
_accounts = select(accounts, events.c.terms).join(events, _opened_by)
read_account = _accounts.where(
    accounts.c.ledger == _ledger, accounts.c.number == bindparam("of_account"), accounts.c.part == bindparam("of_part")
)
read_reservations = _accounts.where(
    accounts.c.ledger == _ledger, accounts.c.status == literal_column("'reserved'")
).order_by(accounts.c.number)
all_accounts = select(accounts).where(accounts.c.ledger == _ledger)
insert_account = accounts.insert()
update_account = (
    accounts.update()
    .where(
        accounts.c.ledger == _ledger,
        accounts.c.number == bindparam("of_account"),
        accounts.c.part == bindparam("of_part"),
    )
    .values({name: bindparam(f"new_{name}") for name in ("status", "left", "drawn")})
)

find_pending = select(pending.c.number, pending.c.state, pending.c.holder).where(
    pending.c.ledger == _ledger, pending.c.key == bindparam("of_key")
)
_one_pending = (pending.c.ledger == _ledger, pending.c.number == bindparam("of_number"))
read_pending = select(pending.c.number, pending.c.state, pending.c.holder, pending.c.key).where(*_one_pending)
all_pending = select(pending).where(pending.c.ledger == _ledger).order_by(pending.c.number)
insert_pending = pending.insert()
update_pending = pending.update().where(*_one_pending).values(state=bindparam("new_state"), holder=bindparam("new_holder"))
delete_pending = pending.delete().where(*_one_pending)
# What a claimant does with an entry that is its own and in the state it left it; nothing where it is not.
_as_left = (
    *_one_pending,
    pending.c.key == bindparam("of_key"),
    pending.c.state == bindparam("old_state"),
    pending.c.holder == bindparam("old_holder"),
)
mark_pending = pending.update().where(*_as_left).values(state=bindparam("new_state"))
answer_pending = pending.delete().where(*_as_left)
delete_all_pending = pending.delete().where(pending.c.ledger == _ledger)

find_document = select(releases.c.document, releases.c.number, releases.c.hash).where(
    releases.c.ledger == _ledger, releases.c.key == bindparam("of_key")
)
find_release = select(releases).where(releases.c.ledger == _ledger, releases.c.key == bindparam("of_key"))
check_pending = (
    select(
        pending.c.number, pending.c.key, pending.c.state, events.c.key.label("paid_key"), releases.c.key.label("answered")
    )
    .outerjoin(events, and_(events.c.ledger == pending.c.ledger, events.c.number == pending.c.number))
    .outerjoin(releases, and_(releases.c.ledger == pending.c.ledger, releases.c.key == pending.c.key))
    .where(pending.c.ledger == _ledger)
)
insert_release = releases.insert()
count_releases = select(func.count()).select_from(releases).where(releases.c.ledger == _ledger)
page_of_releases = (
    select(releases, *_payment)
    .outerjoin(events, and_(events.c.ledger == releases.c.ledger, events.c.number == releases.c.number))
    .where(releases.c.ledger == _ledger, releases.c.key > bindparam("after"))
    .order_by(releases.c.key)
    .limit(PAGE)
)
