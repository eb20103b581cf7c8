#include "apps/job/first_tuning.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "algorithms/calibration/tune.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {

bool tune_first_run(const Device& device, const std::string& tune_class) {
  if (has_measured_defaults(device.info()) || tuning_of(device).classes.contains(tune_class)) return false;
  spdlog::info(
      "the first run on {}: measuring what is fastest there for about 2 s (--no-tune skips that, 'halocline tune' "
      "takes longer)",
      device.info().name);
  TuneOptions options;
  options.classes = {tune_class};
  options.seconds = 2;
  const bool own = tuning_of(device) == stored_tuning(device.info()).value_or(Tuning{});
  try {
    auto found = tune(device, options);
    if (found.left_out.empty()) found.tuning.classes.insert(tune_class);  // or it would be tried at every start
    if (own) store_tuning(device.info(), found.tuning);                   // that of another rank is not kept here
    use_tuning(device, std::move(found.tuning));
    return true;
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {  // the run itself may do without what failed here
    spdlog::warn("{} was not tuned: {}", device.info().name, error.what());
  }
  return false;
}

}  // namespace halocline
