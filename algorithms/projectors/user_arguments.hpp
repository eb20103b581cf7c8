// Arrays and launches that all users' projectors share.
#pragma once

#include <string>
#include <vector>

#include "algorithms/projectors/rays.hpp"
#include "algorithms/projectors/user_projector.hpp"

namespace halocline {

/// make_rays(). Throws InputError if rays end within the volume, which users' projectors do not know.
RayTable whole_rays(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                    const Grid& projections);

/// The user's tables as arrays, as their contents, and as arguments.
void add_user_tables(Requirements& requirements, const UserProjector& projector);
void set_user_tables(Slab& slab, const UserProjector& projector);
void add_user_tables(std::vector<SlabArgument>& arguments, const UserProjector& projector);

/// Launches a kernel of the user's text, in groups of its PROJECTOR_GROUP. options: besides those of the text.
void launch_user_kernel(Slab& slab, const UserProjector& projector, const std::string& kernel,
                        const std::string& options, const std::array<std::size_t, 3>& global,
                        const std::vector<SlabArgument>& arguments);

}  // namespace halocline
