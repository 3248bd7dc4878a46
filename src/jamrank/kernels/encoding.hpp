// Python's door to what turns ids into codes and sorts votes.
#pragma once

#include <nanobind/nanobind.h>

namespace jamrank {

void bind_encoding(nanobind::module_& m);

}  // namespace jamrank
