"""Schemathesis against a front: requests made of its own description, good ones and bad ones, until there are enough.

Arguments: the address, a token, how many requests, a seed. Prints how many were made, by the first digit of the code,
and the first replies with a code from 500 on, with a body that is no JSON, or with words of a traceback.
"""

from __future__ import annotations

import collections
import json
import sys
from contextlib import suppress

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

url, token, wanted, first = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
schema = schemathesis.openapi.from_url(f"{url}/v1/openapi.json", timeout=120)
operations = [each.ok() for each in schema.get_all_operations()]
# A good half of the requests are questions; the other routes take little.
shares = {each: 10 if each.method.upper() == "POST" else 1 for each in operations}
# Its first words, put together: Hypothesis makes texts of the constants it finds here, and a refusal repeats an unknown key.
TRACEBACK = " ".join(("Traceback", "(most", "recent"))
codes: collections.Counter[str] = collections.Counter()
bad: list[str] = []


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def tried(operation: schemathesis.APIOperation, mode: GenerationMode, examples: int, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: schemathesis.Case) -> None:
        if sum(codes.values()) >= wanted:
            return
        try:
            reply = case.call(base_url=url, headers={"Authorization": f"Bearer {token}"}, session=session, timeout=120)
        except (requests.exceptions.InvalidHeader, requests.exceptions.InvalidURL, UnicodeEncodeError):
            return  # what no client can send
        codes[f"{reply.status_code // 100}xx"] += 1
        text = reply.content.decode("utf-8", "replace")
        if reply.status_code >= 500 or TRACEBACK in text or not is_json(text):
            bad.append(f"{reply.status_code} {case.as_curl_command()[:600]} -> {text[:300]}")

    with suppress(Unsatisfiable):  # a route without parameters cannot be asked wrongly
        send()


round_number, total = 0, sum(shares.values())
with requests.Session() as session:
    while sum(codes.values()) < wanted:
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                tried(operation, mode, 1 + wanted * shares[operation] // (2 * total), first + round_number)
        round_number += 1
print(json.dumps({"made": sum(codes.values()), "codes": codes, "bad": bad[:5], "failures": len(bad)}))
