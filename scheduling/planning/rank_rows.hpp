// Rows of projections that ranks have, in programs of steps. Pure C++.
#pragma once

#include <vector>

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Plan::rank_rows: those rows to whose rays a rank's slabs add, and those that its back-projection reads, in whole
/// parts of rows_of_sum. Nothing, so that every rank has all rows, for one rank, for a step over views that is not
/// Step::by_rows, for a back-projection that reads all rows, where rows would be on no rank, and where each would have
/// all.
std::vector<Range> rows_of_ranks(const Program& program, const Plan& plan);

/// The detector rows that slabs of this rank see (SlabPlan::rows); none without slabs.
Range rows_seen_here(const Plan& plan);

/// The part of all rows that a rank has, 0 to 1.
double share_of_rows(const Plan& plan, int rank);

/// The rows that a rank gives to others who need all: those that no rank before it has. Ascending; together all rows.
std::vector<Range> rows_to_give(const Plan& plan, int rank);

}  // namespace halocline
