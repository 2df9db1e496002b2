"""Synthetic tables as a file asks for them, or for nothing from released numbers: paid, made and written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from discreet.core.price import Price
from discreet.core.release import Release
from discreet.core.releases import read_releases
from discreet.core.schema import Schema
from discreet.errors import DiscreetError
from discreet.jobs import asking
from discreet.jobs.output import folder_for
from discreet.jobs.release import Working
from discreet.jobs.synthesize_file import SynthesizeFile
from discreet.report import synthetic as page
from discreet.session import Session
from discreet.synthetic.released import from_releases
from discreet.synthetic.synthesizing import asked
from discreet.synthetic.tables import Synthetic

DOCUMENT, PAGE = "synthetic.json", "synthetic.html"


def synthesized(wanted: SynthesizeFile, folder: Path, working: Working = lambda words: nullcontext()) -> dict[str, Any]:
    """Check everything, pay, measure, make, write; what was done, as one document."""
    with folder_for(folder, _names(wanted.format)) as write:
        asking.open_table(wanted.base)
        with asking.open_ledger(wanted.base, create=False) as trial:
            _checked(wanted, trial)
        with asking.open_ledger(wanted.base, create=True) as ledger:
            session = Session(wanted.base.table, wanted.base.schema, ledger=ledger, version=wanted.base.version)
            try:
                with working("reading the table"):
                    made = session.synthesize(**wanted.options)
            except DiscreetError as problem:
                raise problem.at(wanted.place) from None
            # First what was paid for; all else is made from it and can be made again.
            write(DOCUMENT, made.to_json() + "\n")
            with working("making tables"):
                names = _written(made, folder, wanted.format, wanted.write_tables)
                write(PAGE, page.render(made, wanted.base.title, (*names, DOCUMENT)))
            money = {"budget": str(ledger.budget), "spent": str(ledger.spent()), "remaining": str(ledger.remaining())}
    return _described(made, wanted.base.title, folder, names) | money


def for_nothing(
    file: Path, folder: Path, columns: Sequence[str] | None, rows: int | None, schema: Path | None = None
) -> dict[str, Any]:
    """Tables that agree with a releases.json, a result or a release; a ``schema`` says which numbers are whole, or dates."""
    read = read_releases(file)
    title = read.title
    releases: list[Release] = [release for one in read.answers for release in one.releases]
    declared = None if schema is None else Schema.from_toml(schema)
    with folder_for(folder, _names("csv")) as write:
        made = from_releases(releases, columns, declared, rows=rows)
        write(DOCUMENT, made.to_json() + "\n")
        names = _written(made, folder, "csv", False)
        write(PAGE, page.render(made, title, (*names, DOCUMENT)))
    return _described(made, title, folder, names)


def _names(kind: str) -> list[str]:
    return [DOCUMENT, PAGE, f"synthetic.{kind}"]


def _checked(wanted: SynthesizeFile, ledger: Any) -> None:
    """Refuse what is wrong in the request before a ledger is made for it."""
    session = Session(wanted.base.table, wanted.base.schema, ledger=ledger, version=wanted.base.version)
    options = {key: value for key, value in wanted.options.items() if key not in ("epsilon", "delta", "rho", "where")}
    if any(column.private for column in session.schema.columns.values()):
        return  # the session checks it with what stands in for what is found
    try:
        Price(wanted.options.get("epsilon"), wanted.options.get("delta"), wanted.options.get("rho"))
        asked(schema=session.schema, **options)
    except DiscreetError as problem:
        raise problem.at(wanted.place) from None


def _written(made: Synthetic, folder: Path, kind: str, several: bool) -> tuple[str, ...]:
    """The one table and, where they are wanted, the several, as files."""
    names = [(f"synthetic.{kind}", None)]
    if several:
        width = len(str(made.count - 1))
        names += [(f"synthetic-{number:0{width}}.{kind}", number) for number in range(made.count)]  # type: ignore[misc]
    for name, number in names:
        (made.to_csv if kind == "csv" else made.to_parquet)(folder / name, number)
    return tuple(name for name, _ in names)


def _described(made: Synthetic, title: str, folder: Path, names: Sequence[str]) -> dict[str, Any]:
    return {
        "kind": "synthesis",
        "title": title,
        "columns": list(made.columns),
        "rows": made.rows,
        "tables": made.count,
        "measured": [" × ".join(each) for each in made.measured_together],
        "cost": str(made.cost),
        "private": made.private,
        "written": [str(folder / name) for name in (*names, DOCUMENT, PAGE)],
    }
