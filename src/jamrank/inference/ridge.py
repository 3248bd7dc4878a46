"""The ridge of a posterior along the scale of the scores.

Larger scores with larger flips explain votes nearly as well as smaller scores with smaller flips. Where votes are
many and items and annotators few, this ridge is narrow, long and curved, and a chain hardly moves along it. A jump
to another scale follows it: a point keeps its place among those of its scale, relative to their mode and spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from jamrank.linalg.joint_information import factored
from jamrank.typing import FloatArray

# Of a point: the log density with its gradient, and the negative Hessian, at least nearly.
Density = Callable[[FloatArray], tuple[float, FloatArray]]
Precision = Callable[[FloatArray], FloatArray]

# Distance of nodes in the logarithm of the scale, most of them on a side, and how far the log density falls there.
_APART, _MOST_NODES, _FALL = 0.12, 30, 8.0
# Newton steps at a node, halvings of one, and the length, in standard deviations, at which they end.
_STEPS, _HALVINGS, _CLOSE = 8, 10, 0.1


@dataclass(frozen=True)
class Ridge:
    """Modes and spreads of a density at several scales; between these nodes both are interpolated.

    frame: Turns a point into its scale and its place among the points of this scale.
    log_scales, modes, factors: Of the nodes; a factor turns independent normals into places around the mode.
    width: Standard deviation of the logarithm of the scale.
    bend: Typical distance of the modes from a straight line, in standard deviations of the places around them.
    """

    frame: Reflection
    log_scales: FloatArray
    modes: FloatArray
    factors: FloatArray
    width: float
    bend: float

    def jump(self, x: FloatArray, factor: float) -> tuple[FloatArray, float] | None:
        """Return the same place at a scale times a factor, and the log Jacobian; None beyond the nodes."""
        y = self.frame.turned(x)
        if not y[0] > 0:
            return None
        here, there = self._at(np.log(y[0])), self._at(np.log(y[0]) + np.log(factor))
        if here is None or there is None:
            return None
        place = solve_triangular(here[1], y[1:] - here[0])
        moved = np.concatenate([[y[0] * factor], there[0] + there[1] @ place])
        return self.frame.turned(moved), float(np.log(factor)) + _log_volume(there[1]) - _log_volume(here[1])

    def _at(self, log_scale: float) -> tuple[FloatArray, FloatArray] | None:
        known = self.log_scales
        if not known[0] < log_scale < known[-1]:
            return None
        right = int(np.searchsorted(known, log_scale))
        share = (log_scale - known[right - 1]) / (known[right] - known[right - 1])
        mode, factor = ((1 - share) * own[right - 1] + share * own[right] for own in (self.modes, self.factors))
        return mode, factor


def follow(density: Density, precision: Precision, x: FloatArray, along: FloatArray) -> Ridge | None:
    """Follow the ridge from a point on it to both sides.

    along: Direction of the scale.
    Returns None where the point has no positive scale.
    """
    length = float(np.sqrt(along @ along))
    if not (length > 0 and float(along @ x) > 0):
        return None
    frame = Reflection.onto(along / length)
    y, climb = frame.turned(x), _Climb(density, precision, frame)
    begin = climb.node(float(np.log(y[0])), y[1:])
    nodes = [*climb.side(begin, -1)[::-1], begin, *climb.side(begin, 1)]
    heights, log_scales = (np.array([getattr(node, name) for node in nodes]) for name in ("height", "log_scale"))
    modes, factors = (np.stack([getattr(node, name) for node in nodes]) for name in ("mode", "factor"))
    share = np.exp(heights - heights.max())
    share /= share.sum()
    width = float(np.sqrt(share @ (log_scales - share @ log_scales) ** 2))
    off = _off_line(np.exp(log_scales), modes, share)
    distances = [solve_triangular(factor, own) for factor, own in zip(factors, off, strict=True)]
    bend = float(np.sqrt(share @ (np.stack(distances) ** 2).sum(axis=1)))
    return Ridge(frame, log_scales, modes, factors, width, bend)


def _off_line(scale: FloatArray, modes: FloatArray, share: FloatArray) -> FloatArray:
    """Return how far modes are from the line fitted to them by least squares, each with its share."""
    away, centre = scale - share @ scale, share @ modes
    slope = (share * away) @ modes / max(float(share @ away**2), 1e-300)
    return np.asarray(modes - centre - np.multiply.outer(away, slope))


@dataclass(frozen=True)
class Reflection:
    """The reflection that exchanges a direction with the first coordinate; its own inverse."""

    normal: FloatArray

    @classmethod
    def onto(cls, direction: FloatArray) -> Reflection:
        """Return it for a direction of length 1."""
        normal = direction.copy()
        normal[0] -= 1.0
        length = float(np.sqrt(normal @ normal))
        return cls(normal * (np.sqrt(2.0) / length) if length > 0 else normal)

    def turned(self, x: FloatArray) -> FloatArray:
        """Return a vector, or the columns of a matrix, reflected."""
        return np.asarray(x - np.multiply.outer(self.normal, self.normal @ x))


@dataclass(frozen=True)
class _Node:
    """Mode and spread of the points of one scale, and the log density of the scale up to a constant."""

    log_scale: float
    mode: FloatArray
    factor: FloatArray
    height: float


@dataclass(frozen=True)
class _Climb:
    """Finds the mode of a density among the points of a scale."""

    density: Density
    precision: Precision
    frame: Reflection

    def side(self, begin: _Node, sign: int) -> list[_Node]:
        """Return the nodes on one side of the first."""
        nodes, best = [begin], begin.height
        while len(nodes) <= _MOST_NODES:
            ahead = nodes[-1].mode if len(nodes) == 1 else 2 * nodes[-1].mode - nodes[-2].mode
            node = self.node(nodes[-1].log_scale + sign * _APART, ahead)
            if not node.height > best - _FALL:
                break
            best = max(best, node.height)
            nodes.append(node)
        return nodes[1:]

    def node(self, log_scale: float, place: FloatArray) -> _Node:
        """Return the node of a scale; Newton steps to its mode start from a place."""
        scale = float(np.exp(log_scale))
        value, slope = self._density(scale, place)
        factor = self._factor(scale, place)
        for _ in range(_STEPS):
            step = factor.T @ slope
            if not float(step @ step) > _CLOSE**2:
                break
            higher = self._higher(scale, place, factor @ step, value)
            if higher is None:
                break
            place, value, slope = higher
            factor = self._factor(scale, place)
        return _Node(log_scale, place, factor, value + log_scale + _log_volume(factor))

    def _higher(
        self, scale: float, place: FloatArray, step: FloatArray, value: float
    ) -> tuple[FloatArray, float, FloatArray] | None:
        """Return the end of a step, halved until the density is higher there, with density and slope."""
        for halved in range(_HALVINGS):
            end = place + step / 2**halved
            found, slope = self._density(scale, end)
            if found > value:
                return end, found, slope
        return None

    def _x(self, scale: float, place: FloatArray) -> FloatArray:
        return self.frame.turned(np.concatenate([[scale], place]))

    def _density(self, scale: float, place: FloatArray) -> tuple[float, FloatArray]:
        value, slope = self.density(self._x(scale, place))
        return value, self.frame.turned(slope)[1:]

    def _factor(self, scale: float, place: FloatArray) -> FloatArray:
        turned = self.frame.turned(self.frame.turned(self.precision(self._x(scale, place))).T)
        return factored(turned[1:, 1:]).spread()


def _log_volume(factor: FloatArray) -> float:
    return float(np.log(np.diag(factor)).sum())
