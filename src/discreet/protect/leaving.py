"""A copy of a registered table leaves only if what left before and what leaves now show k rows alike together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.copies import Copy, Joint, described, joint
from discreet.protect.erasure import Register, holding
from discreet.protect.facts import text
from discreet.protect.finding import find_now
from discreet.protect.holding_files import Files
from discreet.protect.reach import Reached
from discreet.protect.vault_log import VaultLog


@dataclass(frozen=True)
class Leaving:
    """The copies that left, as the log says, and whether one more may."""

    log: VaultLog
    register: Register

    def check(
        self, name: str, path: str | Path, make: Callable[[list[Path]], Copy], *, recipient: str, override: bool
    ) -> Copy:
        """The copy that ``make`` makes of the table's files, written down as one that left, but not written yet.

        It is in the log first: a copy that left unseen would be worse than one that never arrived.
        """
        if Path(path).exists():
            raise InvalidRequest(f"the file to write must not exist yet, got {str(path)!r}; choose another name")
        facts = {"table": name, "recipient": text(recipient, "recipient"), "purpose": "anonymous copy", "override": override}
        made = make(self.paths(name))
        facts |= described(made)
        while True:
            earlier = [row.document for row in self.log.rows(("copy",)) if row.document["table"] == name]
            found = self._together(made, earlier, override=override)
            with self.log.database.transaction(write=True) as connection:
                self.log.lock(connection)
                left = sum(row.document["table"] == name for row in self.log.read(connection, ("copy",)))
                if left == len(earlier):  # nobody else's copy left while this one was looked at
                    self.log.append(connection, "copy", facts | {"joint": None if found is None else found.to_dict()})
                    return made

    def _together(self, made: Copy, earlier: Sequence[dict[str, Any]], *, override: bool) -> Joint | None:
        try:
            found = joint(made.source, made, earlier)
        except InvalidRequest:
            if not override:
                raise
            return None
        if found.smallest < found.k and not override:
            raise InvalidRequest(
                f"a copy must leave {found.k} rows alike together with those that left before, and with {len(earlier)} of "
                f"them {found.below} of {found.classes} joint classes are smaller ({found.single} of a single row); make it "
                "from the same levels as before, or override it (override=True, --override) if nobody can hold both"
            )
        if found.broken and not override:
            raise InvalidRequest(
                f"a copy must keep every rule on a sensitive column together with those that left before, and with "
                f"{len(earlier)} of them {found.broken} of {found.classes} joint classes break one; make it from the same "
                "levels as before, drop the column, or override it (override=True, --override) if nobody can hold both"
            )
        return found

    def paths(self, name: str) -> list[Path]:
        """The files of a registered table that there are now; refused where one that was named is lost."""
        with self.log.database.transaction(write=False) as connection:
            known = self.register.tables(connection)
        if name not in known:
            raise UnknownName(f"no table is registered as {name!r}; known: {', '.join(known) or 'none'}")
        table = holding(known[name], self.register.pseudonyms)
        if not isinstance(table, Files):
            raise InvalidRequest(f"a copy must be made of files, and {name!r} is a table of the database; export it first")
        seen = Reached()
        paths = find_now(table.given, seen)
        for missed in seen.missed:
            raise InvalidRequest(
                f"every file of {name!r} must be there, got {missed['place']!r}: {missed['reason']}; unregister a lost one"
            )
        return paths
