"""One flip for all annotators: a noise in one file, and one line in the registry.

docs/add-a-noise.md is built from this file, and the tests run it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from jamrank.noise import NOISES, Noise, NoiseSpec


class SharedFlip(Noise):
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

    def annotator_flips(self, params, n_annotators):
        """Return the same flip for each annotator."""
        return np.full(n_annotators, expit(params[0]))

    def flip_information(self, information, n_annotators):
        """Return the same information for each annotator: all votes tell of the one flip."""
        return np.full(n_annotators, information[0])


def make_shared_flip(vote_counts, prior):
    """Return the noise for the votes of an engine; without a prior, for plain maximum likelihood."""
    wrong, right = prior.flip_votes if prior else (0.0, 0.0)
    return SharedFlip(vote_counts, wrong, right)


NOISES.register("shared flip", NoiseSpec(make_shared_flip))
