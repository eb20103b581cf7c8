// labels: device nightly
// Rounding of detector coordinates to float32 in the largest scans: 4096^3 voxels, 4096^2 pixels.
#include "algorithms/projectors/coordinate_error.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/projectors/backprojection.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline::coordinate_error_test {
namespace {

constexpr std::size_t n = 4096;
constexpr int period = 16;

struct Large {
  Geometry geometry;
  Grid volume, stack;
};

// Offset and off the axis, cone angle about 9 degrees; tilted, or with what leaves u and w alone along k.
Large large_scan(bool tilted, std::vector<double> angles) {
  CircularOptions options;
  options.sid = 1000;
  options.sdd = 1500;
  options.angles = std::move(angles);
  options.projection_offset_x = 31.7;
  options.projection_offset_y = -12.3;
  options.source_offset_x = 2.1;
  options.source_offset_y = -3.4;
  if (tilted) {
    options.in_plane_angle = 1.5;
    options.out_of_plane_angle = 2;
  }
  Large scan;
  scan.geometry = circular_geometry(options);
  scan.volume = default_grid({n, n, n}, {200.0 / n, 200.0 / n, 200.0 / n});
  for (double& each : scan.volume.origin) each += 7.3;
  const double pixel = 400.0 / n;
  scan.stack.size = {n, n, scan.geometry.views.size()};
  scan.stack.spacing = {pixel, pixel, 1};
  scan.stack.origin = {-200, -200, 0};
  return scan;
}

struct Seen {
  double u, v;
  bool inside;
};
Seen seen(const Matrix34& m, std::size_t i, std::size_t j, std::size_t k) {
  const double x = static_cast<double>(i) - 2047.5, y = static_cast<double>(j) - 2047.5,
               z = static_cast<double>(k) - 2047.5;
  const auto row = [&](int r) { return m[r] * x + m[r + 1] * y + m[r + 2] * z + m[r + 3]; };
  const double u = row(0) / row(8), v = row(4) / row(8);
  return {u, v, u > 0 && v > 0 && u < n - 1 && v < n - 1};
}

// The bound is one, and a step of a texture unit's 8-bit fractions is larger.
TEST(CoordinateError, IsBoundedFor4096Voxels) {
  const Large scan = large_scan(true, {0, 10, 45, 77, 90, 133, 180, 200, 271.5, 315});
  double worst = 0, worst_bound = 0;
  std::size_t count = 0;
  for (const View& view : scan.geometry.views) {
    const Matrix34 m = index_to_detector(view, scan.volume, scan.stack);
    for (std::size_t k = 0; k < n; k += 117)
      for (std::size_t j = 0; j < n; j += 117)
        for (std::size_t i = 0; i < n; i += 13) {
          if (!seen(m, i, j, k).inside) continue;
          const CoordinateError at = coordinate_error(m, scan.volume.size, {i, j, k});
          ASSERT_LE(at.error, at.bound) << i << " " << j << " " << k;
          worst = std::max(worst, at.error);
          worst_bound = std::max(worst_bound, at.bound);
          ++count;
        }
  }
  EXPECT_GT(count, 1000000u);
  EXPECT_GT(worst, 0x1p-24 * n / 2);  // half a unit in the last place of 4096 cannot be escaped
  EXPECT_LT(worst_bound, 1.0 / 256);
  const CoordinateError sampled = worst_coordinate_error(scan.geometry, scan.volume, scan.stack);
  EXPECT_LE(sampled.error, sampled.bound);
  EXPECT_GT(sampled.error, worst / 4);
}

// The kernels themselves: values interpolated from pixels that hold their own number show the coordinate. A slice of
// the volume and a view at a time; numbers count modulo `period`, so that float32 holds them and their fractions to
// 2^-20.
void check_kernel(bool tilted, bool cpu, std::size_t k, double angle) {
  const auto devices = open_devices({});
  const Large scan = large_scan(tilted, {angle});
  const Matrix34 m = index_to_detector(scan.geometry.views[0], scan.volume, scan.stack);
  const Backprojection method(scan.geometry, scan.stack, scan.volume, {.cpu = cpu});
  Plan plan = whole_plan(method.requirements(), 1);
  const auto slice = static_cast<std::int64_t>(k);
  plan.slabs[0].interior = plan.slabs[0].extended = {slice, slice + 1};
  const Range rows = plan.slabs[0].rows = plan.requirements.detector_rows({slice, slice + 1});
  DeviceSlab slab(devices.front(), plan, 0);
  std::vector<float> raw(n * static_cast<std::size_t>(rows.count())), found(n * n);
  double worst = 0;
  std::size_t count = 0;
  for (const bool along : {false, true}) {  // u, then v
    for (std::size_t at = 0; at < raw.size(); ++at)
      raw[at] = static_cast<float>((along ? static_cast<std::size_t>(rows.begin) + at / n : at % n) % period);
    slab.upload_bytes("raw", 0, raw.data(), raw.size() * sizeof(float));
    method.start(slab);
    slab.fill("volume", 0);
    method.filter(slab, {0, 1}, {});
    method.accumulate(slab, {0, 1}, slab.interior(), {});
    slab.download("volume", {slice, slice + 1}, found.data(), slice);
    slab.wait();
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; i += 3) {
        const Seen at = seen(m, i, j, k);
        const double expected = std::fmod(along ? at.v : at.u, period);
        if (!at.inside || expected < 0.1 || expected > period - 1.1) continue;  // where the numbers begin again
        const double error = std::abs(static_cast<double>(found[i + n * j]) - expected);
        // the interpolation rounds two products and a sum, below 16 each
        const double bound = coordinate_error(m, scan.volume.size, {i, j, k}).bound + 6 * period * 0x1p-24;
        ASSERT_LE(error, bound) << i << " " << j << " " << k << (along ? " v" : " u");
        worst = std::max(worst, error);
        ++count;
      }
  }
  EXPECT_GT(count, 1000000u);
  EXPECT_GT(worst, 0x1p-24 * n / 8);  // the slices see all of the detector's columns
}

TEST(CoordinateError, IsThatOfTheKernels) {
  if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
  check_kernel(true, false, 0, 77);
  check_kernel(true, false, 2911, 200);
}

TEST(CoordinateError, IsThatOfTheColumns) {
  if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
  check_kernel(false, true, 4095, 133);
}

}  // namespace
}  // namespace halocline::coordinate_error_test
