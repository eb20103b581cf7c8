// Numbers that kernels are compiled or launched with and that change no bit of a result: what tuning may choose beside
// the shapes of work-groups.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

struct Tunable {
  std::string kernel;           ///< kernel whose time counts
  std::string name;             ///< macro of the kernel, or `batch_tunable`
  std::vector<int> candidates;  ///< ascending
  /// Key in TunedValues::choices: "backproject_exact K_UNROLL".
  std::string key() const { return kernel + " " + name; }
};

/// Views that one launch adds.
inline constexpr const char* batch_tunable = "views";
/// Slices of a work-item.
inline constexpr const char* slices_tunable = "K_UNROLL";

/// Slices of a work-item, `together` or half of it and so on, of which a volume of so many slices fills more than half:
/// the others would be computed for nothing.
int filled_slices(int together, std::size_t slices);

/// All of them, in the order in which tuning tries them.
std::span<const Tunable> tunables();
/// The number that tuning found, if it is one of the candidates of the tunable with that key; else `standard`. What is
/// stored may be damaged.
int candidate_or(int standard, const std::string& key, int found);

/// The number that tuning found for the tunable of a kernel on all of the devices, the least where they differ;
/// 0: one of them has none.
int tuned_on_all(std::span<const DeviceModel> devices, const std::string& key);

}  // namespace halocline
