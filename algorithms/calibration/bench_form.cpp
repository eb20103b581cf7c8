#include "algorithms/calibration/bench_form.hpp"

namespace halocline {

std::string form_name(const BenchForm& form) {
  if (form.descends()) return form.adaptive ? "adaptive" : form.statistical ? "statistical" : "descent";
  if (form.method == "pdu4d") return "frames";
  if (form.schedule != Schedule::standard) return schedule_name(form.schedule);
  if (form.regulariser.guided) return "reference";
  if (form.regulariser.boxed()) return "non-negative";
  if (form.regulariser.variation != Variation::isotropic) return variation_name(form.regulariser.variation);
  return fused_form_name(form.fused);
}

// Bytes. pdu and spdu: fused_bytes(). tvgd: the sums read u, the step reads u and writes v; on CPUs the sums write
// g, which a third kernel adds to u. Its variants read f for the sums, too, and statistical w wherever they compute g.
//
// Flops, from the formulas in cl/pdu.cl, cl/spdu.cl, cl/pdu_fused.cl and cl/tvgd.cl:
//   dual    3 differences, 3 fma, the norm 5, root, lambda times it, min, 3 products                              = 20
//   primal  3 differences, a product and 2 fma for the divergence; f - u; their sum; fma with theta               = 12
//   spdu    2 max, a sum, a quotient, 3 products for the dual's step; w times the divergence is an fma for a sum  = +8
//   other schedules: the dual's step is one for all voxels, so that w is read for the primal step alone. chambolle-pock
//           writes ubar, too: a difference and an fma for it (3), with weights a sum and a quotient for the step (2)
//   other regularisers (cl/pdu_variant.cl), in place. D u is multiplied by 1 / h first (3), with weights the step by
//           s in one product (6 instead of 8). anisotropic: 6 min and max instead of the norm's 5, the root and 5 more;
//           huber: fma, quotient, 3 products (6); non-negative: min and max (2); reference: P once a kernel, which
//           reads the reference: 3 differences, 3 products, two products of vectors (10), 1 +, gamma *, a quotient, 3
//           fma                                                                                                   = 25
//   pdu4d   dual with 4 differences, 4 fma, the norm 7, root, lambda times it, min, 4 products; primal with another
//           difference and fma                                                                               = 26 + 15
//   stored  a product for lambda / unit, 3 additions, then 3 differences and 3 products back                      = +10
//           of every iteration, and 6 to read the dual, once a pass
//   tvgd    3 differences and 3 products for B u, 3 fma, root, 3 products for p; 4 differences or products and 3 fma
//           for g; the sum of squares 2 or the step 2. On GPUs both kernels compute g. Adaptive: along each axis a
//           quotient, its square, the exponential and a product; statistical: a root and a product
// What tiles and marches compute once more than the formulas need is not counted: it is the kernels' own cost.
IterationCost iteration_cost(const BenchForm& form, bool cpu) {
  if (form.descends()) {
    const double gradient = 3 + 3 + 6 + 1 + 3 + 4 + 6 + (form.adaptive ? 12 : 0) + (form.statistical ? 2 : 0);
    const double times = cpu ? 1 : 2;  // that g is computed
    const double more = (form.adaptive || form.statistical ? 4 : 0) + (form.statistical ? 4 * times : 0);
    return {(cpu ? 20 : 12) + more, times * gradient + 4};
  }
  const bool weighted = form.weighted();
  if (form.method == "pdu4d") return {68, 26 + 15};
  const double in_place = fused_bytes(weighted, {});
  if (form.schedule != Schedule::standard) {
    const bool extrapolated = form.schedule == Schedule::chambolle_pock;
    return {in_place + (extrapolated ? 4 : 0) - (weighted ? 4 : 0),
            20.0 + 12 + (weighted ? 1 : 0) + (extrapolated ? (weighted ? 5 : 3) : 0)};
  }
  if (!form.regulariser.plain()) {
    const auto& regulariser = form.regulariser;
    const double projection = regulariser.variation == Variation::anisotropic ? 6
                              : regulariser.variation == Variation::huber     ? 11 + 6
                                                                              : 11;
    return {in_place + (regulariser.guided ? 8 : 0), 3 + 3 + 6 + projection + 12 + (weighted ? 6 : 0) +
                                                         (regulariser.boxed() ? 2 : 0) +
                                                         (regulariser.guided ? 2 * 25 : 0)};
  }
  const double flops = 20 + 12 + (weighted ? 8 : 0);
  const bool stored = form.fused.dual_bits != 32;
  return {fused_bytes(weighted, form.fused), flops + (stored ? 10 + 6.0 / form.fused.stages : 0)};
}

}  // namespace halocline
