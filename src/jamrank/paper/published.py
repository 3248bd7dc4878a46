"""The numbers that the paper prints: accuracies and shares in percent, flips as probabilities."""

from __future__ import annotations

# Red wine, six annotators with b = k/20.
FLIPS = {
    "JAM": (0.032, 0.086, 0.176, 0.196, 0.246, 0.273),
    "VRJAM": (0.033, 0.085, 0.175, 0.196, 0.245, 0.273),
}
ACCURACY = {
    "red": {"MV": 95.9, "IAM": 55.2, "JAM": 97.9, "VRJAM": 98.0},
    "white": {"MV": 96.1, "IAM": 55.3, "JAM": 97.9, "VRJAM": 98.1},
}
# Worst and best of the annotators' own rankers, red wine.
RANKERS = (53.0, 64.4)
CLASSIFIERS = (67.8, 69.1, 69.0, 72.0, 59.9)
DIGITS = {"MV": 78.0, "IAM": 65.9, "JAM": 78.1, "VRJAM": 79.7}
# Share of pairs in which a child of the first population ranks above one of the second.
SHARES = {
    "expressiveness": {"MV": 64.3, "IAM": 61.5, "JAM": 64.3, "VRJAM": 65.4},
    "naturalness": {"MV": 55.7, "IAM": 52.7, "JAM": 55.9, "VRJAM": 57.7},
}
