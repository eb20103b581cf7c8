#include "apps/options/family_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "apps/job/validators.hpp"
#include "host/system/error.hpp"

namespace halocline {

void RegulariserOptions::put_into(Regulariser& regulariser, const std::string& method) const {
  // By its own name: what follows knows the bound alone.
  if (nonnegative && method != "pdu" && method != "spdu")
    throw InputError(fmt::format("--nonnegative belongs to the methods pdu and spdu; {} has no such thing", method));
  if (nonnegative && maximum && !(*maximum > 0))
    throw InputError(fmt::format("--nonnegative and --maximum {:g}: expected a maximum above 0", *maximum));
  regulariser.variation = variation_named(tv);
  regulariser.guided = !reference.empty();
  if (nonnegative) regulariser.minimum = 0;
  if (minimum) regulariser.minimum = *minimum;
  if (maximum) regulariser.maximum = *maximum;
}

void add_regulariser_options(CLI::App& sub, RegulariserOptions& options, Regulariser& regulariser,
                             const std::string& group) {
  sub.add_option(
         "--tv", options.tv,
         "isotropic: |Du|; anisotropic: |D_x u| + |D_y u| + |D_z u|, for objects along the axes; huber: |Du|, but "
         "quadratic below --huber-delta, which keeps slopes from becoming stairs")
      ->check(CLI::IsMember({"isotropic", "anisotropic", "huber"}))
      ->group(group);
  sub.add_option("--huber-delta", regulariser.huber_delta,
                 "--tv huber: gradients below it are smoothed, grey values/mm")
      ->check(positive_number())
      ->type_name("D")
      ->group(group);
  auto* minimum = sub.add_option("--minimum", options.minimum,
                                 "No grey value of the result is below it (whole numbers are rounded afterwards)")
                      ->check(finite_number())
                      ->type_name("A")
                      ->group(group);
  sub.add_option("--maximum", options.maximum,
                 "No grey value of the result is above it (whole numbers are rounded afterwards)")
      ->check(finite_number())
      ->type_name("B")
      ->group(group);
  sub.add_flag("--nonnegative", options.nonnegative, "The same as --minimum 0")->excludes(minimum)->group(group);
  sub.add_option(
         "--reference", options.reference,
         "Another volume of the object on the same grid (of another energy, time or kernel): where it has edges, "
         "the result may have them for free")
      ->type_name("FILE")
      ->group(group);
  sub.add_option(
         "--reference-eta", regulariser.reference_eta,
         "Gradients of the reference well above it are edges, grey values of the reference/mm. Default: from its "
         "noise and its largest gradient")
      ->check(positive_number())
      ->type_name("E")
      ->group(group);
  sub.add_option("--reference-strength", regulariser.reference_strength,
                 "How much of the variation across the reference's edges is free: above 0, at most 1. Default: 1")
      ->check(positive_number())
      ->type_name("G")
      ->group(group);
}

void add_compared_filters(CLI::App& sub, FilterParameters& filter) {
  const char* group = "Filters to compare with";
  sub.add_option(
         "--sigma", filter.sigma,
         "gaussian: standard deviation in mm. Default: the coarsest voxel spacing of the axes with more than one voxel")
      ->check(positive_number())
      ->type_name("S")
      ->group(group);
  sub.add_option("--radius", filter.radius, "median: the window is a cube of 2R+1 voxels. Default: 1")
      ->check(whole_number_from(1, 5))
      ->type_name("R")
      ->group(group);
  sub.add_option("--patch-radius", filter.patch_radius, "nlm: voxels around two that are compared. Default: 1")
      ->check(whole_number_from(0, 5))
      ->type_name("R")
      ->group(group);
  sub.add_option("--search-radius", filter.search_radius,
                 "nlm: how far alike voxels are looked for. Default: 3, in 2D 7")
      ->check(whole_number_from(1, 20))
      ->type_name("R")
      ->group(group);
  sub.add_option(
         "--strength", filter.strength,
         fmt::format("nlm: how unlike patches may be, in standard deviations of the estimated noise. Default: {}",
                     default_nlm_strength))
      ->check(positive_number())
      ->type_name("H")
      ->group(group);
}

std::string regulariser_text(const Regulariser& regulariser, const std::string& reference) {
  std::string text;
  if (regulariser.variation == Variation::anisotropic) text += ", anisotropic";
  if (regulariser.variation == Variation::huber)
    text += fmt::format(", Huber with delta {:g}", *regulariser.huber_delta);
  if (regulariser.boxed()) text += fmt::format(", within [{:g}, {:g}]", regulariser.minimum, regulariser.maximum);
  if (regulariser.guided)
    text += fmt::format(", guided by '{}' with eta {:.3g}", reference, *regulariser.reference_eta);
  return text;
}

nlohmann::json regulariser_json(const Regulariser& regulariser) {
  nlohmann::json result{{"tv", variation_name(regulariser.variation)}};
  if (std::isfinite(regulariser.minimum)) result["minimum"] = regulariser.minimum;
  if (std::isfinite(regulariser.maximum)) result["maximum"] = regulariser.maximum;
  if (regulariser.huber_delta) result["huber_delta"] = *regulariser.huber_delta;
  if (!regulariser.guided) return result;
  result["reference_eta"] = *regulariser.reference_eta;
  result["reference_strength"] = regulariser.reference_strength.value_or(1);
  return result;
}

}  // namespace halocline
