"""multi-freq-ldpy's oracles: seconds for reports and estimate of the same people, client and server apart."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

EPSILON = 1.0


def rates(people: int, k: int, client: Callable[..., Any], server: Callable[[list[Any]], Any]) -> dict[str, float]:
    """Reports a second of the client half, of the server half, and of both."""
    values = (np.arange(people) % k).tolist()
    server([client(v, k, EPSILON) for v in values[:100]])  # compiled by the first call
    start = time.perf_counter()
    sent = [client(v, k, EPSILON) for v in values]
    middle = time.perf_counter()
    server(sent)
    end = time.perf_counter()
    return {"client": people / (middle - start), "server": people / (end - middle), "both": people / (end - start)}


result = {}
for size in map(int, sys.argv[1:]):
    each = {
        "randomized_response": (20_000, GRR_Client, lambda sent, k=size: GRR_Aggregator_MI(sent, k, EPSILON)),
        "optimized_unary": (20_000, UE_Client, lambda sent: UE_Aggregator_MI(sent, EPSILON)),
        "local_hash": (2_000, LH_Client, lambda sent, k=size: LH_Aggregator_MI(sent, k, EPSILON)),
        "subset_selection": (5_000, SS_Client, lambda sent, k=size: SS_Aggregator_MI(sent, k, EPSILON)),
    }
    result[str(size)] = {name: rates(n, size, client, server) for name, (n, client, server) in each.items()}
print(json.dumps(result))
