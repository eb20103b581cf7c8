// Option texts of the C interface: the name of a verb, then lines of name=value, as halocline_job_set() takes them; and
// what the verb makes of them before it asks for its arrays.
// lines of: algorithms/jobs/settings.cpp algorithms/jobs/setting_values.cpp algorithms/jobs/counts_settings.cpp
// lines of: algorithms/jobs/denoise_settings.cpp algorithms/jobs/fdk_settings.cpp algorithms/jobs/project_settings.cpp
// lines of: algorithms/jobs/ray_settings.cpp algorithms/jobs/reconstruct_settings.cpp
#include <sstream>

#include "capi/verb.hpp"
#include "host/system/error.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void settings(const std::string& bytes) {
  std::istringstream in(bytes);
  std::string line;
  std::getline(in, line);
  const auto verb = capi::make_verb(line);
  while (std::getline(in, line)) {
    const std::size_t equals = std::min(line.find('='), line.size());
    try {
      verb->settings().set("job", line.substr(0, equals), {line.substr(std::min(equals + 1, line.size()))});
    } catch (const Error&) {
    }
  }
  verb->settings().check(false);
  const std::vector<Device> devices;
  const capi::Sources inputs;
  const capi::Sinks outputs;
  capi::Work work(devices, nullptr, inputs, outputs, {});
  verb->run(work);
}
const Registered registered("settings", settings);

}  // namespace
}  // namespace halocline::fuzz
