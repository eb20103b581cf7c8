#include "capi/penalty.hpp"

#include <limits>

namespace halocline::capi {

void add_penalty(Settings& settings, Regulariser& regulariser) {
  settings.add("tv", [&](const SettingValue& value) {
    regulariser.variation = variation_named(value.one_of({"isotropic", "anisotropic", "huber"}));
  });
  settings.add("huber-delta", [&](const SettingValue& value) { regulariser.huber_delta = value.positive(); });
  settings.add("minimum", [&](const SettingValue& value) { regulariser.minimum = value.number(); });
  settings.add("maximum", [&](const SettingValue& value) { regulariser.maximum = value.number(); });
  settings.add("nonnegative", [&](const SettingValue& value) {
    regulariser.minimum = value.flag() ? 0 : -std::numeric_limits<double>::infinity();
  });
  settings.add("reference-eta", [&](const SettingValue& value) { regulariser.reference_eta = value.positive(); });
  settings.add("reference-strength",
               [&](const SettingValue& value) { regulariser.reference_strength = value.positive(); });
}

}  // namespace halocline::capi
