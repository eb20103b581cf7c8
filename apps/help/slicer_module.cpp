// Command-line modules of 3D Slicer: an XML description, from which Slicer makes a panel, and a script beside it.
//
// Slicer gives numbers and enumerations whether they were changed or not, and strings, files and images only if they
// are not empty. So numbers without a default are strings here, and the script leaves out what is at its default.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <pugixml.hpp>
#include <sstream>

#include "apps/help/help_text.hpp"
#include "apps/help/help_writers.hpp"

namespace halocline {
namespace {

const OptionEntry* image_option(const CommandEntry& command, std::string_view name, bool written) {
  for (const auto& option : command.options)
    if (option.name() == name && option.file.kind == FileKind::image && option.file.written == written &&
        !option.file.several)
      return &option;
  return nullptr;
}

// --help ends the module, and --dry-run leaves it without its image.
std::vector<OptionEntry> options_of_module(const CommandTable& table, const CommandEntry& command) {
  std::vector<OptionEntry> options = command.options;
  for (auto& option : table.common_options()) {
    option.group = "Common: " + (option.group.empty() ? "inputs" : option.group);
    options.push_back(option);
  }
  std::erase_if(options, [](const auto& option) {
    return option.positional || option.name() == "--help" || option.name() == "--dry-run";
  });
  return options;
}

std::string tag(const OptionEntry& option) {
  const bool given_always = option.required || !option.default_value.empty();
  switch (option.kind) {
    case ValueKind::none:
      return "boolean";
    case ValueKind::choice:
      return given_always ? "string-enumeration" : "string";
    case ValueKind::whole_number:
      return given_always ? "integer" : "string";
    case ValueKind::number:
      return given_always ? "double" : "string";
    case ValueKind::folder:
      return "directory";
    case ValueKind::text:
      return "string";
    case ValueKind::file:
      break;
  }
  if (!option.words.empty() || option.file.several) return "string";
  return option.file.kind == FileKind::image ? "image" : "file";
}

// "Output type" of --output-type.
std::string label(const OptionEntry& option) {
  std::string text = option.name().substr(2);
  std::replace(text.begin(), text.end(), '-', ' ');
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

void add(pugi::xml_node parent, const char* name, const std::string& text) {
  parent.append_child(name).text().set(text.c_str());
}

void add_parameter(pugi::xml_node parent, const OptionEntry& option) {
  const std::string type = tag(option);
  pugi::xml_node node = parent.append_child(type.c_str());
  if (type == "image") node.append_attribute("type").set_value("scalar");
  const auto names = extensions(option.file);
  if (type == "file" && !names.empty())
    node.append_attribute("fileExtensions").set_value(fmt::format("{}", fmt::join(names, ",")).c_str());
  std::string name = option.name().substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  add(node, "name", name);
  add(node, "longflag", option.name());
  add(node, "label", label(option));
  std::string description = one_line(option.description);
  if (option.kind == ValueKind::choice && type == "string")
    description += fmt::format(" One of {}.", fmt::join(option.choices, ", "));
  add(node, "description", description);
  if (type == "boolean")
    add(node, "default", "false");
  else if (!option.default_value.empty())
    add(node, "default", option.default_value);
  else if (type == "string-enumeration")
    add(node, "default", option.choices.front());
  else if (option.required && (type == "integer" || type == "double"))
    add(node, "default", "0");
  if (type == "string-enumeration")
    for (const auto& choice : option.choices) add(node, "element", choice);
  if (type == "image" || type == "file" || type == "directory")
    add(node, "channel", option.file.written ? "output" : "input");
}

}  // namespace

bool suits_slicer(const CommandEntry& command) {
  return image_option(command, "--input", false) != nullptr && image_option(command, "--output", true) != nullptr;
}

std::string slicer_module_name(const CommandEntry& command) {
  std::string result = "Halocline";
  for (const auto& word : command.path) {
    bool begins = true;
    for (const char c : word) {
      if (c != '-') result += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      begins = c == '-';
    }
  }
  return result;
}

std::string slicer_module(const CommandTable& table, const CommandEntry& command) {
  pugi::xml_document document;
  auto declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version").set_value("1.0");
  declaration.append_attribute("encoding").set_value("utf-8");
  auto root = document.append_child("executable");
  add(root, "category", "Tomographic Reconstruction");
  add(root, "title", fmt::format("Halocline: {}", command.key()));
  std::string description = command.description + ".";
  for (const auto& note : command.notes) description += " " + note;
  add(root, "description", description);
  add(root, "version", table.version);
  add(root, "license", "Apache-2.0");
  add(root, "contributor", "The Halocline authors");
  const auto options = options_of_module(table, command);
  for (const auto& group : grouped(options)) {
    auto parameters = root.append_child("parameters");
    if (!group.name.empty()) parameters.append_attribute("advanced").set_value("true");
    add(parameters, "label", group.name.empty() ? "Main options" : group.name);
    add(parameters, "description", group.name.empty() ? "Inputs, outputs and method" : group.name);
    for (const auto* option : group.options) add_parameter(parameters, *option);
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

std::string slicer_script(const CommandTable& table, const CommandEntry& command) {
  std::vector<std::string> defaults, words;
  for (const auto& option : options_of_module(table, command))
    if (!option.required && !option.default_value.empty())
      defaults.push_back(
          fmt::format("    \"{}\": \"{}\",\n", option.name(), escaped(option.default_value, "\\\"", "\\")));
  for (const auto& word : command.path) words.push_back(fmt::format("\"{}\"", word));
  return fmt::format(R"(#!/usr/bin/env python-real
# {0} for 3D Slicer. Written by halocline help --as slicer.
import os
import shutil
import subprocess
import sys

DEFAULTS = {{
{1}}}


def same(value, default):
    try:
        return float(value) == float(default)
    except ValueError:
        return value == default


def main(words):
    given = []
    while words:
        word = words.pop(0)
        if word in DEFAULTS and words and same(words[0], DEFAULTS[word]):
            words.pop(0)
        else:
            given.append(word)
    program = shutil.which("halocline")
    if program is None:
        sys.exit("halocline is not on the PATH; install it, or start Slicer with a PATH that has it")
    # Slicer's own libraries are not those that halocline was linked with.
    environment = {{name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}}
    return subprocess.call([program, {2}] + given, env=environment)


sys.exit(main(sys.argv[1:]))
)",
                     command.whole_name(), fmt::join(defaults, ""), fmt::join(words, ", "));
}

}  // namespace halocline
