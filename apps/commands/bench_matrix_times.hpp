// Times of `halocline bench matrix` as JSON and as a table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/matrix_times.hpp"
#include "apps/commands/bench_commands.hpp"

namespace halocline {

/// A problem with the non-zeros of a slice's matrix.
struct TimedMatrix {
  double nonzeros = 0;
  MatrixTimes times;
};

nlohmann::json json_of(const TimedMatrix& timed);
BenchTable table_of_times(const std::vector<TimedMatrix>& all);
/// Lines "left out: ...": reasons that all problems share once, others with their problem.
std::string left_out_text(const std::vector<TimedMatrix>& all);

/// "64 x 64", "720 x 512".
BenchTable::value_type name_cells(const MatrixProblem& problem);
/// Sizes, beam and projector.
nlohmann::json json_of(const MatrixProblem& problem);

}  // namespace halocline
