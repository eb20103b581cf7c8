// The trace of all ranks.
#pragma once

#include <memory>

#include "host/opencl/trace.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// The entries of all ranks, which call it; devices have their rank before their name, so that each has a process of
/// its own in the file. nullptr on ranks but the first.
std::shared_ptr<Trace> trace_of_all(const Trace& own, Ranks& ranks);

}  // namespace halocline
