#pragma once

#include <string>
#include <utility>

#include "scheduling/planning/requirements.hpp"

namespace halocline {

/// An array of kind volume, float32.
inline ArrayNeed volume_array(std::string name, Lifetime lifetime) {
  return {.name = std::move(name), .kind = ArrayKind::volume, .lifetime = lifetime};
}

}  // namespace halocline
