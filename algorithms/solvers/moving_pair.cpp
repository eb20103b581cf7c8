#include "algorithms/solvers/moving_pair.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "host/system/error.hpp"

namespace halocline {

struct MovingPair::Present {
  // How the arrays of a method differ from those of the first one.
  struct Arrays {
    std::map<std::string, std::string> more{};  // names of those that the first one does not have
    std::vector<ArrayNeed> unused{};            // those of the first one alone
  };

  std::shared_ptr<const ProjectionMethod> forward, first_forward;
  std::shared_ptr<const BackprojectionMethod> adjoint, first_adjoint;
  std::function<Range(Range)> rows, crossed_rows;  // of the adjoint, of the projection
  Arrays forward_arrays{}, adjoint_arrays{};
};

namespace {

using OtherArrays = MovingPair::Present::Arrays;
using NamesOfArrays = std::map<std::string, std::string>;

// Needs of a method, and the arrays of the first one, which are there.
Requirements needs_of(const auto& method, const OtherArrays& arrays) {
  Requirements needs = method.requirements();
  needs.arrays.insert(needs.arrays.end(), arrays.unused.begin(), arrays.unused.end());
  return needs;
}

// Works on a slab's arrays by the names around it, but by those of `more` on the method's arrays that it has.
void with_names(Slab& slab, const auto& method, const NamesOfArrays& more, const auto& work) {
  if (more.empty()) return work();
  NamesOfArrays names;
  for (const ArrayNeed& need : method.requirements().arrays) {
    const auto found = more.find(need.name);
    names[need.name] = found == more.end() ? slab.resolved(need.name) : found->second;
  }
  const Slab::Names scope(slab, names);
  work();
}

class MovingProjection : public ProjectionMethod {
 public:
  explicit MovingProjection(std::shared_ptr<const MovingPair::Present> present) : present_(std::move(present)) {}
  Requirements requirements() const override { return needs_of(now(), present_->forward_arrays); }
  bool takes_norm() const override { return now().takes_norm(); }
  std::vector<std::string> sums() const override { return now().sums(); }
  void start(Slab& slab) const override {
    named(slab, [&] { now().start(slab); });
  }
  ViewTables view_tables() const override { return present_->first_forward->view_tables(); }
  std::vector<int> order() const override { return now().order(); }
  std::function<Range(Range)> crossed_rows() const override {
    if (!present_->crossed_rows) return {};
    return [present = present_](Range slices) { return present->crossed_rows(slices); };
  }
  void check_device(const DeviceInfo& device) const override { now().check_device(device); }
  void loaded(Slab& slab) const override {
    named(slab, [&] { now().loaded(slab); });
  }
  void project(Slab& slab, Range views, const Scalars& scalars) const override {
    named(slab, [&] { now().project(slab, views, scalars); });
  }

 private:
  const ProjectionMethod& now() const { return *present_->forward; }
  void named(Slab& slab, const auto& work) const { with_names(slab, *this, present_->forward_arrays.more, work); }
  std::shared_ptr<const MovingPair::Present> present_;
};

class MovingBackprojection : public BackprojectionMethod {
 public:
  explicit MovingBackprojection(std::shared_ptr<const MovingPair::Present> present) : present_(std::move(present)) {}
  // Plans ask for the rows later.
  Requirements requirements() const override {
    Requirements result = needs_of(now(), present_->adjoint_arrays);
    if (result.detector_rows)
      result.detector_rows = [present = present_](Range slices) { return present->rows(slices); };
    return result;
  }
  bool takes_norm() const override { return now().takes_norm(); }
  std::vector<std::string> sums() const override { return now().sums(); }
  void start(Slab& slab) const override {
    named(slab, [&] { now().start(slab); });
  }
  ViewTables view_tables() const override { return present_->first_adjoint->view_tables(); }
  std::vector<int> order() const override { return now().order(); }
  Range rows_read(Range rows) const override { return now().rows_read(rows); }
  void filter(Slab& slab, Range views, const Scalars& scalars) const override {
    named(slab, [&] { now().filter(slab, views, scalars); });
  }
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override {
    named(slab, [&] { now().accumulate(slab, views, slices, scalars); });
  }

 private:
  const BackprojectionMethod& now() const { return *present_->adjoint; }
  void named(Slab& slab, const auto& work) const { with_names(slab, *this, present_->adjoint_arrays.more, work); }
  std::shared_ptr<const MovingPair::Present> present_;
};

bool has_tables_of(const ViewTables& one, const ViewTables& other) {
  return std::all_of(other.begin(), other.end(),
                     [&](const ViewTable& table) { return std::find(one.begin(), one.end(), table) != one.end(); });
}

// Compares what plans and steps know of methods, but for their arrays: steps of the first serve the other.
bool are_stepped_alike(const auto& a, const auto& b) {
  const Requirements one = a.requirements(), other = b.requirements();
  return one.size == other.size && one.stack == other.stack && one.batch_step == other.batch_step &&
         !one.detector_rows == !other.detector_rows && a.order() == b.order() && a.sums() == b.sums() &&
         a.takes_norm() == b.takes_norm() && has_tables_of(a.view_tables(), b.view_tables());
}

bool are_alike(const auto& a, const auto& b) {
  const Requirements one = a.requirements(), other = b.requirements();
  return are_stepped_alike(a, b) && one.arrays == other.arrays && one.halo_low == other.halo_low &&
         one.halo_high == other.halo_high && one.preferred_batch == other.preferred_batch;
}

bool have_alike_forms(const ProjectorPair& a, const ProjectorPair& b) {
  return are_alike(*a.forward, *b.forward) && are_alike(*a.adjoint, *b.adjoint) &&
         !a.forward->crossed_rows() == !b.forward->crossed_rows();
}

bool have_alike_steps(const ProjectorPair& a, const ProjectorPair& b) {
  return are_stepped_alike(*a.forward, *b.forward) && are_stepped_alike(*a.adjoint, *b.adjoint) &&
         !a.forward->crossed_rows() == !b.forward->crossed_rows();
}

// label: of arrays that the first one does not have.
OtherArrays arrays_of(const auto& method, const auto& first, const std::string& label) {
  const auto own = method.requirements().arrays, its = first.requirements().arrays;
  OtherArrays result;
  for (const ArrayNeed& need : own)
    if (std::find(its.begin(), its.end(), need) == its.end()) result.more[need.name] = label + need.name;
  std::copy_if(its.begin(), its.end(), std::back_inserter(result.unused), [&](const ArrayNeed& need) {
    return std::none_of(own.begin(), own.end(), [&](const ArrayNeed& each) { return each.name == need.name; });
  });
  return result;
}

void add_more(Program& program, const Requirements& needs, const NamesOfArrays& names,
              const std::vector<std::string>& sums) {
  for (ArrayNeed need : needs.arrays) {
    const auto found = names.find(need.name);
    if (found == names.end()) continue;
    if (std::find(sums.begin(), sums.end(), need.name) != sums.end()) need.lifetime = Lifetime::iteration;
    need.name = found->second;
    program.needs.arrays.push_back(std::move(need));
  }
  program.needs.halo_low = std::max(program.needs.halo_low, needs.halo_low);
  program.needs.halo_high = std::max(program.needs.halo_high, needs.halo_high);
  program.needs.kernels.insert(program.needs.kernels.end(), needs.kernels.begin(), needs.kernels.end());
}

OtherArrays forward_arrays(const ProjectorPair& pair, const ProjectorPair& first, const std::string& label) {
  return arrays_of(*pair.forward, *first.forward, label + "forward ");
}

OtherArrays adjoint_arrays(const ProjectorPair& pair, const ProjectorPair& first, const std::string& label) {
  return arrays_of(*pair.adjoint, *first.adjoint, label + "adjoint ");
}

}  // namespace

MovingPair::MovingPair(const ProjectorPair& first, std::string label)
    : first_(first),
      label_(std::move(label)),
      present_(new Present{first.forward, first.forward, first.adjoint, first.adjoint,
                           first.adjoint->requirements().detector_rows, first.forward->crossed_rows()}),
      pair_{std::make_shared<MovingProjection>(present_), std::make_shared<MovingBackprojection>(present_), nullptr,
            first.matched, first.all_rows} {}

bool MovingPair::has_forms_of(const ProjectorPair& next) const {
  return have_alike_forms(first_, next);
}

Program MovingPair::arrays_for(const ProjectorPair& next) {
  Program program;
  program.needs.preferred_batch = 1;  // that of the plan serves
  add_more(program, next.forward->requirements(), forward_arrays(next, first_, label_).more, next.forward->sums());
  add_more(program, next.adjoint->requirements(), adjoint_arrays(next, first_, label_).more, next.adjoint->sums());
  const auto& arrays = program.needs.arrays;
  if (!have_alike_steps(first_, next) || !std::all_of(arrays.begin(), arrays.end(), [&](const ArrayNeed& need) {
        return more_.try_emplace(need.name, need).first->second == need;
      }))
    throw InputError({.what = "the geometry that a projector is moved to",
                      .found = "one for which other kernels run, with other arrays",
                      .expected = "one like the first: a detector of the same kind, rays that end at the source and "
                                  "detector or pass the volume as before",
                      .remedy = "make another operator"});
  return program;
}

void MovingPair::move_to(const ProjectorPair& next) {
  *present_ = {next.forward,
               first_.forward,
               next.adjoint,
               first_.adjoint,
               next.adjoint->requirements().detector_rows,
               next.forward->crossed_rows(),
               forward_arrays(next, first_, label_),
               adjoint_arrays(next, first_, label_)};
}

ProjectorPair MovingPair::present() const {
  return {present_->forward, present_->adjoint};
}

}  // namespace halocline
