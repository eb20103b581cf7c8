// ASD-POCS: lowers TV(x) = sum sqrt(|grad x|^2 + 1e-16) among images that agree with the data (Sidky & Pan 2008, with
// OS-SART in the place of ART, and backward differences divided by the edges of a voxel). A heuristic: x depends on all
// of the parameters, and there is no objective that it minimises. Greek names are those of the paper, and so are the
// values but for alpha.
#include "algorithms/solvers/os_sart.hpp"
#include "algorithms/support/kernel_numbers.hpp"
#include "scheduling/slabs/structs.hpp"

namespace halocline {
namespace {

constexpr float smoothing = 1e-8f;
constexpr double relaxation_reduction = 0.995;  // of the relaxation from pass to pass
constexpr int descent_steps = 20;               // n_g, of the total variation after a pass
// Length of the steps of the first pass, as a part of how far that pass moved x. With the paper's 0.2 it takes several
// times the passes until data and variation agree.
constexpr double descent_length = 0.01;     // alpha
constexpr double descent_reduction = 0.95;  // by which they become shorter where they move x too far,
constexpr double largest_ratio = 0.95;      // r_max: more than this part of how far the pass moved x

// g = the gradient of TV at x.
Step gradient_of_variation(const std::array<double, 3>& spacing, const std::string& x, const std::string& g) {
  const auto inverse = per_axis(std::array{1 / spacing[0], 1 / spacing[1], 1 / spacing[2]});
  return {.name = "asd_pocs_gradient",
          .over = Domain::slices,
          .arrays = {in(x), out(g)},
          .halo_low = 1,
          .halo_high = 1,
          .work = [=](Slab& slab, const WorkRange& part, const Scalars&) {
            slab.launch({"asd_pocs.cl", "asd_pocs_gradient", ""}, part.slices,
                        {in(x), out(g), slab.extent(part.slices), inverse, smoothing * smoothing});
          }};
}

// "before": x as the pass found it, then as the descent found it. "moved", "descended": how far, as a norm, the last
// pass and descent moved x; "step": length of the descent's steps.
Program asd_pocs(const ReconstructionProblem& problem) {
  OsSart s("asd-pocs", problem, relaxation_reduction);
  Array before = s.volume("before", Lifetime::state), g = s.volume("g", Lifetime::iteration);
  Variable moved = s.number("moved"), descended = s.number("descended"), step = s.number("step");
  s.first([&] { s.begin(); });
  s.each([&] {
    s.when(s.begins_every(1), [&] { before = s.x; });
    s.iterate();
    s.when(s.ends_pass(), [&] {
      const Scalar distance = sqrt(squared_distance(s.x, before));
      moved = distance;
      step = where(step, step, descent_length * distance);
      before = s.x;
      for (int n = 0; n < descent_steps; ++n) {
        s.step(gradient_of_variation(problem.A.volume().spacing, name_of(s.x), name_of(g)));
        s.x = fma(-ratio(step, norm(g)), g, s.x);
      }
      descended = sqrt(squared_distance(s.x, before));
      step = where(descended > largest_ratio * moved, step * descent_reduction, step);
    });
  });
  s.last([&] { s.report_all(); });
  return s.finish();
}

}  // namespace

constinit const SolverMethod asd_pocs_method{
    .name = "asd-pocs",
    .about = "SART with steps that lower the total variation; its result depends on all its parameters",
    .passes = 50,
    .start = true,
    .bounds = true,
    .relaxation = true,
    .subsets = true,
    .subset_sums = true,
    .default_subsets = SolverMethod::subset_each_view,
    .program = asd_pocs};

}  // namespace halocline
