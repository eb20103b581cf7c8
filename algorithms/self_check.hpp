// Kernel variants that are faster on some devices, checked against their portable twins: drivers have been seen to
// compile them wrongly.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/local_tile.hpp"
#include "host/device.hpp"

namespace halocline {

/// Names of the variants.
std::string fused_variant(bool weighted, int stages);  ///< PDU or S-PDU with so many iterations a pass
std::string tile_variant(const LocalTile& tile);       ///< one of local_tiles()
inline constexpr const char* columns_variant = "back-projection from columns";
inline constexpr const char* image_variant = "back-projection from images";
inline constexpr const char* texture_variant = "back-projection by textures";
inline constexpr const char* half_texture_variant = "back-projection by textures of half precision";
inline constexpr const char* mirrored_variant = "back-projection by textures of mirrored rows";
inline constexpr const char* texture_projection_variant = "projection by textures";
inline constexpr const char* siddon_image_variant = "Siddon's projection from images";
inline constexpr const char* turned_projection_variant = "projection from a turned volume";
std::vector<std::string> variant_names();

/// Runs the variant and its twin on a small volume: "" if their results agree, to the last bit where they are to, else
/// what is wrong, a kernel that does not compile too; nothing if the device does not take the variant. Throws ClError
/// if the device fails, or takes smaller work-groups only (exceeds_group_limits). The answer is remembered, in the
/// cache folder too, for this device, driver and these kernels. afresh: not looked up.
std::optional<std::string> variant_fault(const std::string& variant, const Device& device, bool afresh = false);

/// Whether the variant is right on all of the devices, as far as they take it; if not, a warning, once in a process,
/// names the device and `instead`, what is done without it. For choices that nobody asked for.
bool variant_works(const std::string& variant, const std::vector<Device>& devices, const std::string& instead);

/// Throws InputError that names the option which asked for the variant, and the device on which it is wrong.
void require_variant(const std::string& variant, const std::vector<Device>& devices, const std::string& option);

}  // namespace halocline
