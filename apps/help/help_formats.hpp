// The forms of help by name, and the files that each is written to.
#pragma once

#include <string>
#include <vector>

#include "apps/help/command_table.hpp"

namespace halocline {

/// "man", "bash", ...
std::vector<std::string> help_format_names();

/// One text, as it is printed. path: of the subcommand; empty: the whole command. Throws InputError if there is no such
/// subcommand, or if it has no help in this form.
std::string help_text(const CommandTable& table, const std::string& format, const std::vector<std::string>& path);

struct HelpFile {
  std::string name, text;
};
/// The same as files: of man and rst one for each subcommand below the path, too.
std::vector<HelpFile> help_files(const CommandTable& table, const std::string& format,
                                 const std::vector<std::string>& path);

}  // namespace halocline
