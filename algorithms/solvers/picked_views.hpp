// Steps of a projector on some of its views: these are put beside each other, with their rows of its tables, so that
// the kernels are those of all views.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/projectors/view_table.hpp"
#include "host/volume/volume.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Numbers of views, ascending.
using ViewNumbers = std::shared_ptr<const std::vector<std::int32_t>>;

class PickedViews {
 public:
  /// label: of the names of the arrays.
  PickedViews(const Grid& projections, const std::string& label) : projections_(projections), label_(label) {}

  /// Adds the arrays that steps on views need besides those of the whole stack.
  void declare(Program& program) const;
  /// Adds those that this step needs for its tables.
  void declare(Program& program, const Step& step, const ViewTables& tables) const;
  /// The step on these views alone. stack: its own name of the projections; views that it writes and that are none of
  /// these become 0.
  Step on_views(Step step, const ViewTables& tables, const std::string& stack, const ViewNumbers& views) const;
  /// to = from in these views, 0 in the others.
  Step keep(const std::string& from, const std::string& to, const ViewNumbers& views) const;

 private:
  std::string list() const { return label_ + "list of views"; }
  std::string packed() const { return label_ + "picked views"; }
  std::string packed(const std::string& table) const { return label_ + "picked " + table; }

  Grid projections_;
  std::string label_;
};

}  // namespace halocline
