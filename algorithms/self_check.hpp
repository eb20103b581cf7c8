// Kernel variants that are faster on some devices, checked against their portable twins: drivers have been seen to
// compile them wrongly.
#pragma once

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
inline constexpr const char* local_rows_variant = "FDK's row filter in local memory";
inline constexpr const char* clfft_variant = "FDK's row filter by clFFT";
inline constexpr const char* vkfft_variant = "FDK's row filter by VkFFT";
std::vector<std::string> variant_names();

enum class Verdict {
  right,
  last_bits,  ///< rounded another way than the twin, which has the same bits elsewhere: as good, but not the same
  wrong,
  not_taken
};

struct Finding {
  Verdict verdict = Verdict::right;
  std::string detail;  ///< which values differ, what is wrong or why the device does not take it; "": right
  /// "right", "differs in the last bits: ...", "wrong: ...", "not for this device: ...".
  std::string text() const;
};

/// Runs the variant and its twin, or a sum in float64, on a small volume: how their results compare; a kernel that does
/// not compile is wrong. Throws ClError if the device fails, or takes smaller work-groups only (exceeds_group_limits).
/// The finding is remembered, in the cache folder too, for this device, driver and these kernels. afresh: not looked
/// up.
Finding check_variant(const std::string& variant, const Device& device, bool afresh = false);

/// Whether the variant is right, to the last bit where it is to, on all of the devices, as far as they take it; if not,
/// a warning, once in a process, names the device and `instead`, what is done without it. For choices that nobody asked
/// for.
bool variant_works(const std::string& variant, const std::vector<Device>& devices, const std::string& instead);

/// Throws InputError that names the option which asked for the variant, and the device on which it is wrong. One that
/// differs in the last bits serves.
void require_variant(const std::string& variant, const std::vector<Device>& devices, const std::string& option);

}  // namespace halocline
