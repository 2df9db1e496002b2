"""SQL for those who speak it: a statement becomes questions of ours, or is refused with the nearest one that can be asked.

``translate`` is a pure function of a statement and a schema: it opens no table and spends nothing, so whoever asks, beside
the table or far from it, can call it. What it returns is closed: the name of a statistic, columns, groups, a condition and
options, each in the one canonical form that a ledger keeps.
"""

from discreet.sql.asked import Asked
from discreet.sql.translating import translate

__all__ = ["Asked", "translate"]
