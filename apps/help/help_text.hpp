// Pieces of text that several forms of help share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/help/command_table.hpp"

namespace halocline {

/// Facts beside the description: needs, exclusions and, unless the description does, the default.
std::vector<std::string> remarks(const OptionEntry& option);

/// Options by group, groups in the order of their first option; the one without a name comes first.
struct OptionGroup {
  std::string name;
  std::vector<const OptionEntry*> options;
};
std::vector<OptionGroup> grouped(const std::vector<OptionEntry>& options);

/// "FILE" or "FILE ..." or "{pdu|spdu}".
std::string value_text(const OptionEntry& option);

/// The first sentence or part of it on one line, of about so many characters, for a menu of completions.
std::string short_description(const std::string& description, std::size_t width = 72);

/// All of it on one line.
std::string one_line(const std::string& text);

/// "-i FILE --method NAME": what has to be given, with values in capitals or as `value` writes them.
std::vector<const OptionEntry*> required_options(const CommandEntry& command);

/// The text with each of these characters led by `escape`.
std::string escaped(std::string_view text, std::string_view characters, std::string_view escape);

/// In single quotes for a shell, with every quote in the text written as `quote`.
std::string shell_quoted(std::string_view text, std::string_view quote = "'\\''");

}  // namespace halocline
