#include "apps/options/file_names.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "apps/images/image_series.hpp"
#include "host/system/error.hpp"

namespace halocline {

std::string numbered(const std::string& option, const std::string& pattern, std::size_t number) {
  const NumberPlace place = number_place(pattern);
  if (!place.found)
    throw InputError(
        fmt::format("{} '{}' is one name for several frames; give it a place for their numbers, as in frame_%02d.mha",
                    option, pattern));
  // The first of two places is that of the frame, and the last that of the slice.
  if (const NumberPlace first = number_place(place.before); first.found)
    return first.with(number) + pattern.substr(place.before.size());
  return place.with(number);
}

std::array<std::string, 2> parse_pair(const std::string& option, const std::string& text) {
  const auto comma = text.find(',');
  if (comma == std::string::npos || comma == 0 || comma + 1 == text.size() || text.find(',', comma + 1) != text.npos)
    throw InputError(
        fmt::format("{} is \"{}\"; expected two files with a comma between them: A.mha,B.mha", option, text));
  return {text.substr(0, comma), text.substr(comma + 1)};
}

void require_svg(const std::string& option, const std::string& path) {
  if (!path.empty() && std::filesystem::path(path).extension() != ".svg")
    throw InputError(fmt::format("{} '{}': drawings are SVG files; give a name that ends with .svg", option, path));
}

std::string path_output(const std::string& output, double alpha) {
  const std::filesystem::path path(output);
  std::string extension = path.extension().string();
  if (extension == ".gz") extension = path.stem().extension().string() + extension;
  return fmt::format("{}_alpha{:g}{}", output.substr(0, output.size() - extension.size()), alpha, extension);
}

}  // namespace halocline
