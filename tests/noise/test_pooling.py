import numpy as np
import pytest
from scipy.optimize import minimize

from jamrank.noise.pooling import pool, pool_about, pseudo_votes

EXPECTED = -0.7, 1.5


def drawn(n: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Return plain estimates of annotators and the information on each."""
    rng = np.random.default_rng(n)
    information = rng.uniform(0.5, 20.0, n)
    return -1.5 + spread * rng.standard_normal(n) + rng.standard_normal(n) / np.sqrt(information), information


def settled(estimates: np.ndarray, information: np.ndarray) -> tuple[float, float]:
    mean, variance = EXPECTED
    for _ in range(2000):
        precision = 1.0 / variance
        shrunk = (information * estimates + precision * mean) / (information + precision)
        mean, variance = pool(shrunk, information, precision, mean, EXPECTED)
    return mean, variance


@pytest.mark.parametrize(("n", "spread"), [(3, 0.5), (30, 1.0), (200, 0.3)])
def test_the_fixed_point_maximises_the_marginal_likelihood(n: int, spread: float) -> None:
    estimates, information = drawn(n, spread)

    def loss(at: np.ndarray) -> float:
        mean, variance = at[0], np.exp(at[1])
        own = variance + 1.0 / information
        of_annotators = (np.log(own) + (estimates - mean) ** 2 / own).sum()
        return 0.5 * (of_annotators + 2.0 * (np.log(variance) + (EXPECTED[1] + (EXPECTED[0] - mean) ** 2) / variance))

    best = minimize(loss, [0.0, 0.0], tol=1e-12)
    np.testing.assert_allclose(settled(estimates, information), (best.x[0], np.exp(best.x[1])), rtol=1e-4)


def test_equal_annotators_are_pooled_and_a_lone_one_hardly() -> None:
    assert pool_about(1.0, np.ones(500), np.full(500, 50.0), 1.0, (1.0, 1.0)) < 0.01
    assert pool_about(1.0, np.ones(1), np.full(1, 50.0), 1.0, (1.0, 1.0)) > 0.5


def test_pseudo_votes_have_the_mean_and_the_curvature_of_the_normal() -> None:
    wrong, right = pseudo_votes(-1.0, 0.25)
    rate = wrong / (wrong + right)
    assert np.log(rate / (1 - rate)) == pytest.approx(-1.0)
    assert (wrong + right) * rate * (1 - rate) == pytest.approx(4.0)
