// Forms of projectors that are faster on devices, in one place for projections and for solvers, and their checks before
// first use.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/support/variant_check.hpp"

namespace halocline {

/// The parameters with the forms that are faster on the devices, but for Siddon's images, which need more memory.
ProjectionParameters faster_forms(ProjectionParameters parameters, std::span<const DeviceModel> devices,
                                  const Geometry& geometry, const Grid& volume, const Grid& projections);

/// True if all of the devices are faster with Siddon's volume as images, and hold it so.
bool siddon_from_images(std::span<const DeviceModel> devices, const Grid& volume, const Grid& projections);

/// True if Siddon's images, too, leave the volume in as few slabs.
bool images_pay(const Geometry& geometry, const Grid& volume, const Grid& projections, ProjectionParameters parameters,
                std::span<const DeviceModel> devices, const PlanOptions& options);

/// The adjoint of a named projector in the form for the devices.
std::shared_ptr<const BackprojectionMethod> faster_adjoint(const Geometry& geometry, const Grid& projections,
                                                           const Grid& volume, const Projector& projector,
                                                           std::span<const DeviceModel> devices);

/// The directions of a projector.
enum class Directions { forward, adjoint, both };

/// True if a form may be taken; `instead` is what is done without it (variant_works()).
using FormWorks = std::function<bool(const Variant& form, const std::string& instead)>;

/// The models for problems of this size, with the choice of another form in place of each that would be taken and does
/// not work.
std::vector<DeviceModel> without_faults(std::vector<DeviceModel> models, const FormWorks& works,
                                        const Projector& projector, Directions directions, const Geometry& geometry,
                                        const Grid& volume, const Grid& projections);

/// The models of open devices, of all ranks that plan with these options, so, by variant_works(): a form is checked
/// before its first use on a driver.
std::vector<DeviceModel> checked_models(const std::vector<Device>& devices, const Projector& projector,
                                        Directions directions, const Geometry& geometry, const Grid& volume,
                                        const Grid& projections, const PlanOptions& options = {});

}  // namespace halocline
