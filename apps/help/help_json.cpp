// The table of the command as JSON, for other programs.
#include <nlohmann/json.hpp>

#include "apps/help/help_writers.hpp"

namespace halocline {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::none:
      return "flag";
    case ValueKind::choice:
      return "choice";
    case ValueKind::whole_number:
      return "integer";
    case ValueKind::number:
      return "number";
    case ValueKind::file:
      return "file";
    case ValueKind::folder:
      return "folder";
    case ValueKind::text:
      return "text";
  }
  return "";
}

const char* file_kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::none:
      return "";
    case FileKind::image:
      return "image";
    case FileKind::geometry:
      return "geometry";
    case FileKind::picture:
      return "picture";
    case FileKind::json:
      return "json";
    case FileKind::text:
      return "text";
    case FileKind::any:
      return "any";
  }
  return "";
}

Json option_json(const OptionEntry& option) {
  Json result{{"name", option.name()},           {"names", option.names},       {"type", kind_name(option.kind)},
              {"positional", option.positional}, {"required", option.required}, {"repeatable", option.repeats},
              {"common", option.common},         {"group", option.group},       {"description", option.description},
              {"needs", option.needs},           {"excludes", option.excludes}};
  if (!option.value_name.empty()) result["value"] = option.value_name;
  if (!option.choices.empty()) result["choices"] = option.choices;
  if (!option.words.empty()) result["words"] = option.words;
  if (!option.default_value.empty()) result["default"] = option.default_value;
  if (!option.expects.empty()) result["expects"] = option.expects;
  if (option.kind == ValueKind::file)
    result["file"] = {{"kind", file_kind_name(option.file.kind)},
                      {"access", option.file.written ? "write" : "read"},
                      {"several", option.file.several},
                      {"extensions", extensions(option.file)}};
  return result;
}

Json options_json(const std::vector<OptionEntry>& options) {
  Json result = Json::array();
  for (const auto& option : options) result.push_back(option_json(option));
  return result;
}

void add_commands(const CommandEntry& command, Json& result) {
  Json subcommands = Json::array();
  for (const auto& sub : command.subcommands) subcommands.push_back(sub.path.back());
  result.push_back({{"path", command.path},
                    {"description", command.description},
                    {"notes", command.notes},
                    {"examples", command.examples},
                    {"subcommands", subcommands},
                    {"options", options_json(command.options)}});
  for (const auto& sub : command.subcommands) add_commands(sub, result);
}

}  // namespace

std::string help_json(const CommandTable& table, const CommandEntry& command) {
  Json result{{"program", "halocline"}, {"version", table.version}};
  for (const auto& [code, meaning] : exit_codes())
    result["exit_codes"].push_back({{"code", code}, {"meaning", meaning}});
  result["common_options"] = options_json(table.common_options());
  result["commands"] = Json::array();
  add_commands(command, result["commands"]);
  return result.dump(2) + "\n";
}

}  // namespace halocline
