#include "scheduling/planning/requirements.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>

namespace halocline {

std::string name_in_role(ArrayRole role, const std::string& declared) {
  constexpr std::array formats{"{}", "{} (next)", "{} (all views)", "seam of {}", "other {}", "spare {}"};
  return fmt::format(fmt::runtime(formats[static_cast<std::size_t>(role)]), declared);
}

ArrayNeed in_role(ArrayRole role, const ArrayNeed& declared) {
  ArrayNeed need = declared;
  need.name = name_in_role(role, declared.name);
  need.lifetime = Lifetime::scratch;
  need.role = role;
  return need;
}

std::array<std::size_t, 3> whole_extent(const ArrayNeed& need, const Requirements& requirements) {
  if (space_of(need.kind) != Space::projections) return requirements.size;
  const auto& stack = requirements.stack;
  return {need.row_length > 0 ? need.row_length : stack[0], need.rows > 0 ? need.rows : stack[1], stack[2]};
}

std::array<std::size_t, 3> plane_extent(const ArrayNeed& need, const Requirements& requirements, std::int64_t slices) {
  const auto nz = static_cast<std::size_t>(slices);
  const auto& size = requirements.size;
  if (need.axis == 2) return {size[0], size[1], nz};
  return {size[need.axis == 0 ? 1 : 0], std::bit_ceil(nz), size[need.axis]};
}

std::array<std::size_t, 3> image_extent(const ArrayNeed& need, const Requirements& requirements, std::int64_t views) {
  const std::size_t together = need.layer_views > 0 ? static_cast<std::size_t>(need.layer_views) : need.components;
  return {requirements.stack[0], need.rows > 0 ? need.rows : requirements.stack[1],
          static_cast<std::size_t>(views) / together};
}

std::size_t array_bytes(const ArrayNeed& need, const Requirements& requirements, std::int64_t slices, std::int64_t rows,
                        std::int64_t views) {
  const auto row_length = need.row_length > 0 ? need.row_length : requirements.stack[0];
  const auto n_slices = static_cast<std::size_t>(slices);
  const auto stack_rows =
      (need.rows > 0 ? need.rows : static_cast<std::size_t>(rows)) * static_cast<std::size_t>(views);
  const auto element = need.element_bytes * need.components;
  const auto rounded_slices = (n_slices + need.more_slices + need.slice_step - 1) / need.slice_step * need.slice_step;
  switch (need.kind) {
    case ArrayKind::volume:
      return element * requirements.size[0] * requirements.size[1] * rounded_slices;
    case ArrayKind::slice:
      return element * need.elements * rounded_slices;
    case ArrayKind::projections:
      return element * row_length * stack_rows;
    case ArrayKind::image:
    case ArrayKind::planes: {
      const auto extent = need.kind == ArrayKind::image ? image_extent(need, requirements, views)
                                                        : plane_extent(need, requirements, slices);
      return element * extent[0] * extent[1] * extent[2];
    }
    case ArrayKind::fixed:
      return element * need.elements;
  }
  return 0;
}

std::size_t whole_bytes(const ArrayNeed& need, const Requirements& requirements) {
  return array_bytes(need, requirements, requirements.slices().count(), requirements.rows().count(),
                     requirements.views().count());
}

}  // namespace halocline
