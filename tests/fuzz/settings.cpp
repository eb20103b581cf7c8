// Option texts of the C interface: the name of a verb, then lines of name=value, as halocline_job_set() takes them; and
// what the verb makes of them before it asks for its arrays.
// lines of: algorithms/jobs/settings.cpp algorithms/jobs/setting_values.cpp algorithms/jobs/counts_settings.cpp
// lines of: algorithms/jobs/denoise_settings.cpp algorithms/jobs/fdk_settings.cpp
// algorithms/jobs/reconstruct_settings.cpp
#include <array>
#include <optional>
#include <sstream>

#include "algorithms/jobs/fdk_settings.hpp"
#include "capi/verb.hpp"
#include "host/system/error.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void set_lines(Settings& settings, std::istream& in) {
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = std::min(line.find('='), line.size());
    try {
      settings.set("job", line.substr(0, equals), {line.substr(std::min(equals + 1, line.size()))});
    } catch (const Error&) {
    }
  }
  settings.check(false);
}

// Kinds that no verb of the C interface has, and the settings of slices.
void other_settings(std::istream& in) {
  std::size_t bytes = 0;
  std::uint64_t whole = 0;
  std::optional<std::size_t> count;
  std::optional<std::array<std::size_t, 3>> sizes, indices;
  std::optional<std::array<double, 2>> positive;
  SlicesSettings slices;
  Settings settings;
  slices.add_to(settings);
  settings.add_bytes("bytes", bytes, "");
  settings.add("whole", whole, "");
  settings.add("count", count, "").needs("whole");
  settings.add_list("sizes", sizes, "NX,NY,NZ", Numbers::sizes, "");
  settings.add_list("indices", indices, "I,J,K", Numbers::indices, "").excludes("sizes");
  settings.add_list("positive", positive, "DX,DY", Numbers::positive, "");
  set_lines(settings, in);
  require(!settings.given("bytes") || bytes > 0, "no bytes");
  require(!sizes || (*sizes)[0] * (*sizes)[1] * (*sizes)[2] > 0, "a size of 0");
  slices.parameters();
}

void settings(const std::string& bytes) {
  std::istringstream in(bytes);
  std::string line;
  std::getline(in, line);
  if (line == "others") return other_settings(in);
  const auto verb = capi::make_verb(line);
  set_lines(verb->settings(), in);
  const std::vector<Device> devices;
  const capi::Sources inputs;
  const capi::Sinks outputs;
  capi::Work work(devices, nullptr, inputs, outputs, {});
  verb->run(work);
}
const Registered registered("settings", settings);

}  // namespace
}  // namespace halocline::fuzz
