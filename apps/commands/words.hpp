// Settings from words as a command line has them, without a parser's help: for calls from programs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/commands/subcommands.hpp"

namespace halocline {

/// A subcommand that was named, and its whole name ("geometry show").
struct NamedCommand {
  std::unique_ptr<Command> root;
  Command* command = nullptr;  ///< of `root`
  std::string name;
  std::size_t words = 0;  ///< that name it
};
/// Throws InputError if the words begin with no subcommand.
NamedCommand named_command(const std::vector<std::string>& words);

/// Sets what the words from `first` on say: "--name value", "--name=value", "-i value", "--flag", and words without a
/// flag. Throws InputError for names that are in neither table, for values that are missing or wrong, and for settings
/// that are missing or do not go together.
void set_words(const std::vector<std::string>& words, std::size_t first, Settings& own, Settings& common);

}  // namespace halocline
