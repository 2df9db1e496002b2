"""The museum of broken mechanisms, three rooms: what was printed or shipped, what leaks around sound noise, and sound noise
read wrongly.
"""

from discreet.audit import broken, broken_edges, traps

ROOMS = (broken, broken_edges)
EXHIBITS: list[broken.Exhibit] = broken.EXHIBITS  # each room has hung its own by now
TRAPS: list[traps.Trap] = traps.TRAPS
