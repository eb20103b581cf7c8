// The library's errors, warnings and notes name its parameters in backticks (host/system/error.hpp). Users of the
// command know flags: this is the one table of parameters whose flag has another name, and the one translation, where
// text leaves the command.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace halocline {

struct OptionName {
  /// The text between the library's backticks: a parameter, one with a value ("displaced = false"; "alpha_sigma = *":
  /// with any value), or a function or class that the command has a flag for.
  std::string_view name;
  std::string_view words;         ///< words of the command line instead; "*" stands for the value
  std::string_view command = {};  ///< the subcommand for which that counts, as "geometry convert"; empty: all others
};

std::span<const OptionName> option_names();

/// The text in the words of that subcommand's command line. A name with a value that is in no entry becomes the name's
/// words and the value, as "`method = spdu`" becomes "--method spdu". What stands between single quotes is the user's,
/// and is kept. A parameter without an entry is the option of its name: `time_limit` is --time-limit.
std::string in_options(std::string_view text, std::string_view command);

/// The text in the words of the subcommand that runs.
std::string in_options(std::string_view text);
void set_running_command(std::string command);

/// Translates all strings of a value.
void put_in_options(nlohmann::json& value);

}  // namespace halocline
