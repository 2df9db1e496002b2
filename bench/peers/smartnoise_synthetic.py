"""SmartNoise's MST or AIM of a table of levels: reads and writes NumPy archives, and tells seconds and memory."""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import redirect_stdout
from importlib.metadata import version

import numpy as np
import pandas as pd
from snsynth import Synthesizer

asked = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CPU, (asked["limit"],) * 2)
with np.load(asked["source"]) as stored:
    frame = pd.DataFrame({name: stored[name] for name in stored.files})
start = time.perf_counter()
with redirect_stdout(sys.stderr):
    maker = Synthesizer.create(asked["method"], epsilon=asked["epsilon"], delta=asked["delta"])
    maker.fit(frame, categorical_columns=list(frame), preprocessor_eps=0.0)
    made = maker.sample(len(frame))
seconds = time.perf_counter() - start
np.savez(asked["target"], **{name: made[name].to_numpy(np.int64) for name in frame})
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
spent = {"seconds": seconds, "processor seconds": time.process_time(), "memory, MB": memory}
print(json.dumps(spent | {"version": version("smartnoise-synth")}))
