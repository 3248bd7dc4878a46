"""One flip for all annotators: a noise and a model of it, in one file.

docs/add-a-noise.md is built from this file, and the tests run it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from jamrank.models.jam import JAM


class SharedFlip:
    """Every annotator reports the opposite of the truth with the same probability."""

    def __init__(self, vote_counts, wrong=1.0, right=1.0):
        self.vote_counts, self.wrong, self.right = vote_counts, wrong, right  # pseudo-votes of the prior

    def log_emission(self, params):
        """Return the log-likelihood of each kind of vote: the same for every annotator."""
        log_flip, log_keep = -np.logaddexp(0, -params[0]), -np.logaddexp(0, params[0])
        return np.broadcast_to([[log_keep, log_flip], [log_flip, log_keep]], (len(self.vote_counts), 2, 2))

    def errors(self, expected_counts):
        """Return the expected number of wrong votes."""
        return expected_counts[:, 0].sum() + (self.vote_counts - expected_counts)[:, 1].sum()

    def update(self, expected_counts, params=None):
        """Return the logit of the share of wrong votes, pseudo-votes included."""
        wrong = self.errors(expected_counts)
        return np.array([np.log(wrong + self.wrong) - np.log(self.vote_counts.sum() - wrong + self.right)])

    def slope(self, params, expected_counts):
        """Return expected errors less those that the flip predicts."""
        pseudo_votes = self.wrong + self.right
        return self.errors(expected_counts) + self.wrong - (self.vote_counts.sum() + pseudo_votes) * expit(params)

    def missing_information(self, params, truth_variance):
        """Return the share of the information that is missing because truths are latent."""
        return truth_variance.sum() / (
            (self.vote_counts.sum() + self.wrong + self.right) * expit(params) * expit(-params)
        )

    def log_prior(self, params):
        """Return the log of Beta(1 + wrong, 1 + right), up to a constant."""
        log_flip, log_keep = -np.logaddexp(0, -params[0]), -np.logaddexp(0, params[0])
        return float(self.wrong * log_flip + self.right * log_keep)

    def rates(self, params):
        """Return the flip."""
        return expit(params)

    def random(self, rng):
        """Return a flip between 0 and 1/2, for a random start."""
        flip = rng.uniform(0.01, 0.49, 1)
        return np.log(flip) - np.log1p(-flip)

    def orientation(self, params):
        """Return less than zero where votes are more wrong than right."""
        return float(1 - 2 * expit(params[0]))

    def sign_flipped(self, params):
        """Return the opposite flip."""
        return -params


class SharedJAM(JAM):
    """JAM with one flip for all annotators."""

    def _noise(self, engine, prior):
        wrong, right = (prior.flip_wrong, prior.flip_right) if prior else (0.0, 0.0)
        return SharedFlip(engine.vote_counts, wrong, right)

    def _flips(self, votes, point):
        return np.full(votes.n_annotators, point.rates[0])

    def _estimate_flip_information(self):
        # All votes tell of the one flip; taken as if their truths were known.
        return np.full(len(self.flip_), self._annotator_votes.sum()) * self.flip_ * (1 - self.flip_)
