// Checkpoints of runs of several ranks, each of which holds the slices of its slabs.
#pragma once

#include "scheduling/execution/checkpoint_store.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// CheckpointStore::keep() of a state whose volumes lie on the ranks of the plan; RunState::read reads the slices of
/// this one, and all of other arrays. All ranks call it: the first one stores, and the others hand it their slices.
/// With one rank, keep() alone.
void keep_state(CheckpointStore& store, const RunState& state, const Plan& plan);

/// CheckpointStore::kept() on all ranks, where the first one may have kept the state of all.
std::optional<RunState> kept_state(CheckpointStore& store, Ranks& ranks);

/// Throws InputError on ranks that go on from another state than the first one.
void require_same_state(Ranks& ranks, int iterations);

}  // namespace halocline
