// labels: device slab
// SIRT and CGLS against double precision with the explicit matrix, known answers, and one slab against many slabs,
// batches and devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "algorithms/solvers/reconstruct.hpp"
#include "host/error.hpp"
#include "host/interrupt.hpp"
#include "scheduling/execution/checkpoint_store.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline {
namespace {

using reference::device;
using Vector = std::vector<double>;

// The explicit matrix of a scan.
class Matrix {
 public:
  Matrix(const reference::Scene& scene, Projector projector)
      : rays_(scene.projections.count()), voxels_(scene.grid.count()) {
    reference::weights(projector, scene.grid, scene.geometry, scene.projections,
                       [this](std::size_t ray, std::size_t voxel, double weight) {
                         entries_.push_back({ray, voxel, weight});
                       });
  }
  Vector times(const Vector& x) const {
    Vector y(rays_, 0.0);
    for (const auto& [ray, voxel, weight] : entries_) y[ray] += weight * x[voxel];
    return y;
  }
  Vector transposed_times(const Vector& y) const {
    Vector x(voxels_, 0.0);
    for (const auto& [ray, voxel, weight] : entries_) x[voxel] += weight * y[ray];
    return x;
  }
  std::size_t rays() const { return rays_; }
  std::size_t voxels() const { return voxels_; }

 private:
  struct Entry {
    std::size_t ray, voxel;
    double weight;
  };
  std::size_t rays_, voxels_;
  std::vector<Entry> entries_;
};

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
  return sum;
}
double norm(const Vector& a) {
  return std::sqrt(dot(a, a));
}
Vector minus(Vector a, const Vector& b) {
  for (std::size_t n = 0; n < a.size(); ++n) a[n] -= b[n];
  return a;
}
Vector inverse(Vector a) {
  for (double& each : a) each = each > 0 ? 1 / each : 0;
  return a;
}

Vector sirt(const Matrix& A, const Vector& b, int iterations, double relaxation, bool non_negative = false) {
  const Vector rows = inverse(A.times(Vector(A.voxels(), 1))),
               columns = inverse(A.transposed_times(Vector(A.rays(), 1)));
  Vector x(A.voxels(), 0.0);
  for (int k = 0; k < iterations; ++k) {
    Vector r = minus(b, A.times(x));
    for (std::size_t n = 0; n < r.size(); ++n) r[n] *= rows[n];
    const Vector u = A.transposed_times(r);
    for (std::size_t n = 0; n < x.size(); ++n) {
      x[n] += relaxation * columns[n] * u[n];
      if (non_negative) x[n] = std::max(0.0, x[n]);
    }
  }
  return x;
}

// Without the orthogonalisation, which double does not need.
Vector cgls(const Matrix& A, const Vector& b, int iterations) {
  Vector x(A.voxels(), 0.0), r = b, s = A.transposed_times(r), p = s;
  double gamma = dot(s, s);
  for (int k = 0; k < iterations && gamma > 0; ++k) {
    const Vector q = A.times(p);
    const double alpha = gamma / dot(q, q);
    for (std::size_t n = 0; n < x.size(); ++n) x[n] += alpha * p[n];
    for (std::size_t n = 0; n < r.size(); ++n) r[n] -= alpha * q[n];
    s = A.transposed_times(r);
    const double next = dot(s, s);
    for (std::size_t n = 0; n < p.size(); ++n) p[n] = s[n] + next / gamma * p[n];
    gamma = next;
  }
  return x;
}

struct Reconstructed {
  Volume volume;
  ReconstructionResult result;
};
Reconstructed run(const Volume& b, const reference::Scene& scene, const ReconstructionParameters& parameters,
                  const std::vector<Device>& devices = device(), const RunOptions& options = {}) {
  Reconstructed all;
  all.volume = Volume::uninitialised(scene.grid);
  MemorySink sink(all.volume);
  all.result = reconstruct(MemorySource(b), scene.geometry, sink, parameters, devices, options);
  return all;
}

RunOptions split(int slabs, int batch = 0) {
  RunOptions options;
  options.plan.minimum_slabs = slabs;
  options.plan.batch = batch;
  return options;
}

// Projections of an object without symmetry.
Volume projections_of(const Matrix& A, const reference::Scene& scene) {
  const Volume truth = reference::random_volume(scene.grid, 11);
  const Vector b = A.times(Vector(truth.voxels.begin(), truth.voxels.end()));
  Volume result = Volume::uninitialised(scene.projections);
  for (std::size_t n = 0; n < b.size(); ++n) result.voxels[n] = static_cast<float>(b[n]);
  return result;
}

double relative_difference(const Volume& found, const Vector& expected) {
  return norm(minus(Vector(found.voxels.begin(), found.voxels.end()), expected)) / norm(expected);
}

class SolverScenes : public testing::TestWithParam<reference::Scene> {};

TEST_P(SolverScenes, MatchDoublePrecisionWithTheMatrix) {
  const auto& scene = GetParam();
  for (const Projector projector : {Projector::joseph, Projector::distance_driven}) {
    const Matrix A(scene, projector);
    const Volume b = projections_of(A, scene);
    const Vector exact(b.voxels.begin(), b.voxels.end());
    SCOPED_TRACE(projector_name(projector));
    for (const int iterations : {1, 7}) {
      SCOPED_TRACE(iterations);
      const auto x = run(b, scene, {.iterations = iterations, .projector = projector, .relaxation = 1.3});
      const Vector expected = sirt(A, exact, iterations, 1.3);
      EXPECT_LT(relative_difference(x.volume, expected), 2e-5);
      EXPECT_NEAR(x.result.residual, norm(minus(exact, A.times(expected))), 1e-4 * norm(exact));
      const auto y = run(b, scene, {.method = "cgls", .iterations = iterations, .projector = projector});
      EXPECT_LT(relative_difference(y.volume, cgls(A, exact, iterations)), iterations == 1 ? 2e-5 : 2e-3);
      EXPECT_TRUE(y.result.run.iterations == iterations || y.result.run.stopped_by == StoppedBy::method);
      EXPECT_NEAR(y.result.projections, norm(exact), 1e-9 * norm(exact));
    }
  }
}

TEST_P(SolverScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const auto& scene = GetParam();
  const Volume b = projections_of(Matrix(scene, Projector::joseph), scene);
  const auto slices = static_cast<int>(scene.grid.size[2]);
  for (const char* method : {"sirt", "cgls"}) {
    SCOPED_TRACE(method);
    const ReconstructionParameters parameters{.method = method, .iterations = 4};
    const auto whole = run(b, scene, parameters);
    for (const int slabs : {2, 3, slices})
      for (const int batch : {1, 3}) {
        SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
        const auto other = run(b, scene, parameters, device(), split(std::min(slabs, slices), batch));
        EXPECT_EQ(other.result.run.plan.slabs.size(), static_cast<std::size_t>(std::min(slabs, slices)));
        EXPECT_TRUE(other.volume.voxels == whole.volume.voxels);
        EXPECT_EQ(other.result.residual, whole.result.residual);
      }
    const auto batches = run(b, scene, parameters, device(), split(0, 2));
    EXPECT_TRUE(batches.volume.voxels == whole.volume.voxels) << "projections stay on the device";
    const auto one = run(b, scene, parameters, reference::undivided());
    {
      const auto& devices = reference::sub_devices(2);
      RunOptions options;
      for (const Device& each : devices) options.plan.speeds[each.info().name] = 1;
      const auto several = run(b, scene, parameters, devices, options);
      EXPECT_EQ(several.result.run.plan.slabs.size(), std::min<std::size_t>(devices.size(), scene.grid.size[2]));
      EXPECT_TRUE(several.volume.voxels == one.volume.voxels) << devices.size() << " devices";
      options.plan.minimum_slabs = slices;
      options.plan.batch = 2;
      EXPECT_TRUE(run(b, scene, parameters, devices, options).volume.voxels == one.volume.voxels)
          << devices.size() << " devices, streamed";
    }
  }
}

TEST_P(SolverScenes, BytesOverTheBusAreThosePredicted) {
  const auto& scene = GetParam();
  const Volume b = projections_of(Matrix(scene, Projector::joseph), scene);
  for (const char* method : {"sirt", "cgls"})
    for (const auto& options : {RunOptions(), split(0, 2), split(2), split(static_cast<int>(scene.grid.size[2]), 1)}) {
      const auto found = run(b, scene, {.method = method, .iterations = 3}, device(), options);
      EXPECT_EQ(found.result.run.bus_bytes, found.result.run.plan.bus_bytes)
          << method << ", " << found.result.run.plan.slabs.size() << " slabs";
    }
}

std::vector<reference::Scene> chosen_scenes() {
  auto all = reference::scenes();
  all.push_back({"one_slice", all.front().geometry, all.front().projections, default_grid({13, 7, 1}, {2, 3, 1.5})});
  return all;
}
INSTANTIATE_TEST_SUITE_P(, SolverScenes, testing::ValuesIn(chosen_scenes()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace halocline
