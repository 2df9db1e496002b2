"""diffprivlib's models on small tables: what each scores on rows held out, split by split.

Arguments: an .npz file with x, y, lo and hi (public bounds of the columns); the name of a model; epsilon; how many runs.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib import models
from sklearn.model_selection import train_test_split

warnings.simplefilter("ignore")
path, name, epsilon, runs = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
data = np.load(path)
x, y, lo, hi = data["x"], data["y"], data["lo"], data["hi"]
unit = (x - (lo + hi) / 2) / ((hi - lo) / 2)  # columns within [-1, 1]
short = unit / np.sqrt(x.shape[1])  # rows of norm at most 1
ends = (-np.ones(x.shape[1]), np.ones(x.shape[1]))
found = []
for run in range(runs):
    if name == "kmeans":
        model = models.KMeans(n_clusters=3, epsilon=epsilon, bounds=ends, random_state=run).fit(unit)
        found.append(float(((unit[:, None] - model.cluster_centers_) ** 2).sum(-1).min(1).sum()))
        continue
    if name == "pca":
        parts = int(data["parts"])
        model = models.PCA(n_components=parts, epsilon=epsilon, bounds=ends, data_norm=np.sqrt(x.shape[1]), random_state=run)
        turned = model.fit(unit).components_
        centred = unit - unit.mean(0)
        found.append(float(np.trace(turned @ centred.T @ centred @ turned.T)))
        continue
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=run)
    if name == "bayes":
        model = models.GaussianNB(epsilon=epsilon, bounds=ends, random_state=run).fit(unit[train], y[train])
    elif name == "logistic":
        model = models.LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=run).fit(short[train], y[train])
    elif name == "forest":
        model = models.RandomForestClassifier(
            n_estimators=10, epsilon=epsilon, bounds=ends, classes=np.unique(y), random_state=run
        ).fit(unit[train], y[train])
    else:
        target = (float(data["low"]), float(data["high"]))
        model = models.LinearRegression(epsilon=epsilon, bounds_X=ends, bounds_y=target, random_state=run)
        model.fit(unit[train], y[train])
        guess = np.clip(model.predict(unit[test]), *target)
        found.append(float(np.sqrt(np.mean((guess - y[test]) ** 2))))
        continue
    guess = model.predict(short[test] if name == "logistic" else unit[test])
    found.append(float((guess == y[test]).mean()))
print(json.dumps(found))
