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

namespace {

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
std::vector<KernelPart> descent_parts(const BenchForm& form, bool cpu) {
  const double gradient = 3 + 3 + 6 + 1 + 3 + 4 + 6 + (form.adaptive ? 12 : 0) + (form.statistical ? 2 : 0) + 2,
               f = form.adaptive || form.statistical ? 4 : 0, w = form.statistical ? 4 : 0;
  if (cpu) return {{"_sums", {8 + f + w, gradient}}, {"_add", {12, 2}}};
  return {{"_sums", {4 + f + w, gradient}}, {"_step", {8 + w, gradient}}};
}

}  // namespace

IterationCost iteration_cost(const BenchForm& form, bool cpu) {
  IterationCost sum;
  for (const KernelPart& part : kernel_parts(form, cpu)) {
    sum.bytes += part.cost.bytes;
    sum.flops += part.cost.flops;
  }
  return sum;
}

std::vector<KernelPart> kernel_parts(const BenchForm& form, bool cpu) {
  if (form.descends()) return descent_parts(form, cpu);
  if (form.method == "pdu4d") return {{"_dual", {36, 26}}, {"_primal", {32, 15}}};
  const bool weighted = form.weighted();
  if (form.fused.stages > 0) {
    const bool stored = form.fused.dual_bits != 32;
    return {{"_iterate",
             {fused_bytes(weighted, form.fused),
              20 + 12 + (weighted ? 8 : 0) + (stored ? 10 + 6.0 / form.fused.stages : 0)}}};
  }
  IterationCost dual{28, 20}, primal{24, 12};
  const double weights = weighted ? 4 : 0, one = weighted ? 1 : 0;
  if (form.schedule != Schedule::standard) {
    const bool extrapolated = form.schedule == Schedule::chambolle_pock;
    primal.bytes += weights + (extrapolated ? 4 : 0);
    primal.flops += one + (extrapolated ? (weighted ? 5 : 3) : 0);
    return {{"_dual", dual}, {"_primal", primal}};
  }
  dual.bytes += weights, primal.bytes += weights, primal.flops += one;
  if (form.regulariser.plain()) {
    dual.flops += 7 * one;
    return {{"_dual", dual}, {"_primal", primal}};
  }
  const auto& regulariser = form.regulariser;
  const double projection = regulariser.variation == Variation::anisotropic ? 6
                            : regulariser.variation == Variation::huber     ? 11 + 6
                                                                            : 11;
  dual.flops = 3 + 3 + 6 + projection + 5 * one;
  if (regulariser.boxed()) primal.flops += 2;
  for (IterationCost* each : {&dual, &primal})
    if (regulariser.guided) each->bytes += 4, each->flops += 25;
  return {{"_dual", dual}, {"_primal", primal}};
}

}  // namespace halocline
