// Card of a device, one small file that a user can send: rates, self-check, and benches of each kind of work.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

struct DeviceCardOptions {
  std::optional<std::size_t> size;  ///< edges of volumes and detectors; none: 512 on GPUs, 128 on CPUs, less to fit
  double seconds = 0.2;             ///< time of measuring a mode; no less than one run
};

struct CardRow {
  std::string work, mode;
  RunTimes times;     ///< seconds; fdk: host to host; denoise: of an iteration
  double rate = 0;    ///< a second
  std::string unit;   ///< "rays", "updates" or "voxel iterations"
  double share = -1;  ///< of the device's limit, measured beside it; -1: host to host, without a limit
};

struct DeviceCard {
  DeviceInfo device;
  std::optional<DeviceRates> rates;
  std::map<std::string, std::string> checks;  ///< finding of each kernel variant, by its name
  std::vector<CardRow> rows;
  std::vector<std::string> left_out;
};

/// Bytes of host memory that device_card() takes.
double device_card_bytes(const Device& device, const DeviceCardOptions& options);

/// Measures projection, back-projection, FDK and denoising at one size, and back-projection of RabbitCT's scan (496
/// views of 1248 x 960 pixels into N^3 voxels; Rohkohl, Keck, Hofmann & Hornegger 2009), on a circle. What does not
/// fit the device is left out. The device then records its commands nowhere else. Throws InputError that names `size`,
/// PlanError if not even FDK fits, ClError, BuildError, Interrupted.
DeviceCard device_card(const Device& device, const DeviceCardOptions& options, const Progress& progress = {});

}  // namespace halocline
