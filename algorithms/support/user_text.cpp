#include "algorithms/support/user_text.hpp"

#include <fmt/format.h>

#include "algorithms/support/kernel_numbers.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"

namespace halocline {

void check_identifier(const std::string& what, const std::string& name) {
  constexpr const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  if (name.empty() || name.find_first_not_of(letters) != name.npos || (name[0] >= '0' && name[0] <= '9'))
    throw InputError({.what = what, .found = '"' + name + '"', .expected = "names as C has them"});
}

std::string macro_text(const std::string& what, const std::map<std::string, std::string>& macros) {
  std::string text;
  for (const auto& [name, value] : macros) {
    check_identifier(what, name);
    if (value.find_first_of("\n\r") != std::string::npos)
      throw InputError({.what = what, .found = name + " of several lines", .expected = "values of one line"});
    text += fmt::format("#define {} {}\n", name, value);
  }
  return text;
}

void launch_in_groups(Slab& slab, const KernelSpec& spec, const std::array<std::size_t, 3>& global,
                      const std::array<std::size_t, 3>& group, const std::vector<SlabArgument>& arguments) {
  if (group[0] == 0) return slab.launch(spec, global, arguments);
  const auto taken = work_group_within(group, slab.device());
  std::array<std::size_t, 3> rounded{};
  for (std::size_t axis = 0; axis < 3; ++axis) rounded[axis] = parts_of(global[axis], taken[axis]) * taken[axis];
  slab.launch(spec, rounded, taken, arguments);
}

}  // namespace halocline
