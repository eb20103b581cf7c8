#include "apps/job/common_options.hpp"

#include <spdlog/spdlog.h>

#include <memory>

#include "apps/job/log_sink.hpp"

namespace halocline {

void add_common_options(Settings& settings, CommonOptions& options) {
  const char* devices = "Devices";
  settings
      .add("device", options.devices.device,
           "Comma list of: index, cpu, gpu, accelerator, all, or a part of a name (see 'halocline devices'). "
           "Default: the "
           "environment's HALOCLINE_DEVICE, else the first GPU, else the first device")
      .unit("LIST")
      .also({"all", "cpu", "gpu", "accelerator"})
      .group(devices);
  settings.add("sub-devices", options.devices.sub_devices, "Split the one chosen CPU device into N (tests, NUMA)")
      .whole_from(1)
      .unit("N")
      .initial("")
      .group(devices);
  settings
      .add_bytes(
          "device-memory", options.devices.device_memory,
          "Budget of each device in bytes, with K, M, G or T (powers of 1024), e.g. 64M or 1.5G. Default: 90 % of what "
          "it has")
      .unit("BYTES")
      .group(devices);
  settings
      .add("no-tune", options.no_tune,
           "Use the defaults: nothing that 'halocline tune' found, and no two seconds of it on the first run on a GPU "
           "that nobody has measured")
      .group(devices);
  settings
      .add_bytes(
          "host-memory", options.host_memory,
          "Host memory that a job may take, as for --device-memory: one that would need more is refused before it "
          "begins. Default: what the computer has")
      .unit("BYTES")
      .group(devices);
  settings
      .add("scratch", options.scratch,
           "Let whole volumes and the state of streamed slabs lie in files of this folder instead of "
           "host memory, for volumes that are too large for it. Fast disks help; nothing is left there")
      .not_empty("a folder")
      .unit("FOLDER")
      .group(devices);
  const char* output = "Messages and reports";
  settings.add("dry-run", options.dry_run, "Print the plan, or what would be done, and write nothing").group(output);
  settings
      .add("trace", options.trace,
           "Write the times of all device commands there (JSON, for chrome://tracing or Perfetto)")
      .writes(FileKind::json)
      .group(output);
  settings.add("report", options.report, "Write options, devices, plan, iterations, gap and times there (JSON)")
      .writes(FileKind::json)
      .group(output);
  settings
      .add("html", options.html,
           "Write a page there to look through the images of the job in a browser, with its report (HTML, one "
           "file). For commands that make images")
      .writes(FileKind::any)
      .group(output);
  settings
      .add("html-size", options.html_size,
           "Most voxels along an axis in the page; larger volumes are shown as means over boxes of voxels. The "
           "page has 5 MB at most")
      .whole_from(1, 2048)
      .unit("N")
      .group(output);
  settings.add("quiet", options.quiet, "No progress and no result lines; only what was asked for, warnings and errors")
      .group(output);
  settings
      .add("log-level", options.log_level,
           "From this level on, log lines go to stderr; debug: what drivers and readers of images say, too. "
           "Default: info, or "
           "warn with --quiet")
      .one_of({"trace", "debug", "info", "warn", "error", "off"})
      .group(output);
  settings.add(
      "allow-nonfinite", options.allow_nonfinite,
      "Take NaN and infinite values instead of refusing them: those of projections, counts, flats and darks were not "
      "measured, so they are interpolated, and get the weight 0 in reconstruct; those of other images become 0");
}

void set_up_logging(const CommonOptions& options) {
  auto logger = std::make_shared<spdlog::logger>("halocline", make_stderr_sink());
  logger->set_pattern("halocline: %^%l%$: %v");
  logger->set_level(!options.log_level.empty() ? spdlog::level::from_str(options.log_level)
                    : options.quiet            ? spdlog::level::warn
                                               : spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace halocline
