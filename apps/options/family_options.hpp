// Options of denoise for the other members of the total-variation family, and for the filters to compare with.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "algorithms/denoisers/filter_parameters.hpp"
#include "algorithms/denoisers/regulariser.hpp"

namespace CLI {
class App;
}

namespace halocline {

/// What is not a Regulariser's own.
struct RegulariserOptions {
  std::string tv = "isotropic", reference;  // path; empty: none
  std::optional<double> minimum, maximum;
  bool nonnegative = false;

  /// InputError where an option does not go with the method or another option, by the name that was given.
  void put_into(Regulariser& regulariser, const std::string& method) const;
};

void add_regulariser_options(CLI::App& sub, RegulariserOptions& options, Regulariser& regulariser,
                             const std::string& group = "Other problems than plain total variation (pdu, spdu)");
void add_compared_filters(CLI::App& sub, FilterParameters& filter);

/// ", within [0, inf]", for result lines; nothing for plain total variation.
std::string regulariser_text(const Regulariser& regulariser, const std::string& reference);
nlohmann::json regulariser_json(const Regulariser& regulariser);

}  // namespace halocline
