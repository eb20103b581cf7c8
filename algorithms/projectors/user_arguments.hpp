// Arrays and launches that all users' projectors share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/projectors/rays.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "host/opencl/kernel_arguments.hpp"

namespace halocline {

/// The arrays that both kinds of projectors read: rays, numbers of views, the user's tables.
class UserArrays {
 public:
  /// Throws InputError as make_rays() does, and if rays end within the volume and the text does not use `segment`.
  UserArrays(const UserProjector& projector, const Geometry& geometry, const Grid& volume, const Grid& projections);
  void declare(Requirements& requirements) const;
  void start(Slab& slab) const;
  ViewTables view_tables() const;
  /// RAY_PARAMETERS of cl/user_projector.clh.
  void add_rays(std::vector<SlabArgument>& arguments) const;
  /// TABLE_PARAMETERS.
  void add_tables(std::vector<SlabArgument>& arguments) const;
  /// Options for the kernels of these rays.
  std::string options() const;

 private:
  UserProjector projector_;
  std::size_t columns_;
  RayTable table_;
  std::vector<std::int32_t> numbers_;
};

/// The arguments of a kernel of the user's text. Throws as launch_user_kernel().
DeclaredArguments user_kernel_arguments(Slab& slab, const UserProjector& projector, const std::string& kernel,
                                        const std::string& options);

/// Launches a kernel of the user's text, in groups of its PROJECTOR_GROUP. options: besides those of the text. Throws
/// TextError if it does not compile.
void launch_user_kernel(Slab& slab, const UserProjector& projector, const std::string& kernel,
                        const std::string& options, const std::array<std::size_t, 3>& global,
                        const std::vector<SlabArgument>& arguments);

}  // namespace halocline
