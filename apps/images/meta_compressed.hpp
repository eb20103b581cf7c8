// The zlib data of compressed MetaImage files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>

namespace halocline {

/// Inflates a zlib or gzip stream of at most `compressed_bytes` to `to`, which takes exactly `bytes`. Throws InputError
/// that names the file if the stream is damaged, ends early, has no good end or holds more.
void read_inflated(std::istream& in, std::uint64_t compressed_bytes, const std::string& name, char* to,
                   std::size_t bytes);

}  // namespace halocline
