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

struct LapsePasses {
    void (*likelihood)(const LapseVotes&, size_t chains, const double* own, const double* lapse, const LapseSums&);
};

extern const EffectPasses* active_effects;
extern const LapsePasses* active_lapses;

namespace baseline { extern const EffectPasses effect_passes; extern const LapsePasses lapse_passes; }
namespace v3 { extern const EffectPasses effect_passes; extern const LapsePasses lapse_passes; }
namespace v4 { extern const EffectPasses effect_passes; extern const LapsePasses lapse_passes; }

}  // namespace jamrank
