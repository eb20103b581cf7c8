// labels: device
// The image of FDK, of which a rank makes the slices that it needs.
#include "algorithms/solvers/fdk_start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "host/opencl/trial_values.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/ray_matrix.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::fdk_start_test {
namespace {

using testing::HasSubstr;

// Projections that know which of their rows were read.
class WatchedRows : public VolumeSource {
 public:
  explicit WatchedRows(const Volume& projections) : projections_(projections) {}
  const Grid& grid() const override { return projections_.grid; }
  void read(std::size_t first, std::size_t count, float* to) const override {
    std::copy_n(projections_.voxels.begin() + static_cast<std::ptrdiff_t>(first), count, to);
    const std::lock_guard lock(mutex_);
    for (std::size_t n = first; n < first + count; ++n)
      rows_.insert(static_cast<std::int64_t>(n / grid().size[0] % grid().size[1]));
  }
  std::set<std::int64_t> take_rows() const { return std::exchange(rows_, {}); }

 private:
  const Volume& projections_;
  mutable std::mutex mutex_;
  mutable std::set<std::int64_t> rows_;
};

struct FdkStarts : testing::Test {
  explicit FdkStarts(std::size_t slices = 14, double arc = 360) {
    CircularOptions circle;
    circle.sid = 200;
    circle.sdd = 300;
    circle.projections = 24;
    circle.arc = arc;
    geometry = circular_geometry(circle);
    grid = default_grid({11, 9, slices}, {2, 2, 2});
    projections = Volume::uninitialised(reference::detector(21, 47, geometry.views.size(), 1.5, 1));
    for (std::size_t n = 0; n < projections.voxels.size(); ++n) projections.voxels[n] = trial_value(n);
    parameters.method = "sirt";
  }

  FdkStart start(const VolumeSource& source, Range slices, const PlanOptions& plan = {}) const {
    RunOptions options;
    options.plan = plan;
    return fdk_start(source, geometry, grid, parameters, reference::device(), options, slices);
  }
  Range all() const { return {0, static_cast<std::int64_t>(grid.size[2])}; }
  Volume whole() const { return read_volume(*start(MemorySource(projections), all()).image); }
  // The rows that these slices see, as planned.
  std::set<std::int64_t> rows_of(Range slices) const {
    const auto plan =
        plan_fdk_start(geometry, projections.grid, grid, parameters, device_models(reference::device()), {}, slices);
    std::set<std::int64_t> rows;
    for (const SlabPlan& slab : plan->slabs)
      for (std::int64_t row = slab.rows.begin; row < slab.rows.end; ++row) rows.insert(row);
    return rows;
  }

  Geometry geometry;
  Grid grid;
  Volume projections;
  ReconstructionParameters parameters;
};

TEST_F(FdkStarts, MakeTheirSlicesOfTheRowsThatTheySeeAndTheOthersWhenThoseAreRead) {
  const Volume expected = whole();
  for (const Range slices : {Range{0, 5}, Range{4, 11}, Range{13, 14}}) {
    const WatchedRows source(projections);
    const FdkStart partial = start(source, slices);
    ASSERT_TRUE(partial.image) << partial.why_not;
    const auto rows = source.take_rows();
    EXPECT_EQ(rows, rows_of(slices));
    EXPECT_LT(rows.size(), projections.grid.size[1]);
    EXPECT_EQ(partial.image->data(), nullptr);
    std::vector<float> made(grid.slice() * slices.size());
    const std::size_t first = grid.slice() * unsigned_count(slices.begin);
    partial.image->read(first, made.size(), made.data());
    EXPECT_TRUE(std::equal(made.begin(), made.end(), expected.voxels.begin() + static_cast<std::ptrdiff_t>(first)));
    EXPECT_TRUE(source.take_rows().empty()) << "slices that are there are made again";
    EXPECT_TRUE(same_bits(read_volume(*partial.image), expected));
    EXPECT_FALSE(source.take_rows().empty());
    EXPECT_NE(partial.image->data(), nullptr);
  }
}

TEST_F(FdkStarts, MakeNothingWhereNothingIsNeeded) {
  const WatchedRows source(projections);
  const FdkStart none = start(source, {0, 0});
  ASSERT_TRUE(none.image);
  EXPECT_TRUE(source.take_rows().empty());
  EXPECT_TRUE(same_bits(read_volume(*none.image), whole()));
  EXPECT_FALSE(
      plan_fdk_start(geometry, projections.grid, grid, parameters, device_models(reference::device()), {}, {}));
}

TEST_F(FdkStarts, HaveSlabsWithTheSameBits) {
  PlanOptions thin;
  thin.minimum_slabs = 4;
  const MemorySource source(projections);
  const FdkStart slabs = start(source, {3, 12}, thin);
  EXPECT_GE(slabs.run.plan.slabs.size(), 4u);
  EXPECT_TRUE(same_bits(read_volume(*slabs.image), whole()));
}

struct FdkStartsOfAShortArc : FdkStarts {
  FdkStartsOfAShortArc() : FdkStarts(14, 90) {}
};

TEST_F(FdkStartsOfAShortArc, AreRefused) {
  const WatchedRows source(projections);
  const FdkStart refused = start(source, all());
  EXPECT_FALSE(refused.image);
  EXPECT_THAT(refused.why_not, HasSubstr("begin with a constant image, not with that of fdk, which would say: "));
  EXPECT_THAT(refused.why_not, HasSubstr("cover only 86.25 degrees"));
  EXPECT_TRUE(source.take_rows().empty());
  EXPECT_FALSE(
      plan_fdk_start(geometry, projections.grid, grid, parameters, device_models(reference::device()), {}, all()));
}

}  // namespace
}  // namespace halocline::fdk_start_test
