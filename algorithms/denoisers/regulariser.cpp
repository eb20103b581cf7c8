#include "algorithms/denoisers/regulariser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/denoisers/schedule.hpp"
#include "algorithms/noise/noise_estimate.hpp"
#include "algorithms/support/require_positive.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr struct {
  const char* name;
  Variation variation;
} variation_names[] = {
    {"isotropic", Variation::isotropic}, {"anisotropic", Variation::anisotropic}, {"huber", Variation::huber}};

// The parameter that makes the problem another than plain total variation.
const char* first_parameter(const Regulariser& regulariser) {
  if (regulariser.variation != Variation::isotropic) return "`variation`";
  if (regulariser.minimum > -std::numeric_limits<double>::infinity()) return "`minimum`";
  if (regulariser.maximum < std::numeric_limits<double>::infinity()) return "`maximum`";
  if (regulariser.guided) return "`reference`";
  return nullptr;
}

double largest_gradient(const Volume& volume, const std::array<double, 3>& spacing) {
  const auto& size = volume.grid.size;
  const std::size_t strides[3] = {1, size[0], size[0] * size[1]};
  double most = 0;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) {
    const std::size_t position[3] = {n % size[0], n / size[0] % size[1], n / strides[2]};
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
      if (position[axis] + 1 >= size[axis]) continue;
      const double difference = static_cast<double>(volume.voxels[n + strides[axis]]) - volume.voxels[n];
      sum += std::pow(difference / spacing[axis], 2);
    }
    most = std::max(most, sum);
  }
  return std::sqrt(most);
}

}  // namespace

Variation variation_named(const std::string& name) {
  std::string list;
  for (const auto& each : variation_names) {
    if (name == each.name) return each.variation;
    list += (list.empty() ? "" : ", ") + std::string(each.name);
  }
  throw InputError({.what = "`variation`", .found = '"' + name + '"', .expected = "one of: " + list});
}

std::string variation_name(Variation variation) {
  return variation_names[static_cast<int>(variation)].name;
}

void check_regulariser(const Regulariser& regulariser, const std::string& method) {
  const bool huber = regulariser.variation == Variation::huber;
  require_positive("`huber_delta`", regulariser.huber_delta);
  constexpr double most_bound = 1e18;  // whose square is a float32 number
  for (const auto& [parameter, bound] :
       {std::pair{"`minimum`", regulariser.minimum}, {"`maximum`", regulariser.maximum}})
    if (std::isfinite(bound) && std::abs(bound) > most_bound)
      throw InputError({.what = parameter,
                        .found = fmt::to_string(bound),
                        .expected = fmt::format("{:g} to {:g}", -most_bound, most_bound)});
  require_positive("`reference_eta`", regulariser.reference_eta);
  require_positive("`reference_strength`", regulariser.reference_strength);
  if (regulariser.reference_strength.value_or(1) > 1)
    throw InputError(
        fmt::format("`reference_strength` is {}; expected at most 1, where edges of the reference are free",
                    *regulariser.reference_strength));
  if (huber && !regulariser.huber_delta)
    throw InputError(
        "`variation = huber` needs `huber_delta`, in grey values per mm: slopes below it are kept instead of made into "
        "stairs");
  if (!huber && regulariser.huber_delta) throw InputError("`huber_delta` belongs to `variation = huber`; leave it out");
  if (!regulariser.guided && regulariser.reference_eta)
    throw InputError("`reference_eta` belongs to `reference`; give the reference, or leave it out");
  if (!regulariser.guided && regulariser.reference_strength)
    throw InputError("`reference_strength` belongs to `reference`; give the reference, or leave it out");
  if (!(regulariser.minimum < regulariser.maximum))
    throw InputError(fmt::format("`minimum` is {} and `maximum` {}; expected a minimum below the maximum",
                                 regulariser.minimum, regulariser.maximum));
  const char* parameter = first_parameter(regulariser);
  if (parameter != nullptr && method != "pdu" && method != "spdu")
    throw InputError(fmt::format("{} belongs to the methods pdu and spdu; {} has no such thing", parameter, method));
}

double reference_eta(const Volume& reference, const std::array<double, 3>& spacing,
                     const std::optional<double>& given) {
  const double largest = largest_gradient(reference, spacing);
  if (!(largest > 0))
    throw InputError("`reference`: the volume is constant, so it has no edges to go by; leave it out");
  if (given) {
    if (*given < 1e-9 * largest)
      throw InputError(fmt::format(
          "`reference_eta` is {:g}; expected at least a billionth of the reference's largest gradient, which is {:.3g}",
          *given, largest));
    return *given;
  }
  // The difference of two voxels has twice the variance of one.
  const double noise = estimate_noise(reference).sigma * std::sqrt(gradient_norm2(reference.grid.size, spacing) / 2);
  return std::max(2 * noise, 0.01 * largest);
}

}  // namespace halocline
