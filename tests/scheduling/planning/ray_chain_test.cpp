// labels: unit
// Bands of ray sums: each row is added up over the slabs that it crosses, in ascending order, whatever goes where.
#include "scheduling/planning/ray_chain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "scheduling/planning/program_plan.hpp"
#include "scheduling/planning/range_set.hpp"
#include "scheduling/planning/step_tasks.hpp"

namespace halocline::ray_chain_test {
namespace {

using Kind = Residence::Move::Kind;
using RowsOf = std::function<Range(Range)>;

// A ray sum as the numbers of the slabs that added to it.
using Sum = std::vector<std::size_t>;

constexpr std::size_t views = 5;

Program projecting(std::size_t slices, std::size_t rows, RowsOf crossed) {
  Program program;
  program.needs.algorithm = "example";
  program.needs.size = {3, 4, slices};
  program.needs.form = ProgramForm::steps;
  program.needs.stack = {2, rows, views};
  program.needs.arrays = {{.name = "x", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                          {.name = "r", .kind = ArrayKind::projections, .lifetime = Lifetime::iteration}};
  program.each = {
      {.name = "project", .over = Domain::ray_sums, .arrays = {in("x"), out("r")}, .rows = std::move(crossed)}};
  return program;
}

Plan plan_of(const Program& program, int devices, int slabs, int batch) {
  PlanOptions options{.minimum_slabs = slabs, .batch = batch};
  std::vector<DeviceModel> models;
  for (int n = 0; n < devices; ++n) {
    DeviceModel model{.name = std::to_string(n)};
    model.memory = model.max_allocation = std::size_t{1} << 30;
    options.speeds[model.name] = 1;
    models.push_back(model);
  }
  return plan_program(program, models, options);
}

// Carries out the moves of all devices, whose tasks begin as soon as they can.
class Simulation {
 public:
  Simulation(const Program& program, const Plan& plan) : plan_(plan), chain_(program.each[0], plan) {
    host_.assign(views * program.needs.stack[1], {std::size_t{999}});  // what nobody may go on with
    std::map<int, std::size_t> next;
    std::map<int, std::vector<Task>> tasks;
    std::map<int, std::vector<TaskMoves>> moves;
    for (const SlabPlan& slab : plan.slabs) next[slab.device] = 0;
    for (const auto& [device, zero] : next) {
      tasks[device] = tasks_of(program, program.each[0], program.needs.views(), plan, device, chain_);
      moves[device] = moves_of(program, program.each[0], plan, tasks[device]);
    }
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (auto& [device, n] : next)
        for (; n < tasks[device].size() && has_arrived(tasks[device][n]); ++n, goes_on = true)
          perform(device, tasks[device][n], moves[device][n]);
    }
    for (const auto& [device, n] : next) EXPECT_EQ(n, tasks[device].size()) << "device " << device << " waits";
  }

  const std::vector<Sum>& host() const { return host_; }
  double moved() const { return moved_; }
  const RayChain& chain() const { return chain_; }

 private:
  bool has_arrived(const Task& task) {
    return std::all_of(task.follows.begin(), task.follows.end(), [&](const RayLink& link) {
      return stored_[{link.from, task.views.begin}].contains(link.rows);
    });
  }

  Sum& on_host(std::int64_t view, std::int64_t row) {
    return host_.at(unsigned_count(view * plan_.requirements.rows().count() + row));
  }

  void each_ray(const Residence::Part& part, const auto& work) {
    for (auto view = part.range.begin; view < part.range.end; ++view)
      for (auto row = part.rows.begin; row < part.rows.end; ++row) work(view, row);
  }

  void perform(int device, const Task& task, const TaskMoves& moves) {
    auto& held = held_[device];
    const auto carry_out = [&](const Residence::Move& move) {
      if (move.name != "r") return;
      if (move.kind != Kind::zero)
        moved_ += 4 * 2 * static_cast<double>(move.part.rows.count() * move.part.range.count());
      if (move.kind != Kind::store) held.clear();
      each_ray(move.part, [&](auto view, auto row) {
        if (move.kind == Kind::zero) held[{view, row}] = {};
        if (move.kind == Kind::load) held[{view, row}] = on_host(view, row);
        if (move.kind == Kind::store) on_host(view, row) = held.at({view, row});
      });
    };
    for (const auto& move : moves.before) carry_out(move);
    each_ray({task.views, task.rows}, [&](auto view, auto row) { held.at({view, row}).push_back(task.slab); });
    for (const auto& move : moves.after) carry_out(move);
    if (task.passes_on) stored_[{task.slab, task.views.begin}].add(task.rows);
  }

  const Plan& plan_;
  RayChain chain_;
  std::vector<Sum> host_;
  std::map<int, std::map<std::pair<std::int64_t, std::int64_t>, Sum>> held_;
  std::map<std::pair<std::size_t, std::int64_t>, RangeSet> stored_;
  double moved_ = 0;
};

// Every ray meets each slab that it crosses once, in order; the device's traffic is that of the forecast.
void expect_every_slab_once(const Program& program, const Plan& plan, const RowsOf& crossed) {
  if (place_of(plan, "r") != Place::host) return;  // one slab, with all rows
  const Simulation ran(program, plan);
  const auto rows = program.needs.rows().count();
  for (std::size_t n = 0; n < ran.host().size(); ++n) {
    const Sum& sum = ran.host()[n];
    const auto row = static_cast<std::int64_t>(n) % rows;
    ASSERT_FALSE(sum.empty()) << "row " << row << " was never set to 0";
    EXPECT_THAT(sum, testing::Not(testing::Contains(std::size_t{999})));
    EXPECT_TRUE(std::is_sorted(sum.begin(), sum.end()));
    EXPECT_EQ(std::adjacent_find(sum.begin(), sum.end()), sum.end());
    for (std::size_t slab = 0; slab < plan.slabs.size(); ++slab)
      if (crossed(plan.slabs[slab].interior).contains(row)) {
        EXPECT_THAT(sum, testing::Contains(slab)) << "row " << row;
      }
  }
  Plan volume_resident = plan;  // the volume's bytes are not simulated
  volume_resident.resident = true;
  const double stack = count_step_bytes(program, program.each[0], program.needs.views(), volume_resident);
  EXPECT_EQ(ran.moved(), stack);
}

struct Form {
  const char* name;
  std::function<RowsOf(std::int64_t slices, std::int64_t rows)> crossed;
};

std::vector<Form> forms() {
  const auto magnified = [](std::int64_t slices, std::int64_t rows, double far, double near, double shift) {
    return [=](Range s) {
      const double centre = 0.5 * static_cast<double>(slices),
                   pixel = static_cast<double>(rows) / static_cast<double>(slices);
      const double low = static_cast<double>(s.begin) - centre, high = static_cast<double>(s.end) - centre;
      const auto at = [&](double z, double scale) { return pixel * (z * scale + centre + shift); };
      const double lowest = std::min(at(low, far), at(low, near)), highest = std::max(at(high, far), at(high, near));
      return Range{static_cast<std::int64_t>(std::floor(lowest)), static_cast<std::int64_t>(std::ceil(highest))};
    };
  };
  return {
      {"parallel", [=](auto n, auto rows) { return RowsOf(magnified(n, rows, 1, 1, 0)); }},
      {"circular", [=](auto n, auto rows) { return RowsOf(magnified(n, rows, 0.7, 1.1, 0)); }},
      {"beside the detector", [=](auto n, auto rows) { return RowsOf(magnified(n, rows, 0.8, 1.5, 0.9 * double(n))); }},
      {"small on the detector", [=](auto n, auto rows) { return RowsOf(magnified(n, rows, 0.3, 0.4, 0)); }},
      {"upside down",
       [=](auto n, auto rows) {
         return RowsOf([=, turned = magnified(n, rows, 0.7, 1.1, 0)](Range s) {
           return turned({n - s.end, n - s.begin});
         });
       }},
      {"any",
       [](auto n, auto rows) {
         return RowsOf([=](Range s) {
           std::mt19937 random(static_cast<unsigned>(17 * s.begin + s.end + n));
           std::uniform_int_distribution<std::int64_t> place(-2, rows + 2);
           const auto [low, high] = std::minmax({place(random), place(random)});
           return Range{low, high};
         });
       }},
      {"none", [](auto, auto) { return RowsOf([](Range) { return Range{}; }); }},
      {"all", [](auto, auto rows) { return RowsOf([=](Range) {
                                      return Range{0, rows};
                                    }); }},
  };
}

TEST(RayChain, GivesEveryRowItsSlabsInOrder) {
  for (const Form& form : forms())
    for (const auto& [slices, rows] : {std::pair<std::size_t, std::size_t>{1, 7}, {7, 1}, {7, 93}, {13, 9}, {31, 16}})
      for (const int devices : {1, 2, 3})
        for (const int slabs : {0, 2, 5, 31})
          for (const int batch : {1, 2, 5}) {
            SCOPED_TRACE(testing::Message() << form.name << ", " << slices << " slices, " << rows << " rows, "
                                            << devices << " devices, " << slabs << " slabs, batches of " << batch);
            const RowsOf crossed = form.crossed(static_cast<std::int64_t>(slices), static_cast<std::int64_t>(rows));
            const Program program = projecting(slices, rows, crossed);
            expect_every_slab_once(program, plan_of(program, devices, slabs, batch), crossed);
          }
}

TEST(RayChain, MovesOnlyRowsThatCrossABorder) {
  const auto halves = [](Range slices) { return Range{slices.begin, slices.end}; };  // a row a slice
  const Program banded = projecting(64, 64, halves), whole = projecting(64, 64, {});
  const Plan plan = plan_of(banded, 2, 2, 1);
  ASSERT_EQ(plan.slabs.size(), 2u);
  const auto bytes = [&](const Program& program) {
    return count_step_bytes(program, program.each[0], program.needs.views(), plan);
  };
  const double stack = 4 * 2 * 64 * views;
  EXPECT_EQ(bytes(banded), stack) << "each row down once";
  EXPECT_EQ(bytes(whole), 3 * stack) << "down, up to the next device, and down again";
  const RayChain chain(banded.each[0], plan);
  EXPECT_TRUE(chain.links().empty()) << "the devices do not wait for each other";
}

TEST(RayChain, CostsOneDeviceNoMoreThanWholeViews) {
  for (const Form& form : forms())
    for (const auto& [slices, rows] : {std::pair<std::size_t, std::size_t>{7, 93}, {13, 9}, {31, 16}})
      for (const int slabs : {2, 5, 31})
        for (const int batch : {1, 2, 5}) {
          SCOPED_TRACE(testing::Message() << form.name << ", " << slices << " slices, " << rows << " rows, " << slabs
                                          << " slabs, batches of " << batch);
          const auto nz = static_cast<std::int64_t>(slices), count = static_cast<std::int64_t>(rows);
          const Program banded = projecting(slices, rows, form.crossed(nz, count)),
                        whole = projecting(slices, rows, {});
          const Plan plan = plan_of(banded, 1, slabs, batch);
          const auto bytes = [&](const Program& program) {
            return count_step_bytes(program, program.each[0], program.needs.views(), plan);
          };
          EXPECT_LE(bytes(banded), bytes(whole));
        }
}

TEST(RayChain, BeginsWithRowsThatOtherDevicesWaitFor) {
  const auto crossed = [](Range slices) { return Range{slices.begin - 4, slices.end + 4}; };
  const Program program = projecting(60, 60, crossed);
  const Plan plan = plan_of(program, 3, 3, 1);
  const RayChain chain(program.each[0], plan);
  const auto rows = [&](std::size_t slab) {
    std::vector<Range> result;
    for (const RayPiece& piece : chain.pieces(slab)) result.push_back(piece.rows);
    return result;
  };
  EXPECT_THAT(rows(0), testing::ElementsAre(Range{16, 24}, Range{0, 16}));
  EXPECT_THAT(rows(1), testing::ElementsAre(Range{36, 44}, Range{24, 36}, Range{16, 24}));
  EXPECT_THAT(rows(2), testing::ElementsAre(Range{44, 60}, Range{36, 44}));
  EXPECT_FALSE(chain.pieces(1).back().begins);
}

}  // namespace
}  // namespace halocline::ray_chain_test
