#include "apps/job/option_names.hpp"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace halocline {
namespace {

constexpr OptionName known_names[] = {
    // devices and memory
    {"check_variant()", "'halocline devices --check'"},
    // volumes
    {"grid = the other's", "--like"},
    {"Cutout", "--crop"},
    // geometries
    {"detector.size", "--detector"},
    {"detector.spacing", "--pixel"},
    {"format", "--from"},
    {"format = astra", "'halocline geometry convert' --from astra"},
    {"Geometry::views", "'halocline geometry convert'"},
    {"out_of_plane_angle", "--out-of-plane"},
    {"in_plane_angle", "--in-plane"},
    {"gantry_angle = -gantry_angle", "'halocline geometry convert --reverse'"},
    {"CircularOptions::angles", "'halocline geometry circular --angles'"},
    {"find_axis()", "'halocline geometry find-axis'"},
    {"patience", "--wait"},
    // projections and counts
    {"projections", "-i"},
    {"counts", "-i", "counts"},
    {"flats", "--flat"},
    {"darks", "--dark"},
    {"hardening", "--beam-hardening"},
    {"ring_width", "--reduce-rings"},
    // projectors and reconstruction
    {"hardware_interpolation", "--interpolation hardware"},
    {"half_texels", "--interpolation half"},
    {"half_texels = false", "--interpolation exact or hardware"},
    {"displaced = false", "--nodisplaced"},
    {"FdkParameters::variance", "halocline fdk --variance-out"},
    {"half_scans()", "halocline fdk --halves-out"},
    {"window_views", "--views"},
    {"projector_table", "--table", "kernel check"},
    // iterative reconstruction
    {"passes", "--iterations"},
    // denoising
    {"alpha_sigma", "A/sigma"},
    {"alpha_sigma = *", "--alpha */sigma"},
    {"strength", "--alpha"},
    {"half_a", "--halves"},
    {"half_b", "--halves"},
    {"half_a, half_b", "--halves"},
    {"dual_bits", "--duals"},
    {"noise_map()", "--weights estimate"},
    {"variation", "--tv"},
    {"filter.strength", "--strength"},
    {"time", "--time-axis z"},
    {"time.weight", "--time-weight"},
    // benches and tuning
    {"classes", "--class"},
    {"methods", "--method"},
};

std::optional<std::string> words_of(std::string_view name, std::string_view command) {
  const OptionName* found = nullptr;
  for (const auto& each : known_names)
    if (each.name == name && (each.command == command || (each.command.empty() && found == nullptr))) found = &each;
  if (found != nullptr) return std::string(found->words);
  const bool plain =
      !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  if (!plain) return std::nullopt;
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// The flag for the text between two backticks.
std::optional<std::string> translated(std::string_view quoted, std::string_view command) {
  if (const auto words = words_of(quoted, command)) return words;
  constexpr std::string_view equals = " = ";
  const auto at = quoted.find(equals);
  if (at == quoted.npos) return std::nullopt;
  const std::string_view name = quoted.substr(0, at), value = quoted.substr(at + equals.size());
  if (const auto words = words_of(std::string(name) + " = *", command)) {
    std::string result = *words;
    return result.replace(result.find('*'), 1, value);
  }
  const auto words = words_of(name, command);
  return words ? std::optional(*words + ' ' + std::string(value)) : std::nullopt;
}

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// The end of the quotation that begins at `at`, or npos if none does: an apostrophe follows a letter.
std::size_t end_of_quotation(std::string_view text, std::size_t at) {
  if (text[at] != '\'' || (at > 0 && in_word(text[at - 1]))) return text.npos;
  for (auto end = text.find('\'', at + 1); end != text.npos; end = text.find('\'', end + 1))
    if (end + 1 == text.size() || !in_word(text[end + 1])) return end;
  return text.npos;
}

struct Running {
  std::mutex mutex;
  std::string command;
};

Running& running() {
  static Running result;
  return result;
}

}  // namespace

std::span<const OptionName> option_names() {
  return known_names;
}

std::string in_options(std::string_view text, std::string_view command) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (const auto end = end_of_quotation(text, at); end != text.npos) {
      result += text.substr(at, end + 1 - at);
      at = end + 1;
      continue;
    }
    const auto close = text[at] == '`' ? text.find('`', at + 1) : text.npos;
    const auto words = close == text.npos ? std::nullopt : translated(text.substr(at + 1, close - at - 1), command);
    if (words) {
      result += *words;
      at = close + 1;
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::string in_options(std::string_view text) {
  Running& now = running();
  const std::lock_guard lock(now.mutex);
  return in_options(text, now.command);
}

void set_running_command(std::string command) {
  Running& now = running();
  const std::lock_guard lock(now.mutex);
  now.command = std::move(command);
}

void put_in_options(nlohmann::json& value) {
  if (value.is_string()) value = in_options(value.get<std::string>());
  if (value.is_structured())
    for (auto& each : value) put_in_options(each);
}

}  // namespace halocline
