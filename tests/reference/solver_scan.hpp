// Scans for tests of solvers, and runs of their programs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "algorithms/solvers/methods.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/view_subsets.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/solver_reference.hpp"

namespace halocline::reference {

/// A scan whose views are sorted by subset, line integrals, weights and a start, in float32.
struct Scan {
  Scene scene;
  ViewSubsets subsets;
  RayMatrix A;
  Volume b, w, x;

  Scan(const Scene& unsorted, int count)
      : scene(sorted(unsorted, count)),
        subsets(static_cast<int>(scene.projections.size[2]), count),
        A(scene),
        b(Volume::uninitialised(scene.projections)),
        w(random_volume(scene.projections, 5)),
        x(random_volume(scene.grid, 7)) {
    const Vector values = A.times(vector_of(random_volume(scene.grid, 11)));
    const Volume noise = random_volume(scene.projections, 3);
    for (std::size_t n = 0; n < values.size(); ++n)
      b.voxels[n] = static_cast<float>(values[n] * (0.9 + 0.2 * noise.voxels[n]));
    for (float& each : w.voxels) each = 0.2f + each;
    for (float& each : x.voxels) each = 0.3f + 0.5f * each;
  }

  static Scene sorted(Scene scene, int count) {
    scene.geometry = ViewSubsets(static_cast<int>(scene.projections.size[2]), count).sorted(scene.geometry);
    return scene;
  }
  LeastSquares problem(bool weights, std::optional<double> start) const {
    return {A, vector_of(b), weights ? vector_of(w) : Vector(A.rows(), 1.0),
            start ? Vector(A.columns(), *start) : vector_of(x)};
  }
  /// Rays in the order in which solvers take them.
  RaySubsets rays() const {
    const auto view = static_cast<std::ptrdiff_t>(scene.projections.slice());
    const auto all = all_rays(A)[0];
    RaySubsets result;
    for (const int s : subsets.bit_reversed())
      result.emplace_back(all.begin() + view * subsets.range(s).begin, all.begin() + view * subsets.range(s).end);
    return result;
  }
};

/// The program of a solver, with the scan's values for the inputs that it has.
inline RunResult run(const Scan& scan, const std::function<Program(const RayOperator&)>& solver,
                     const std::vector<Device>& devices = device(), const RunOptions& options = {},
                     Projector backprojector = Projector::joseph) {
  const RayOperator A(scan.scene.geometry, scan.scene.grid, scan.scene.projections, Projector::joseph,
                      device_models(devices), {.backprojector = backprojector});
  const Program program = solver(A);
  std::map<std::string, const Volume*> inputs{{"b", &scan.b}};
  for (const auto& need : program.needs.arrays)
    if (need.name == "w") inputs.emplace("w", &scan.w);
  if (!program.given.empty()) inputs.emplace("x", &scan.x);
  return run_program(program, inputs, scan.scene.grid, devices, options);
}

/// The program of a method on the scan's subsets.
inline std::function<Program(const RayOperator&)> solver(const Scan& scan, const ReconstructionParameters& parameters,
                                                         const GivenInputs& given = {}) {
  return [=, &scan](const RayOperator& A) { return solver_program(A, scan.subsets, parameters, given); };
}

/// ||found - expected|| / ||expected||.
inline double difference(const Volume& found, const Vector& expected) {
  return relative_difference(vector_of(found), expected);
}

}  // namespace halocline::reference
