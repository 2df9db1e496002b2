"""Synthetic tables of a session: paid for by its ledger, or made for nothing of what the ledger holds already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.questions import Asker
from discreet.request import Request, Where
from discreet.statistics.question import Table
from discreet.synthetic.domain import column_names

if TYPE_CHECKING:
    from discreet.synthetic.tables import Synthetic


class Synthesis(Asker):
    """The method that makes synthetic tables."""

    def synthesize(
        self,
        columns: Sequence[str] | None = None,
        *,
        bins: Mapping[str, int | Sequence[Any]] | None = None,
        rows: int | None = None,
        tables: int | None = None,
        impossible: Sequence[str] | None = None,
        workload: Sequence[Sequence[str]] | None = None,
        where: Where | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Synthetic:
        """Synthetic tables of some columns: ``.table`` to look at, ``.analyse(function)`` for conclusions with intervals.

        Numbers and dates need public ``bins`` (a number of them, or edges); short whole-number columns do without.
        ``impossible`` are conditions that no row may meet, ``workload`` sets of columns that are to be right together.
        Without a price nothing is paid: the tables are made of what the ledger holds of this version of the table.
        """
        from discreet.synthetic.released import from_releases
        from discreet.synthetic.synthesizing import asked

        filtered = {} if where is None else where
        if epsilon is None and rho is None and delta is None:
            if filtered or workload:
                word = "where" if filtered else "workload"
                raise InvalidRequest(
                    f"for nothing tables are made of all that was released; leave {word} out, or give a price"
                )
            held = self._held(filtered)
            return from_releases(held, columns, self.schema, bins=bins, rows=rows, tables=tables, impossible=impossible)
        price = Price(epsilon, delta, rho)
        given: dict[str, Any] = {
            "columns": columns, "bins": bins, "rows": rows, "tables": tables, "impossible": impossible, "workload": workload,
        }  # fmt: skip

        def make(table: Table) -> Procedure[Synthetic]:
            return asked(schema=table.schema, public_rows=table.rows, **given).procedure(price)

        words = {"synthesize": given | {"epsilon": epsilon, "delta": delta, "rho": rho}}
        names = column_names(columns) if columns is not None else list(self.schema.columns)
        return self._answer(Request(words, make, filtered, names, whole=price))

    def _held(self, where: Where) -> list[Release]:
        """What was released about these rows already; only whoever has the ledger can tell."""
        raise InvalidRequest("tables are made for nothing beside the ledger or by ds.synthetic.from_releases; give a price")
