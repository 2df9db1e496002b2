"""dpmm's MST or AIM of a table of levels: reads and writes NumPy archives, and tells seconds and memory."""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import redirect_stdout
from importlib.metadata import version

import numpy as np
import pandas as pd
from dpmm.pipelines.aim import AIMPipeline
from dpmm.pipelines.mst import MSTPipeline

asked = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CPU, (asked["limit"],) * 2)
with np.load(asked["source"]) as stored:
    frame = pd.DataFrame({name: stored[name] for name in stored.files})
start = time.perf_counter()
with redirect_stdout(sys.stderr):
    pipeline = {"mst": MSTPipeline, "aim": AIMPipeline}[asked["method"]]
    maker = pipeline(epsilon=asked["epsilon"], delta=asked["delta"], disable_processing=True, n_jobs=1)
    maker.fit(frame, {name: int(frame[name].max()) + 1 for name in frame}, random_state=1)
    made = maker.generate(n_records=len(frame), random_state=1)
seconds = time.perf_counter() - start
np.savez(asked["target"], **{name: made[name].to_numpy(np.int64) for name in frame})
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
spent = {"seconds": seconds, "processor seconds": time.process_time(), "memory, MB": memory}
print(json.dumps(spent | {"version": version("dpmm")}))
