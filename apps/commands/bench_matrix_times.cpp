#include "apps/commands/bench_matrix_times.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace halocline {
namespace {

using Cells = BenchTable::value_type;

double slice_iteration_seconds(const MatrixTimes& times, const MatrixRate& rate) {
  return rate.seconds() / static_cast<double>(times.slices);
}

double updates_per_second(const TimedMatrix& timed, const MatrixRate& rate) {
  return 2 * timed.nonzeros / slice_iteration_seconds(timed.times, rate);
}

// Two products of two operations a weight.
double flops_per_second(const MatrixRate& rate) {
  return 4 * rate.multiply_adds / rate.seconds();
}

nlohmann::json json_of(const TimedMatrix& timed, const MatrixRate& rate) {
  const MatrixTimes& times = timed.times;
  nlohmann::json json{{"mode", rate.mode},
                      {"seconds_per_slice_iteration", slice_iteration_seconds(times, rate)},
                      {"updates_per_s", updates_per_second(timed, rate)},
                      {"bytes_per_s", rate.bytes() / rate.seconds()},
                      {"share_of_copy", times.share_of_copy(rate)},
                      {"forward_relative_rmse", rate.forward.relative_rmse},
                      {"adjoint_relative_rmse", rate.adjoint.relative_rmse}};
  put_times(json, "forward_seconds", rate.forward.times);
  put_times(json, "adjoint_seconds", rate.adjoint.times);
  if (!rate.stored) return json;
  json["tile_bytes"] = rate.tile_bytes;
  json["list_seconds"] = rate.list_seconds;
  json["fill_seconds"] = rate.fill_seconds;
  json["build_seconds"] = rate.build_seconds();
  json["flops_per_s"] = flops_per_second(rate);
  if (times.fastest_unstored() == nullptr) return json;
  const auto iterations = times.break_even(rate);
  json["break_even_iterations"] = iterations ? nlohmann::json(*iterations) : nlohmann::json();
  return json;
}

std::string break_even_text(const MatrixTimes& times, const MatrixRate& rate) {
  if (!rate.stored || times.fastest_unstored() == nullptr) return "";
  const auto iterations = times.break_even(rate);
  return iterations ? fmt::format("{:.0f}", *iterations) : "never";
}

Cells cells_of(const TimedMatrix& timed, const MatrixRate& rate) {
  const auto g = [](double value) { return fmt::format("{:.4g}", value); };
  const MatrixTimes& times = timed.times;
  Cells row = name_cells(times.problem);
  row.insert(
      row.end(),
      {fmt::to_string(times.slices), rate.mode, g(1e3 * rate.forward.times.least), mean_cell(rate.forward.times),
       g(1e3 * rate.adjoint.times.least), mean_cell(rate.adjoint.times), g(1e3 * slice_iteration_seconds(times, rate)),
       g(1e-9 * updates_per_second(timed, rate)), fmt::format("{:.3g} %", 100 * times.share_of_copy(rate))});
  if (rate.stored)
    row.insert(row.end(),
               {g(1e-12 * flops_per_second(rate)), fmt::format("{:.3g}", 1e-9 * static_cast<double>(rate.tile_bytes)),
                fmt::format("{:.3g}", rate.build_seconds())});
  else
    row.insert(row.end(), {"", "", ""});
  row.insert(row.end(), {break_even_text(times, rate), fmt::format("{:.2e}", rate.forward.relative_rmse),
                         fmt::format("{:.2e}", rate.adjoint.relative_rmse)});
  return row;
}

}  // namespace

nlohmann::json json_of(const TimedMatrix& timed) {
  const MatrixTimes& times = timed.times;
  nlohmann::json json = json_of(times.problem);
  json["slices"] = times.slices;
  json["nonzeros"] = timed.nonzeros;
  json["copy_bytes_per_s"] = times.copy_bandwidth;
  json["left_out"] = times.left_out;
  json["modes"] = nlohmann::json::array();
  for (const MatrixRate& rate : times.rates) json["modes"].push_back(json_of(timed, rate));
  return json;
}

BenchTable table_of_times(const std::vector<TimedMatrix>& all) {
  BenchTable table{{"pixels", "rays", "slices", "mode", "A, ms", mean_heading, "A^T, ms", mean_heading,
                    "ms a slice and iteration", "GUPS", "of copy", "TFLOP/s", "tiles, GB", "build, s", "pays after",
                    "RMSE/max of A", "of A^T"}};
  for (const TimedMatrix& timed : all)
    for (const MatrixRate& rate : timed.times.rates) table.push_back(cells_of(timed, rate));
  return table;
}

std::string left_out_text(const std::vector<TimedMatrix>& all) {
  const auto has = [](const TimedMatrix& timed, const std::string& reason) {
    const auto& reasons = timed.times.left_out;
    return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
  };
  std::vector<std::string> lines;
  for (const TimedMatrix& timed : all)
    for (const std::string& reason : timed.times.left_out) {
      const bool shared =
          std::all_of(all.begin(), all.end(), [&](const TimedMatrix& each) { return has(each, reason); });
      const Cells name = name_cells(timed.times.problem);
      if (!shared)
        lines.push_back(fmt::format("{} pixels, {} rays, {} slices, {}", name[0], name[1], timed.times.slices, reason));
      else if (&timed == &all.front())
        lines.push_back(reason);
    }
  return left_out_text(lines);
}

Cells name_cells(const MatrixProblem& problem) {
  return {fmt::format("{0} x {0}", problem.size), fmt::format("{} x {}", problem.views, problem.columns)};
}

nlohmann::json json_of(const MatrixProblem& problem) {
  return {{"size", problem.size},
          {"views", problem.views},
          {"detector", problem.columns},
          {"beam", problem.fan ? "fan" : "parallel"},
          {"projector", projector_name(problem.projector)}};
}

}  // namespace halocline
