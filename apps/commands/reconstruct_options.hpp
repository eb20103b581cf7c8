// The options of `halocline reconstruct`.
#pragma once

#include <optional>
#include <string>

#include "algorithms/solvers/methods.hpp"
#include "apps/options/counts_options.hpp"
#include "apps/options/family_options.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/projection_options.hpp"
#include "apps/options/projector_options.hpp"

namespace CLI {
class App;
}

namespace halocline {

struct ReconstructCommand {
  std::string input, geometry, output, interpolation = "exact", precondition = "none";
  ProjectorOptions projector;
  ProjectionOptions projections;
  bool counts = false;
  CountsArguments counts_arguments;
  std::string weights;            // path; empty: none
  std::optional<double> photons;  // of the open beam
  double electronic = 0;
  bool no_weights = false, allow_nonfinite = false;
  GridOptions grid;
  double pad_volume = 0;  // mm
  ReconstructionParameters parameters;
  std::optional<double> lambda, alpha;
  bool chooses_lambda = false;
  RegulariserOptions penalty;
  std::string init;  // fdk, zero, a path; empty: by the method
  std::string gap_map, plot;
  double time_limit = 0;
  bool keep_partial = false;
  std::string checkpoint;
  double checkpoint_every = 60;
  bool resume = false;

  std::string input_name() const { return "'" + input + "'"; }
  std::string geometry_name() const { return "'" + geometry + "'"; }
  bool penalised() const { return solver_method(parameters.method).penalty; }
  /// Where the image begins: fdk, zero or a path.
  std::string start() const { return !init.empty() ? init : begins_with_fdk(parameters) ? "fdk" : "zero"; }
  /// Whether that is a volume of a file.
  bool starts_from_file() const { return start() != "fdk" && start() != "zero"; }
  GivenInputs given() const { return {weighted(), start() != "zero", starts_from_file()}; }
  /// Whether rays get weights, of whatever source.
  bool weighted() const;
  /// The same, or they may get the weight 0 where nothing was measured.
  bool may_be_weighted() const;
};

void add_reconstruct_options(CLI::App& sub, ReconstructCommand& command);
/// Puts options into the parameters; InputError where they contradict each other.
void take_reconstruct_options(ReconstructCommand& command);

}  // namespace halocline
