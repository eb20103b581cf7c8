// A user's kernel, as a statement among others.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/expressions/array.hpp"
#include "algorithms/expressions/linear_operator.hpp"

namespace halocline::expressions {

/// Numbers that a kernel reads as `__global const float* name`, whole on each device.
struct KernelTable {
  std::string name;
  std::vector<float> values;
};

struct KernelOptions {
  int halo = 0;                                    ///< slices of volumes that are read below and above its own
  std::map<std::string, std::string> macros = {};  ///< defines before the text; "": without a value
  std::vector<KernelTable> tables = {};
  /// Shape of work-groups, made smaller where a device takes no such groups. 0: the device's choice.
  std::array<std::size_t, 3> group = {};
};

/// OpenCL C over arrays of one space, for any number of slabs and devices. Arguments of the kernel: the arrays in the
/// order of `arrays` (__global float*, const those that are read), the tables in theirs, as many float numbers as a
/// call gives, and `Extent extent` (cl/extent.clh). Work-items: one an element, x = get_global_id(0), y =
/// get_global_id(1), z = extent.begin + get_global_id(2); they may be more, so kernels return where x >= extent.nx, y
/// >= extent.ny or z >= extent.end. AT(x, y, z) is the element's place in an array. Of volumes that it reads, `halo`
/// slices below and above its own are present, inside the volume; it writes its own element alone. Projections: x, y, z
/// are column, row and view.
class Kernel {
 public:
  /// `arrays`: their names, and whether the kernel reads or writes them. One that it writes and whose old values it
  /// reads, too, is not for kernels with a halo. Throws InputError for a name that is given twice or that C does not
  /// have, if none is written, for an empty table, and for a group of which some numbers alone are 0.
  Kernel(const std::string& source, const std::string& name, std::vector<ArrayAccess> arrays,
         KernelOptions options = {});

  /// Records the statement. `arrays` by name; what is written need not have a space yet. Throws InputError for arrays
  /// of several spaces, for names that are missing or not known, and where the kernel's own arguments are others than
  /// the arrays, tables, so many numbers and the extent (their types, too, where the driver reports them), PlanError
  /// where a device has no room for the tables, TextError with the compiler's log, which counts the lines of `source`.
  void operator()(const std::map<std::string, Array*>& arrays, const std::vector<Scalar>& numbers = {}) const;

 private:
  Space space_of(const std::map<std::string, Array*>& arrays) const;

  struct Table {
    std::string name;
    std::shared_ptr<const std::vector<float>> values;
  };

  std::string name_, file_;
  std::vector<ArrayAccess> arrays_;
  std::vector<Table> tables_;
  std::array<std::size_t, 3> group_;
  int halo_;
};

/// An operator within a space whose two directions are kernels, with these numbers: `forward` reads "x" and writes "y",
/// `adjoint` reads "y" and writes "x". They have to be adjoint to each other: adjoint_error() measures it.
LinearOperator kernel_operator(const Space& space, const Kernel& forward, const Kernel& adjoint,
                               const std::vector<Scalar>& numbers = {});

}  // namespace halocline::expressions
