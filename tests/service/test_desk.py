"""From the inbox to the outbox: what is asked is paid, answered at its moment, and signed."""

from __future__ import annotations

from fractions import Fraction

from discreet.core.release import Release
from discreet.service import signing

from .conftest import Clinic, mean, settle


def test_a_question_is_paid_answered_and_signed(clinic: Clinic) -> None:
    ann = clinic.analyst("ann")
    with clinic.desk() as office:
        ref = ann.submit(mean("0.25"), mean("0.25", where={"sex": "f"}))
        assert settle(office, ref) == ["answered"]
        key = office.outbox.fact("key")
        answer = ann.answer(ref)
        assert answer is not None
        assert key is not None
        signing.verify(key, answer.text, answer.signature)
        releases = [Release.from_dict(doc) for doc in answer.document["releases"]]
        assert [r.private for r in releases] == [True, True]
        (grant,) = office.outbox.grants()
        assert (grant.spent["epsilon"], grant.left["epsilon"]) == ("1/2", "1/2")
    assert clinic.spent()["kinds"] == ["reserve", "draw", "draw"]
    assert clinic.spent()["spent"] == Fraction(1)
