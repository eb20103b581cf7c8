#include "algorithms/solvers/moving_pair.hpp"

#include <algorithm>

#include "host/system/error.hpp"

namespace halocline {

struct MovingPair::Present {
  std::shared_ptr<const ProjectionMethod> forward;
  std::shared_ptr<const BackprojectionMethod> adjoint;
  std::function<Range(Range)> rows, crossed_rows;  // of the adjoint, of the projection
};

namespace {

class MovingProjection : public ProjectionMethod {
 public:
  explicit MovingProjection(std::shared_ptr<const MovingPair::Present> present) : present_(std::move(present)) {}
  Requirements requirements() const override { return now().requirements(); }
  bool takes_norm() const override { return now().takes_norm(); }
  std::vector<std::string> sums() const override { return now().sums(); }
  void start(Slab& slab) const override { now().start(slab); }
  ViewTables view_tables() const override { return now().view_tables(); }
  std::vector<int> order() const override { return now().order(); }
  std::function<Range(Range)> crossed_rows() const override {
    if (!present_->crossed_rows) return {};
    return [present = present_](Range slices) { return present->crossed_rows(slices); };
  }
  void check_device(const DeviceInfo& device) const override { now().check_device(device); }
  void loaded(Slab& slab) const override { now().loaded(slab); }
  void project(Slab& slab, Range views, const Scalars& scalars) const override { now().project(slab, views, scalars); }

 private:
  const ProjectionMethod& now() const { return *present_->forward; }
  std::shared_ptr<const MovingPair::Present> present_;
};

class MovingBackprojection : public BackprojectionMethod {
 public:
  explicit MovingBackprojection(std::shared_ptr<const MovingPair::Present> present) : present_(std::move(present)) {}
  // Plans ask for the rows later.
  Requirements requirements() const override {
    Requirements result = now().requirements();
    if (result.detector_rows)
      result.detector_rows = [present = present_](Range slices) { return present->rows(slices); };
    return result;
  }
  bool takes_norm() const override { return now().takes_norm(); }
  std::vector<std::string> sums() const override { return now().sums(); }
  void start(Slab& slab) const override { now().start(slab); }
  ViewTables view_tables() const override { return now().view_tables(); }
  std::vector<int> order() const override { return now().order(); }
  Range rows_read(Range rows) const override { return now().rows_read(rows); }
  void filter(Slab& slab, Range views, const Scalars& scalars) const override { now().filter(slab, views, scalars); }
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override {
    now().accumulate(slab, views, slices, scalars);
  }

 private:
  const BackprojectionMethod& now() const { return *present_->adjoint; }
  std::shared_ptr<const MovingPair::Present> present_;
};

// Compares what plans and steps know of a method.
bool are_planned_alike(const Requirements& a, const Requirements& b) {
  return a.size == b.size && a.stack == b.stack && a.arrays == b.arrays && a.halo_low == b.halo_low &&
         a.halo_high == b.halo_high && a.preferred_batch == b.preferred_batch && a.batch_step == b.batch_step &&
         !a.detector_rows == !b.detector_rows;
}

bool are_alike(const auto& a, const auto& b) {
  return are_planned_alike(a.requirements(), b.requirements()) && a.order() == b.order() && a.sums() == b.sums() &&
         a.takes_norm() == b.takes_norm();
}

}  // namespace

MovingPair::MovingPair(const ProjectorPair& first)
    : present_(new Present{first.forward, first.adjoint, first.adjoint->requirements().detector_rows,
                           first.forward->crossed_rows()}),
      pair_{std::make_shared<MovingProjection>(present_), std::make_shared<MovingBackprojection>(present_), nullptr,
            first.matched, first.all_rows} {}

void MovingPair::move_to(const ProjectorPair& next) {
  auto crossed_rows = next.forward->crossed_rows();
  if (!are_alike(*present_->forward, *next.forward) || !are_alike(*present_->adjoint, *next.adjoint) ||
      !present_->crossed_rows != !crossed_rows)
    throw InputError({.what = "the geometry that a projector is moved to",
                      .found = "one for which other kernels run, with other arrays",
                      .expected = "one like the first: a detector of the same kind, rays that end at the source and "
                                  "detector or pass the volume as before, planes parallel to slices if those were",
                      .remedy = "make another operator"});
  *present_ = {next.forward, next.adjoint, next.adjoint->requirements().detector_rows, std::move(crossed_rows)};
}

}  // namespace halocline
