#include "algorithms/denoisers/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "algorithms/denoisers/gaussian.hpp"
#include "algorithms/denoisers/median.hpp"
#include "algorithms/denoisers/nlm.hpp"
#include "algorithms/denoisers/pdu.hpp"
#include "algorithms/denoisers/pdu4d.hpp"
#include "algorithms/denoisers/pdu_variant.hpp"
#include "algorithms/denoisers/skeleton.hpp"
#include "algorithms/denoisers/spdu.hpp"
#include "algorithms/denoisers/tvgd.hpp"
#include "algorithms/denoisers/tvgd_variant.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

template <class Method>
std::unique_ptr<IterativeMethod> make(const MethodParameters& parameters) {
  return std::make_unique<Method>(parameters);
}

// Plain total variation has separate kernels.
template <class Plain, bool weighted>
std::unique_ptr<IterativeMethod> make_regularised(const MethodParameters& parameters) {
  if (parameters.regulariser.plain()) return make<Plain>(parameters);
  return std::make_unique<PduVariant>(parameters, weighted);
}

std::unique_ptr<IterativeMethod> make_descent(const MethodParameters& parameters) {
  if (parameters.adaptive_delta || parameters.statistical) return make<TvgdVariant>(parameters);
  return make<Tvgd>(parameters);
}

struct Entry {
  const char* name;
  std::unique_ptr<IterativeMethod> (*make)(const MethodParameters&);
  bool denoises;  // derives from DenoiseMethod
};

constexpr Entry known_methods[] = {
    {"pdu", make_regularised<Pdu, false>, true},
    {"spdu", make_regularised<Spdu, true>, true},
    {"tvgd", make_descent, true},
    {"pdu4d", make<Pdu4d>, true},
    {"gaussian", make<Gaussian>, true},
    {"median", make<Median>, true},
    {"nlm", make<Nlm>, true},
    {"skeleton", make<Skeleton>, false},
};

const Entry& entry(const std::string& name, bool denoises) {
  for (const auto& each : known_methods)
    if (name == each.name && (each.denoises || !denoises)) return each;
  throw InputError({.what = "`method`",
                    .found = '"' + name + '"',
                    .expected = fmt::format("one of: {}", fmt::join(denoiser_names(), ", "))});
}

}  // namespace

std::unique_ptr<IterativeMethod> make_method(const std::string& name, const MethodParameters& parameters) {
  return entry(name, false).make(parameters);
}

std::unique_ptr<DenoiseMethod> make_denoiser(const std::string& name, const MethodParameters& parameters) {
  auto method = entry(name, true).make(parameters);
  return std::unique_ptr<DenoiseMethod>(static_cast<DenoiseMethod*>(method.release()));
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& each : known_methods) names.emplace_back(each.name);
  return names;
}

std::vector<std::string> denoiser_names() {
  std::vector<std::string> names;
  for (const auto& each : known_methods)
    if (each.denoises) names.emplace_back(each.name);
  return names;
}

}  // namespace halocline
