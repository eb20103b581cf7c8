// Checks that all ranks do the same job.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// Throws InputError that names a rank with another version of Halocline, another command or another option than the
/// first one's. `options` as options_json() gives them.
void require_same_command(Ranks& ranks, const std::string& version, const std::string& command,
                          const nlohmann::json& options);

/// Throws InputError that names a rank which sees another file there, or other voxels beside a header, than the first
/// one. Of large files some blocks are compared.
void require_same_file(Ranks& ranks, const std::string& option, const std::string& path);

/// Throws InputError if there are several ranks: `what` (an option, a command) is for one process.
void refuse_several_ranks(const std::string& what,
                          const std::string& remedy = "start one process, without the launcher");

}  // namespace halocline
