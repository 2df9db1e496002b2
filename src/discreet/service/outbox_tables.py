"""The tables of the outbox, in the schema ``desk`` of a PostgreSQL database or in a file of their own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text

from discreet.service.mailbox import meta_table, numbered

SCHEMA = 1


class OutboxTables:
    """All of them; ``requests`` and ``answers`` grow, the rest is the custodian's."""

    def __init__(self, postgres: bool) -> None:
        self.metadata = MetaData(schema="desk" if postgres else None)
        self.meta = meta_table(self.metadata)
        self.tables = self._table(
            "tables",
            _word("name", primary_key=True),
            _word("population"),
            _text("schema_json"),
            _text("version"),
            _big("rows", nullable=True),
            _flag("open"),
        )
        self.populations = self._table(
            "populations", _word("name", primary_key=True), _flag("open"), _whole("overruns"), _text("why")
        )
        self.analysts = self._table("analysts", numbered(), _word("name", unique=True), _text("contact"), _flag("active"))
        self.tokens = self._table(
            "tokens",
            numbered(),
            _word("sha256", unique=True),
            _whole("analyst"),
            _moment("expires", nullable=True),
            _flag("revoked"),
        )
        self.grants = self._table(
            "grants",
            numbered(),
            _whole("analyst"),
            _word("table_name"),
            _big("account"),
            _text("cap"),
            _text("purpose"),
            _text("approve_above", nullable=True),
            _moment("expires", nullable=True),
            _flag("revoked"),
            Index("grants_of_analyst", "analyst"),
        )
        self.statements = self._table("statements", _whole("grant_id", primary_key=True), _text("spent"), _text("left_json"))
        self.requests = self._table(
            "requests",
            _word("ref", primary_key=True),
            _whole("n", index=True),
            _whole("analyst", index=True),
            _whole("token"),
            _whole("grant_id"),
            _word("table_name"),
            _word("state", index=True),
            _moment("due", nullable=True),
            _word("question_sha256"),
            _text("question"),
            _moment("at"),
            _text("price"),
            _moment("weight"),
            _big("began", nullable=True),  # how many events the ledger had when it was first run
        )
        self.answers = self._table("answers", _word("ref", primary_key=True), _text("document"), _word("signature"))
        self.catalogue = self._table(
            "catalogue",
            _word("ref", primary_key=True),
            _word("table_name"),
            _text("title"),
            _text("question"),
            _text("document"),
            _word("signature"),
            _moment("at"),
        )
        self.heads = self._table("heads", numbered(), _text("line"))
        self.audit = self._table(
            "audit",
            numbered(),
            _moment("at"),
            _text("who"),
            _word("kind"),
            _text("what"),
            _word("previous"),
            _word("hash"),
        )

    def _table(self, name: str, *columns: Any) -> Table:
        return Table(name, self.metadata, *columns)


def _word(name: str, **options: Any) -> Column[str]:
    return Column(name, String(200), **{"nullable": False} | options)


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, Text, **{"nullable": False} | options)


def _whole(name: str, **options: Any) -> Column[int]:
    return Column(name, Integer, **{"nullable": False} | options)


def _big(name: str, **options: Any) -> Column[int]:
    return Column(name, BigInteger().with_variant(Integer, "sqlite"), **{"nullable": False} | options)


def _moment(name: str, **options: Any) -> Column[float]:
    return Column(name, Float(53), **{"nullable": False} | options)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)
