// The command as plain data, made of the settings of its subcommands: every form of help is written from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/options/subcommand.hpp"

namespace halocline {

/// The help of the command itself.
constexpr const char* program_about = "Reconstructs and denoises CT volumes on any OpenCL device.";
constexpr const char* program_footer =
    "Lengths are in mm, angles in degrees, attenuation in 1/mm. 'halocline SUBCOMMAND --help' tells more.\n"
    "Files appear whole or not at all. Where the name of one is a symbolic link, the link stays, and the file that "
    "it\n"
    "leads to is written, whether it is there already or not.\n";

enum class ValueKind { none, choice, whole_number, number, file, folder, text };
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

  /// Options that subcommands take as well.
  std::vector<OptionEntry> common_options() const;
  /// The command and all below it, in the order of --help.
  std::vector<const CommandEntry*> commands() const;
  /// Throws InputError, which names the right ones, if there is no such subcommand.
  const CommandEntry& find(const std::vector<std::string>& path) const;
};

/// common: settings that every subcommand takes.
CommandTable command_table(const Settings& common, const std::vector<const Command*>& commands);

struct ExitCode {
  int code;
  std::string_view meaning;
};
std::span<const ExitCode> exit_codes();
/// "Exit codes: 0 done; ...".
std::string exit_codes_text();

/// Extensions of such files, with their dots; none: any.
std::vector<std::string> extensions(const FileUse& file);
/// Files that have extensions of their own.
constexpr FileUse named_files[] = {
    {FileKind::image},   {FileKind::image, true}, {FileKind::geometry}, {FileKind::geometry, true},
    {FileKind::picture}, {FileKind::json},        {FileKind::text}};

}  // namespace halocline
