// Names, defines and work-groups of a text of OpenCL C that a user writes.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// Throws InputError for a name that C does not have; `what` names the parameter.
void check_identifier(const std::string& what, const std::string& name);

/// A line `#define name value` for each. Throws InputError for a name that C does not have and for a value of several
/// lines; `what` names the parameter.
std::string macro_text(const std::string& what, const std::map<std::string, std::string>& macros);

/// Launches a kernel of at least `global` work-items in groups of this shape, or smaller ones where the device takes no
/// such groups. 0: the device's choice.
void launch_in_groups(Slab& slab, const KernelSpec& spec, const std::array<std::size_t, 3>& global,
                      const std::array<std::size_t, 3>& group, const std::vector<SlabArgument>& arguments);

}  // namespace halocline
