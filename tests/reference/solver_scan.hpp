// Scans for tests of solvers, and runs of their programs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

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
  Matrix A;
  Volume b, w, x;

  Scan(const Scene& unsorted, int count)
      : scene(sorted(unsorted, count)),
        subsets(static_cast<int>(scene.projections.size[2]), count),
        A(scene, Projector::joseph),
        b(Volume::uninitialised(scene.projections)),
        w(random_volume(scene.projections, 5)),
        x(random_volume(scene.grid, 7)) {
    const Vector values = A.times(exact(random_volume(scene.grid, 11)));
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
    return {A, exact(b), weights ? exact(w) : Vector(A.rays(), 1.0), start ? Vector(A.voxels(), *start) : exact(x)};
  }
  /// In the order in which solvers take them.
  Subsets matrices() const {
    const std::size_t view = scene.projections.size[0] * scene.projections.size[1];
    Subsets result;
    for (const int s : subsets.bit_reversed())
      result.push_back(A.rows(view * static_cast<std::size_t>(subsets.range(s).begin),
                              view * static_cast<std::size_t>(subsets.range(s).end)));
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

/// ||found - expected|| / ||expected||.
inline double difference(const Volume& found, const Vector& expected) {
  return norm(minus(exact(found), expected)) / norm(expected);
}

}  // namespace halocline::reference
