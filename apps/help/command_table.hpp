// What the command takes, as plain data: one walk over the parser, of which every form of help is written.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace halocline {

enum class ValueKind { none, choice, whole_number, number, file, folder, text };
enum class FileKind { none, image, geometry, picture, json, text, any };

/// Of a file that an option names.
struct FileUse {
  FileKind kind = FileKind::none;
  bool written = false;
  bool several = false;  ///< with commas between
};

struct OptionEntry {
  std::vector<std::string> names;  ///< "-i", "--input"; of an argument without a flag its name alone
  bool positional = false;
  std::string value_name;  ///< "FILE"; empty for flags
  ValueKind kind = ValueKind::none;
  std::vector<std::string> choices;  ///< all values that a choice has
  std::vector<std::string> words;    ///< that others take as well: "halves" of "FILE|halves", "gpu" of --device
  FileUse file;
  std::string default_value;
  std::string expects;  ///< what the parser checks, e.g. "a positive number"
  bool required = false, repeats = false;
  bool common = false;  ///< an option of the whole command, which subcommands take as well
  std::string group;    ///< empty: the subcommand's main options
  std::string description;
  std::vector<std::string> needs, excludes;

  bool takes_value() const { return kind != ValueKind::none; }
  /// The long one if there is one.
  const std::string& name() const;
};

struct CommandEntry {
  std::vector<std::string> path;  ///< {"geometry", "circular"}; empty: the command itself
  std::string description;
  std::vector<std::string> notes;     ///< paragraphs
  std::vector<std::string> examples;  ///< command lines
  std::vector<OptionEntry> options;   ///< its own
  std::vector<CommandEntry> subcommands;

  /// "halocline geometry circular", or with another separator.
  std::string whole_name(std::string_view separator = " ") const;
  /// "geometry circular".
  std::string key() const;
};

struct CommandTable {
  std::string version;  ///< "0.1.0"
  CommandEntry root;    ///< its options are the common ones, --help and --version

  /// Those that subcommands take as well.
  std::vector<OptionEntry> common_options() const;
  /// The command and all below it, in the order of --help.
  std::vector<const CommandEntry*> commands() const;
  /// Throws InputError, which names the right ones, if there is no such subcommand.
  const CommandEntry& find(const std::vector<std::string>& path) const;
};

CommandTable command_table(CLI::App& app);

struct ExitCode {
  int code;
  std::string_view meaning;
};
std::span<const ExitCode> exit_codes();
/// "Exit codes: 0 done; ...".
std::string exit_codes_text();

/// Extensions of such files, with their dots; none: any.
std::vector<std::string> extensions(const FileUse& file);

}  // namespace halocline
