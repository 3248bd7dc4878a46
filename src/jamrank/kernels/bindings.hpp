// What the bindings of the kernels share: types of arrays, and checks of arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

namespace jamrank {

namespace nb = nanobind;

template <typename T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = Array<const double>;
using Ints = Array<const int32_t>;
using OutDoubles = Array<double>;
using OutInts = Array<int32_t>;
using Floats = Array<const float>;
using OutFloats = Array<float>;

inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// One function for each topic adds its kernels to the module.
void bind_checks(nb::module_& m);    // bounds, order and equality of long arrays
void bind_clusters(nb::module_& m);  // clusters of pairs, losses by cluster
void bind_effects(nb::module_& m);   // normal effects of a stack of normal likelihoods
void bind_encoding(nb::module_& m);  // ids to codes, votes spelled out
void bind_fields(nb::module_& m);    // fields of a text file to codes
void bind_flips(nb::module_& m);     // the posterior density of scores and flips
void bind_packing(nb::module_& m);   // votes to integers and back
void bind_patterns(nb::module_& m);  // distinct lists of votes
void bind_sorting(nb::module_& m);   // packed votes, sorted and counted
void bind_steps(nb::module_& m);     // the direction of a step of a fit, products of features
void bind_strings(nb::module_& m);   // text ids to codes
void bind_text(nb::module_& m);      // lines of a text file

}  // namespace jamrank
