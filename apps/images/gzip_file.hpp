// Voxels behind gzip, as zlib unpacks them.
#pragma once

#include <cstdint>
#include <string>

namespace halocline {

/// Unpacks `bytes` of the gzip streams that begin at byte `offset` of a file, after the first `skip` unpacked ones.
/// Bytes behind the last stream are passed over. Throws InputError that names the file if it is too short or damaged,
/// and Interrupted.
void read_gzipped(const std::string& file, std::uint64_t offset, std::uint64_t skip, char* to, std::uint64_t bytes);

}  // namespace halocline
