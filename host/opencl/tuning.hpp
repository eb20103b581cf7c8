// Measured choices, by kernel and by class of problem. Pure C++, no OpenCL.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace halocline {

/// Problems alike in size: voxels along i, j, k, and detector columns, rows and views, each rounded up to a power of
/// two. 3 views of 300 x 1548 pixels and 300 x 300 x 1200 voxels are another class than 1000 views and 1000^3 voxels.
struct ProblemClass {
  std::array<std::uint8_t, 6> exponents{};
  auto operator<=>(const ProblemClass&) const = default;
  /// "512 x 512 x 2048 voxels, 4 views of 512 x 2048 pixels"
  std::string text() const;
};

/// Class of a volume (i, j, k) and a stack of projections (columns, rows, views); none without views.
std::optional<ProblemClass> problem_class(const std::array<std::size_t, 3>& volume,
                                          const std::array<std::size_t, 3>& stack);

/// Fastest values, by measurement. No result depends on them.
struct TunedValues {
  /// Shapes of work-groups by kernel, in place of those of work_group_shape().
  std::map<std::string, std::array<std::size_t, 3>> groups;
  /// The fastest of several ways to bitwise identical results, by names of the callers' choice.
  std::map<std::string, std::string> choices;
  bool operator==(const TunedValues&) const = default;
};

/// Values for all problems, and those for classes of problems, which precede them.
struct Tuning : TunedValues {
  std::map<ProblemClass, TunedValues> problems;
  /// Kinds of work for which was measured.
  std::set<std::string> classes;
  bool operator==(const Tuning&) const = default;

  /// The shape for a kernel: that of the class, else that for all problems, else none.
  const std::array<std::size_t, 3>* group(const std::string& kernel, const std::optional<ProblemClass>& problem) const {
    return value_of(&TunedValues::groups, kernel, problem);
  }
  const std::string* choice(const std::string& name, const std::optional<ProblemClass>& problem) const {
    return value_of(&TunedValues::choices, name, problem);
  }

 private:
  template <class Values>
  const typename Values::mapped_type* value_of(Values TunedValues::*values, const std::string& name,
                                               const std::optional<ProblemClass>& problem) const {
    if (problem && !problems.empty())
      if (const auto tuned = problems.find(*problem); tuned != problems.end())
        if (const auto found = (tuned->second.*values).find(name); found != (tuned->second.*values).end())
          return &found->second;
    const auto found = (this->*values).find(name);
    return found == (this->*values).end() ? nullptr : &found->second;
  }
};

}  // namespace halocline
