// labels: device
// The image of FDK that ranks make together, each of them in turn beside one that is played by the test.
#include "algorithms/solvers/fdk_start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <set>
#include <sstream>

#include "host/opencl/trial_values.hpp"
#include "scheduling/planning/range_set.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/transport/rank_devices.hpp"
#include "tests/reference/ray_matrix.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::fdk_start_test {
namespace {

using testing::HasSubstr;

constexpr float sent_by_other = 7;

// A rank of two. The other one says the same, and has the voxels that this one has not made.
class BesideAnother : public Ranks {
 public:
  BesideAnother(int rank, std::size_t voxels) : rank_(rank), all_{0, static_cast<std::int64_t>(voxels)} {}
  int rank() const override { return rank_; }
  int size() const override { return 2; }
  Message send(int to, int, const MemoryBlocks& from, std::shared_ptr<const void>) override {
    EXPECT_EQ(to, 1 - rank_);
    sent_ += from.bytes;
    return {};
  }
  Message receive(int from, int, const MemoryBlocks& to) override {
    EXPECT_EQ(from, 1 - rank_);
    std::fill_n(reinterpret_cast<float*>(to.first), to.bytes / sizeof(float), sent_by_other);
    return {};
  }
  std::string refusal_elsewhere;

 protected:
  std::vector<std::string> gather_bytes(const std::string& own) override {
    const std::size_t text = own.find('\n') + 1;
    const std::string what = own.substr(0, text);
    std::string other = own.substr(text);
    if (what == "voxels that others have\n") other = parts_not_in(other);
    if (what == "whether fdk takes the scan\n") other = refusal_elsewhere;
    std::vector<std::string> both{own, own};
    both[static_cast<std::size_t>(1 - rank_)] = what + other;
    return both;
  }

 private:
  std::string parts_not_in(const std::string& ranges) const {
    RangeSet given;
    std::istringstream text(ranges);
    for (Range range; text >> range.begin >> range.end;) given.add(range);
    std::string others;
    for (const Range& range : given.missing(all_)) others += fmt::format("{} {} ", range.begin, range.end);
    return others;
  }

  int rank_;
  Range all_;
};

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
  const std::set<std::int64_t>& rows() const { return rows_; }

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

  // The start on one rank of two, which have a device like this one's each.
  FdkStart on_rank(int rank, const VolumeSource& source, const std::string& refusal_elsewhere = {}) const {
    auto both = std::make_unique<BesideAnother>(rank, grid.count());
    both->refusal_elsewhere = refusal_elsewhere;
    const RanksInUse in_use(std::move(both));
    RunOptions options;
    plan_with_all(options.plan, reference::device(), ranks());
    return fdk_start(source, geometry, grid, parameters, reference::device(), options);
  }
  Volume alone() const {
    return *fdk_start(MemorySource(projections), geometry, grid, parameters, reference::device()).image;
  }

  Geometry geometry;
  Grid grid;
  Volume projections;
  ReconstructionParameters parameters;
};

TEST_F(FdkStarts, ARankMakesItsSlicesOfTheRowsThatTheySeeAndGetsTheOthers) {
  Volume together = Volume(grid);
  const Volume whole = alone();
  for (const int rank : {0, 1}) {
    const WatchedRows source(projections);
    const FdkStart start = on_rank(rank, source);
    ASSERT_TRUE(start.image) << start.why_not;
    const Plan& plan = start.run.plan;
    std::set<std::int64_t> rows;
    double made = 0;
    for (const SlabPlan& slab : plan.slabs) {
      if (!plan.is_here(slab.device)) continue;
      for (std::int64_t row = slab.rows.begin; row < slab.rows.end; ++row) rows.insert(row);
      made += static_cast<double>(slab.interior.size() * grid.slice());
    }
    EXPECT_EQ(source.rows(), rows) << "rank " << rank;
    EXPECT_LT(rows.size(), projections.grid.size[1]) << "rank " << rank;
    for (std::size_t n = 0; n < grid.count(); ++n)
      if (start.image->voxels[n] != sent_by_other) together.voxels[n] = start.image->voxels[n];
    EXPECT_GT(made, 0);
    EXPECT_LT(made, 0.6 * static_cast<double>(grid.count()));
    EXPECT_NEAR(start.run.rank_bytes, 4 * made, 100) << "a few words about it, and its voxels";
    EXPECT_EQ(plan.rank_bytes, 4.0 * static_cast<double>(grid.count()));
  }
  EXPECT_TRUE(same_bits(together, whole));
}

TEST_F(FdkStarts, AreRefusedOnAllRanksWhereOneRefusesTheScan) {
  const WatchedRows source(projections);
  const FdkStart start = on_rank(0, source, "the scan is odd there");
  EXPECT_FALSE(start.image);
  EXPECT_THAT(start.why_not, HasSubstr("begin with a constant image, not with that of fdk, which would say: the scan"));
  EXPECT_TRUE(source.rows().empty());
  EXPECT_EQ(
      plan_fdk_start(geometry, projections.grid, grid, parameters, device_models(reference::device()))->slabs.size(),
      1u);
}

struct FdkStartsOfAShortArc : FdkStarts {
  FdkStartsOfAShortArc() : FdkStarts(14, 90) {}
};

TEST_F(FdkStartsOfAShortArc, AreRefusedOnAllRanks) {
  const WatchedRows source(projections);
  for (const int rank : {0, 1}) {
    const FdkStart start = on_rank(rank, source);
    EXPECT_FALSE(start.image);
    EXPECT_THAT(start.why_not, HasSubstr("cover only 86.25 degrees"));
  }
  EXPECT_FALSE(
      plan_fdk_start(geometry, projections.grid, grid, parameters, device_models(reference::device())).has_value());
}

struct FdkStartsOfASlice : FdkStarts {
  FdkStartsOfASlice() : FdkStarts(1) {}
};

TEST_F(FdkStartsOfASlice, ARankWithoutSlicesHasThemAll) {
  int makers = 0;
  for (const int rank : {0, 1}) {
    const WatchedRows source(projections);
    const FdkStart start = on_rank(rank, source);
    ASSERT_TRUE(start.image);
    if (start.image->voxels == std::vector<float>(grid.count(), sent_by_other)) {
      EXPECT_TRUE(source.rows().empty());
      continue;
    }
    ++makers;
    EXPECT_TRUE(same_bits(*start.image, alone()));
  }
  EXPECT_EQ(makers, 1);
}

}  // namespace
}  // namespace halocline::fdk_start_test
