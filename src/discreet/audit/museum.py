"""The museum of broken mechanisms, both rooms: what was printed or shipped, and what leaks around sound noise."""

from discreet.audit import broken, broken_edges

ROOMS = (broken, broken_edges)
EXHIBITS: list[broken.Exhibit] = broken.EXHIBITS  # each room has hung its own by now
