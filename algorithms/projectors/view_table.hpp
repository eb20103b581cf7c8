// Arrays with numbers of each view, of methods that project and back-project.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace halocline {

/// A fixed array of so many numbers of 4 bytes a view, in the order of the views.
struct ViewTable {
  std::string name;
  std::size_t numbers;
  bool operator==(const ViewTable&) const = default;
};
using ViewTables = std::vector<ViewTable>;

}  // namespace halocline
