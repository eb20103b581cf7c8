// labels: unit
// The schedule of time-skewed regions: every slice of every level is made once, and nothing is read that is not there.
#include "scheduling/planning/skew.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "scheduling/planning/layout.hpp"

namespace halocline::skew_test {
namespace {

using ::testing::ElementsAre;

Requirements stencil(std::int64_t nz, int low, int high, int reduction_halo) {
  Requirements r;
  r.size = {1, 1, static_cast<std::size_t>(nz)};
  r.iterations = 1000;
  r.halo_low = low;
  r.halo_high = high;
  r.reduction_halo = reduction_halo;
  ArrayNeed u;
  u.name = "u";
  u.lifetime = Lifetime::output;
  r.arrays = {u};
  return r;
}

std::vector<Range> parts(Range block, std::int64_t thickness) {
  std::vector<Range> result;
  for (auto begin = block.begin; begin < block.end; begin += thickness)
    result.push_back({begin, std::min(block.end, begin + thickness)});
  return result;
}

constexpr int nothing = -1;

// Does a pass with numbers of levels instead of a state: a window whose slices hold the level that was written last.
class Pretender {
 public:
  Pretender(const Requirements& requirements, const PassSteps& steps, std::vector<Range> regions)
      : r_(requirements), steps_(steps), regions_(std::move(regions)), work_(skewed_work(r_, steps_, regions_)) {
    made_.resize(steps_.levels());
    reduced_.resize(steps_.levels());
  }

  void run() {
    const auto nz = static_cast<std::int64_t>(r_.size[2]);
    std::vector<std::vector<std::pair<std::int64_t, int>>> seams(steps_.levels());
    for (std::size_t region = 0; region < work_.size(); ++region) {
      const auto& work = work_[region];
      ASSERT_GE(work.window.begin, 0);
      ASSERT_LE(work.window.end, nz);
      std::vector<int> window(static_cast<std::size_t>(work.window.count()), nothing);
      const auto at = [&](std::int64_t slice) -> int& {
        EXPECT_TRUE(work.window.contains(slice)) << slice;
        return window.at(static_cast<std::size_t>(slice - work.window.begin));
      };
      const auto expect_level = [&](Range slices, int level) {
        for (auto slice = std::max<std::int64_t>(0, slices.begin); slice < std::min(nz, slices.end); ++slice)
          EXPECT_EQ(at(slice), level) << "slice " << slice << " of region " << region << " for level " << level + 1;
      };
      const Range fresh = work.levels.front().made;
      for (auto slice = (steps_.starts ? work.window : fresh).begin; slice < fresh.end; ++slice) at(slice) = 0;
      for (std::size_t level = 0; level < steps_.levels(); ++level) {
        const auto& now = work.levels[level];
        const int number = static_cast<int>(level);
        made_[level].push_back(now.made);
        // the region before has kept these and no others
        std::size_t restored = 0;
        for (const auto& [slice, value] : seams[level]) {
          EXPECT_TRUE(now.seam.contains(slice));
          at(slice) = value;
          ++restored;
        }
        if (region > 0) {
          EXPECT_EQ(restored, static_cast<std::size_t>(now.seam.count()));
        } else {
          EXPECT_TRUE(now.seam.empty());
        }
        seams[level].clear();
        expect_level(now.keep, number);
        for (auto slice = now.keep.begin; slice < now.keep.end; ++slice) seams[level].emplace_back(slice, at(slice));
        if (!now.reduced.empty()) {
          EXPECT_TRUE(steps_.reduce[level]);
          expect_level({now.reduced.begin - r_.reduction_halo, now.reduced.end + r_.reduction_halo}, number);
          reduced_[level].push_back(now.reduced);
        }
        if (level + 1 == steps_.levels()) break;
        const Range next = work.levels[level + 1].made;
        if (next.empty()) continue;
        const auto count = steps_.iterations[level];
        const Range reads{next.begin - count * r_.halo_low, next.end + count * r_.halo_high};
        expect_level(reads, number);
        // in place: what is beyond the step's slices holds neither level afterwards
        for (auto slice = std::max(work.window.begin, reads.begin); slice < std::min(work.window.end, reads.end);
             ++slice)
          at(slice) = nothing;
        for (auto slice = next.begin; slice < next.end; ++slice) at(slice) = number + 1;
      }
    }
    // every level is made once and without gaps, and covers what its readers need; sums are taken of every slice
    const Range block{regions_.front().begin, regions_.back().end};
    for (std::size_t level = 0; level < steps_.levels(); ++level) {
      for (std::size_t n = 1; n < made_[level].size(); ++n) EXPECT_EQ(made_[level][n].begin, made_[level][n - 1].end);
      EXPECT_LE(made_[level].front().begin, block.begin);
      EXPECT_GE(made_[level].back().end, block.end);
      auto next = block.begin;
      for (const Range slices : reduced_[level]) {
        EXPECT_EQ(slices.begin, next);
        next = slices.end;
      }
      EXPECT_EQ(next, steps_.reduce[level] ? block.end : block.begin);
    }
  }

  const std::vector<RegionWork>& work() const { return work_; }

 private:
  Requirements r_;
  PassSteps steps_;
  std::vector<Range> regions_;
  std::vector<RegionWork> work_;
  std::vector<std::vector<Range>> made_, reduced_;
};

TEST(PassSteps, endWhereAReductionIsDue) {
  const int due[] = {3, 5, 10};
  const auto steps = PassSteps::of(10, 2, due, false);
  EXPECT_THAT(steps.iterations, ElementsAre(2, 1, 2, 2, 2, 1));
  EXPECT_THAT(steps.reduce, ElementsAre(false, false, true, true, false, false, true));
  const auto plain = PassSteps::of(5, 4, {}, true);
  EXPECT_THAT(plain.iterations, ElementsAre(4, 1));
  EXPECT_EQ(plain.levels(), 3u);
  const int before[] = {0};
  const auto alone = PassSteps::of(0, 1, before, true);
  EXPECT_TRUE(alone.iterations.empty());
  EXPECT_THAT(alone.reduce, ElementsAre(true));
}

TEST(Skew, movesEveryBorderByTheHighHaloAStep) {
  const auto r = stencil(30, 1, 1, 1);
  const int due[] = {3};
  const auto regions = parts({0, 30}, 10);
  const auto work = skewed_work(r, PassSteps::of(3, 1, due, false), regions);
  EXPECT_EQ(work[1].levels[0].made, (Range{10, 20}));
  EXPECT_EQ(work[1].levels[3].made, (Range{7, 17}));
  EXPECT_EQ(work[1].levels[3].reduced, (Range{6, 16}));
  EXPECT_EQ(work[1].levels[0].seam, (Range{8, 10}));  // h + l slices
  EXPECT_EQ(work[1].levels[3].seam, (Range{5, 7}));   // the reduction's halo on both sides
  EXPECT_EQ(work[0].levels[0].keep, (Range{8, 10}));
  EXPECT_EQ(work[1].window, (Range{5, 20}));
  EXPECT_EQ(work[0].levels[3].made, (Range{0, 7}));  // the volume's faces do not move
  EXPECT_EQ(work[2].levels[3].made, (Range{17, 30}));
  EXPECT_TRUE(work[2].levels[0].keep.empty());
}

TEST(Skew, makesEverySliceOfEveryLevelOnce) {
  for (const std::int64_t nz : {1, 2, 7, 93})
    for (const std::int64_t thickness : {1, 2, 5, 40})
      for (const int count : {0, 1, 2, 3, 7, 50, 100})
        for (const int together : {1, 2, 4})
          for (const bool starts : {false, true}) {
            SCOPED_TRACE(testing::Message() << nz << " slices in " << thickness << ", " << count << " iterations by "
                                            << together << (starts ? ", starts" : ""));
            const std::vector<int> due = count == 0 ? std::vector{0} : std::vector{std::max(1, count / 3), count};
            const auto steps = PassSteps::of(count, together, due, starts);
            Pretender(stencil(nz, 1, 1, 1), steps, parts({0, nz}, thickness)).run();
            if (HasFailure()) return;
          }
}

// Halos of any kind, blocks of devices among others, regions of any thickness: and never more than was planned.
TEST(Skew, keepsItsPromisesForAnyStencil) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int n = 0; n < 3000; ++n) {
    const std::int64_t nz = pick(0, 3) == 0 ? pick(1, 4) : pick(1, 60);
    auto r = stencil(nz, pick(0, 3), pick(0, 3), pick(0, 2));
    r.together = pick(1, 4);
    r.reductions_steer = false;
    Range block{0, nz};
    if (pick(0, 1) == 0) block.begin = pick(0, static_cast<int>(nz) - 1);
    if (pick(0, 1) == 0) block.end = pick(static_cast<int>(block.begin) + 1, static_cast<int>(nz));
    std::vector<Range> regions;
    for (auto at = block.begin; at < block.end;) {
      const auto end = std::min<std::int64_t>(block.end, at + pick(1, 9));
      regions.push_back({at, end});
      at = end;
    }
    const int planned = pick(1, 12), count = pick(0, planned);
    std::vector<int> due;
    for (int at = 0; at <= count; ++at)
      if (at > 0 ? pick(0, 3) == 0 : count == 0) due.push_back(at);
    for (const int each : due) r.reductions.push_back(each);
    const auto steps = PassSteps::of(count, r.together, due, pick(0, 2) == 0);
    SCOPED_TRACE(testing::Message() << n << ": " << nz << " slices, block " << block.begin << " " << block.end
                                    << ", halos " << r.halo_low << " " << r.halo_high << " " << r.reduction_halo);
    Pretender pretender(r, steps, regions);
    pretender.run();
    std::int64_t seams = 0;
    for (std::size_t level = 0; level < steps.levels(); ++level) {
      std::int64_t widest = 0;
      for (const auto& work : pretender.work()) widest = std::max(widest, work.levels[level].seam.count());
      seams += widest;
    }
    EXPECT_LE(seams, seam_slices(r, planned));
    for (std::size_t region = 0; region < regions.size(); ++region) {
      const Range window = pretender.work()[region].window, most = skewed_window(r, planned, block, regions[region]);
      EXPECT_GE(window.begin, most.begin);
      EXPECT_LE(window.end, most.end);
    }
    if (HasFailure()) return;
  }
}

TEST(Skew, requirementsNameEveryArrayThatIsUsed) {
  auto r = stencil(50, 1, 2, 1);
  r.size = {3, 5, 50};
  ArrayNeed f, q, v, sums;
  f.name = "f";
  f.lifetime = Lifetime::input;
  q.name = "q";
  q.lifetime = Lifetime::state;
  q.element_bytes = 2;
  v.name = "v";
  sums.name = "sums";
  sums.kind = ArrayKind::slice;
  sums.lifetime = Lifetime::sums;
  sums.element_bytes = 8;
  sums.elements = 6;
  r.arrays.insert(r.arrays.end(), {f, q, v, sums});
  const auto bytes = [](const Requirements& all, const std::string& name) -> std::size_t {
    for (const auto& need : all.arrays)
      if (need.name == name) return array_bytes(need, all, 20, 0, 0);
    return 0;
  };
  const auto many = skewed_requirements(r, 4, true);
  EXPECT_EQ(bytes(many, name_in_role(ArrayRole::seam, "u")), (4u * 3 + 2) * 3 * 5 * 4);
  EXPECT_EQ(bytes(many, name_in_role(ArrayRole::seam, "q")), (4u * 3 + 2) * 3 * 5 * 2);  // as the state is stored
  EXPECT_EQ(bytes(many, sums_of_pass), 50u * 6 * 8);
  for (const char* name : {"f", "u", "q"})
    EXPECT_EQ(bytes(many, name_in_role(ArrayRole::second_buffer, name)), bytes(many, name)) << name;
  EXPECT_EQ(bytes(many, name_in_role(ArrayRole::second_buffer, "v")), 0u);
  // one pass: the state is not transferred, and nothing of the start is kept
  const auto one = skewed_requirements(r, 1000, true);
  EXPECT_EQ(bytes(one, name_in_role(ArrayRole::second_buffer, "q")), 0u);
  EXPECT_GT(bytes(one, name_in_role(ArrayRole::second_buffer, "u")), 0u);
  EXPECT_EQ(bytes(one, name_in_role(ArrayRole::seam, "q")), (999u * 3 + 2) * 3 * 5 * 2);
  EXPECT_FALSE(is_overlapped(skewed_requirements(r, 4, false)));
  EXPECT_TRUE(is_overlapped(many));
}

}  // namespace
}  // namespace halocline::skew_test
