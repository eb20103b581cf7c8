// One pass over arrays of a space: statements that follow each other and need no more than one kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/expressions/statement.hpp"
#include "algorithms/support/slice_sums.hpp"

namespace halocline::expressions {

/// The statements of a pass, with numbers for arrays.
struct Pass {
  struct Element {
    int array = 0, axis = 0, by = 0;
  };
  struct Line {
    const Form* form = nullptr;
    std::vector<Element> operands;
    int target = -1;                   ///< -1: a sum
    std::vector<bool> on_device = {};  ///< by scalar: it is one of the numbers on the device (JobNumbers)
  };
  std::vector<Line> lines;
  std::vector<bool> kept;  ///< by array: it outlives the pass; others are values of the kernel alone

  /// Key with the same numbers for the same kernel.
  std::vector<int> key() const;
};

/// Use that a pass makes of an array.
struct Role {
  bool loaded = false;      ///< its element is read before the pass writes it
  bool neighbours = false;  ///< other elements are read
  bool written = false;
  bool stored = false;  ///< it is written and outlives the pass
  bool is_argument() const { return loaded || neighbours || stored; }
};
struct Roles {
  std::vector<Role> arrays;
  std::vector<bool> scalars;  ///< true: one of the numbers on the device
  int sums = 0, largest = 0;  ///< reductions; those that find the largest, which share no pass with others
  bool neighbours = false;
  int halo_low = 0, halo_high = 0;  ///< slices beside its own that it reads
  bool reads_numbers() const { return std::find(scalars.begin(), scalars.end(), true) != scalars.end(); }
};
Roles roles_of(const Pass& pass);

/// OpenCL C of a pass, the function "expression", or "stencil" where neighbours are read without sums. Arguments: the
/// arrays that are any, the scalars in order as float32 (places of those on the device as int, then their array); then
/// partials and extent if there are sums (cl/sums.clh, with LARGEST where they are largest values),
/// extent if neighbours are read, else the first element and the end (ulong). Without sums a work-item has ELEMENTS
/// along x, a macro.
std::string kernel_text(const Pass& pass);
/// Kernel of a pass without sums and neighbours, for arrays of float4: GPUs need 16 bytes a work-item for full speed.
std::string wide_kernel_text(const Pass& pass);

struct PassKernel {
  std::string file, wide_file;  ///< of KernelSpec; wide_file: "" for a pass that has no such form
  Roles roles;
};
PassKernel kernel_of(const Pass& pass);

/// Gathers statements for a pass.
class PassBuilder {
 public:
  static constexpr int most_arrays = 12, most_scalars = 24, most_sums = 4;

  bool empty() const { return statements_.empty(); }
  /// True if the pass with it is still one: over one space, with no element that depends on what the pass does with
  /// another one. Its scalars are known.
  bool takes(const Statement& statement) const;
  void add(Statement statement);
  /// Pass of the statements that were added, whose scalars are where Line::on_device says. Its arrays are numbered by
  /// their places in storages().
  Pass pass() const;
  const std::vector<Storage*>& storages() const { return storages_; }
  const std::vector<Statement>& statements() const { return statements_; }

 private:
  int number_of(Storage* storage, std::vector<Storage*>& storages) const;
  Pass::Line line_of(const Statement& statement, std::vector<Storage*>& storages) const;

  std::vector<Statement> statements_;
  std::vector<Pass::Line> lines_;
  std::vector<Storage*> storages_;  // by number
};

/// An argument of a kernel.
constexpr std::int32_t number(auto value) {
  return static_cast<std::int32_t>(value);
}

/// The pass as a step over arrays with these names (those that are arguments), of a volume or projections of this size.
Step step_of(const PassKernel& kernel, const std::vector<std::string>& names, std::vector<Number> numbers,
             ArrayKind kind, const std::array<std::size_t, 3>& size, KernelVariants variants);

}  // namespace halocline::expressions
