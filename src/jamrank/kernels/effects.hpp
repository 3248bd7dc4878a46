// What draws of the families model need: normal likelihoods exp(h x - x P x / 2) of vectors with normal effects, many
// small ones at once, and votes of which some are lapses, in many chains at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jamrank {

// A stack of likelihoods: precisions of n x n, `columns` shifts to each, and `each` variances of the effects to try with
// each; `count` variances in all.
struct Likelihoods {
    const double *precision, *shift, *variance;
    size_t count, each, n, columns;
};

struct EffectPasses {
    // Integrates the effects out. `left` and `moved` (precision and shift of what is left) may be null.
    void (*absorb)(const Likelihoods&, double* left, double* moved, double* gained);
    // Draws the effects; standard normal `noise` is as many as shifts.
    void (*draw)(const Likelihoods&, const double* noise, double* drawn);
};

// Votes sorted by annotator: who preferred which item to which other, and how often.
struct LapseVotes {
    const int64_t *annotator, *winner, *loser;
    const double* weight;
    size_t count, annotators, items;
};

// For each chain: log-likelihoods by annotator, and, unless null, their gradients in the scores that each annotator has
// in mind and in the probability of a lapse.
struct LapseSums {
    double *value, *on_own, *on_lapse;
};

// Votes by annotator and pair of items, sorted by annotator: how many for the first, and for the second.
struct LapseCells {
    const int64_t *annotator, *first, *second;
    const double *won, *lost;
    size_t count, annotators, items;
};

// Where cells are expanded: the scores that each annotator votes by and the logits of lapses; unless null, their
// posterior covariances, by annotator: of the scores, of these with the logit, and of the logit.
struct LapseCentre {
    const double *scores, *log_odds, *covariance, *both, *variance;
};

// A normal likelihood for each annotator: precision and shift of the scores, precision between them and the logit, and
// precision and shift of the logit.
struct LapseExpansion {
    double *precision, *shift, *slope, *information, *pull;
};

struct LapsePasses {
    void (*likelihood)(const LapseVotes&, size_t chains, const double* own, const double* lapse, const LapseSums&);
    // With covariances slopes and curvatures are means over four points of each cell; without, those at the centre.
    void (*expand)(const LapseCells&, const LapseCentre&, const LapseExpansion&);
};

extern const EffectPasses* active_effects;
extern const LapsePasses* active_lapses;

namespace baseline { extern const EffectPasses effect_passes; extern const LapsePasses lapse_passes; }
namespace v3 { extern const EffectPasses effect_passes; extern const LapsePasses lapse_passes; }
namespace v4 { extern const EffectPasses effect_passes; extern const LapsePasses lapse_passes; }

}  // namespace jamrank
