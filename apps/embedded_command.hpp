// The command as a function: its verbs called by a program, with values for settings, arrays in place of files,
// progress and messages in place of lines on a terminal. Results are bitwise identical to the command's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry_text.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "apps/images/memory_files.hpp"
#include "host/opencl/device.hpp"
#include "host/opencl/fft.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/execution/progress.hpp"

namespace halocline {

/// A context and a device of OpenCL that hold arrays of the caller. Runs take place there unless they name another
/// device.
struct ForeignHome {
  void *context, *device;
  std::function<void(const Device& adopted)> add_arrays;  ///< to EmbeddedRun::images
};

/// A setting by name, with its words: several for lists.
struct GivenSetting {
  std::string name;
  std::vector<std::string> words;
};

/// One call.
struct EmbeddedRun {
  std::string verb;                                             ///< "fdk", "geometry find-axis"
  std::vector<GivenSetting> settings = {};                      ///< its own and those of every verb
  MemoryFiles* images = nullptr;                                ///< what "mem:NAME" stands for
  const std::map<std::string, ScanFile>* geometries = nullptr;  ///< by their whole names, as "mem:geometry"
  const MemoryProjectors::Map* projectors = nullptr;            ///< by their whole names, as "mem:own.cl"
  Progress progress = {};
  Cancellation* cancellation = nullptr;
  std::optional<ForeignHome> home = {};
};

struct EmbeddedResult {
  std::string text;       ///< what the command prints on stdout
  nlohmann::json report;  ///< as --report writes it
};

/// Keeps devices open, with their compiled kernels, from call to call. It must go before the process ends. Calls of
/// several threads run beside each other.
class EmbeddedCommand {
 public:
  EmbeddedCommand();
  ~EmbeddedCommand();
  /// Throws the library's errors, with the command's flags in their texts; InputError for settings that the verb does
  /// not have.
  EmbeddedResult run(const EmbeddedRun& run);
  /// Devices that a call with this selection works on.
  std::vector<Device> devices(const DeviceSelection& selection);

 private:
  // adopt_device(), kept as the others are, but for contexts that were not used for a while.
  Device adopted(void* context, void* device, std::size_t memory);

  // Devices with a limit of memory, which is that of one run.
  struct Limited {
    std::string key;
    std::vector<Device> devices;
  };
  class Borrowed;
  Limited take_limited(const DeviceSelection& selection);
  void give_back(Limited limited);

  struct Adopted {
    void *context, *id;
    std::size_t memory;
    Device device;
  };
  std::mutex mutex_;
  std::map<std::string, std::vector<Device>> devices_;  // by their selection
  std::deque<Limited> limited_;                         // that no run uses, the latest last
  std::deque<Adopted> adopted_;                         // the latest last
  std::unique_ptr<FftKernels> fft_kernels_;
};

}  // namespace halocline
