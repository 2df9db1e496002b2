"""What a document asks for, done: release, plan, fit, infer, protect. Documents and pages come out; nothing is printed.

Modules are loaded when they are first used, so that a command line can name them all and still start at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import lazy

if TYPE_CHECKING:
    from discreet.jobs import asking as asking
    from discreet.jobs import evidence as evidence
    from discreet.jobs import fit as fit
    from discreet.jobs import fit_file as fit_file
    from discreet.jobs import infer as infer
    from discreet.jobs import judge as judge
    from discreet.jobs import local as local
    from discreet.jobs import observed as observed
    from discreet.jobs import output as output
    from discreet.jobs import plan as plan
    from discreet.jobs import predict as predict
    from discreet.jobs import protect as protect
    from discreet.jobs import refit as refit
    from discreet.jobs import release as release
    from discreet.jobs import release_file as release_file
    from discreet.jobs import sql as sql
    from discreet.jobs import synthesize as synthesize
    from discreet.jobs import synthesize_file as synthesize_file
    from discreet.jobs import tune as tune

__getattr__, __dir__, __all__ = lazy("discreet.jobs")
