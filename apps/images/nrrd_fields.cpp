#include "apps/images/nrrd_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>

#include "host/system/error.hpp"
#include "host/system/input_file.hpp"

namespace halocline {
namespace {

// nrrd/format.html of Teem, section 5, without blanks.
constexpr std::array known_fields{"dimension",
                                  "type",
                                  "blocksize",
                                  "encoding",
                                  "endian",
                                  "content",
                                  "oldmin",
                                  "oldmax",
                                  "datafile",
                                  "lineskip",
                                  "byteskip",
                                  "number",
                                  "sampleunits",
                                  "sizes",
                                  "spacings",
                                  "thicknesses",
                                  "axismins",
                                  "axismaxs",
                                  "centers",
                                  "centerings",
                                  "labels",
                                  "units",
                                  "min",
                                  "max",
                                  "kinds",
                                  "space",
                                  "spaceunits",
                                  "spaceorigin",
                                  "spacedirections",
                                  "spacedimension",
                                  "measurementframe"};

std::vector<double> listed_numbers(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> numbers;
  for (std::string word; words >> word;) {
    try {
      std::size_t end = 0;
      numbers.push_back(std::stod(word, &end));
      if (end < word.size()) numbers.back() = NAN;
    } catch (const std::exception&) {
      numbers.push_back(NAN);
    }
  }
  return numbers;
}

}  // namespace

void check_nrrd_fields(const std::string& path, const std::string& magic, const std::vector<NrrdField>& fields) {
  if (magic < "NRRD0001" || magic > "NRRD0005" || magic.size() != 8)
    throw InputError(
        fmt::format("NRRD '{}' begins with '{}'; NRRD0001 to NRRD0005 can be read: save it again in one "
                    "of these versions (unu save), or store it as .mha",
                    path, excerpt(magic)));
  std::set<std::string> seen;
  std::string dimension, sizes;
  for (const auto& field : fields) {
    std::string name = field.name;
    std::erase(name, ' ');
    if (std::find(known_fields.begin(), known_fields.end(), name) == known_fields.end())
      throw InputError(
          fmt::format("the NRRD header of '{}' has a field '{}', which NRRD does not have; correct its "
                      "name, or write '{}:={}' for a note of your own",
                      path, excerpt(field.name), excerpt(field.name), excerpt(field.value)));
    if (!seen.insert(name).second)
      throw InputError(
          fmt::format("the NRRD header of '{}' has the field '{}' twice; remove one of the two", path, field.name));
    if (name == "dimension") dimension = field.value;
    if (name == "sizes") sizes = field.value;
    if (name == "spacings")
      for (const double spacing : listed_numbers(field.value))
        if (spacing == 0)
          throw InputError(
              fmt::format("the NRRD header of '{}' has a spacing of 0 ('spacings: {}'); every spacing must "
                          "be positive (nan on axes without one)",
                          path, excerpt(field.value)));
  }
  for (const char* needed : {"type", "encoding", "dimension", "sizes"})
    if (!seen.contains(needed))
      throw InputError(
          fmt::format("the NRRD header of '{}' has no field '{}'; it is damaged, or a line is missing", path, needed));
  const auto axes = listed_numbers(dimension), lengths = listed_numbers(sizes);
  const bool right = std::all_of(lengths.begin(), lengths.end(),
                                 [](double length) { return length >= 1 && length == std::floor(length); });
  if (axes.size() != 1 || static_cast<double>(lengths.size()) != axes.front() || !right)
    throw InputError(
        fmt::format("the NRRD header of '{}' has the dimension '{}' and the sizes '{}'; expected as many "
                    "positive whole numbers as the dimension says",
                    path, excerpt(dimension), excerpt(sizes)));
}

}  // namespace halocline
