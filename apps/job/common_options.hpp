// The options that every subcommand has.
#pragma once

#include <cstddef>
#include <string>

#include "algorithms/jobs/settings.hpp"
#include "host/opencl/device_info.hpp"

namespace halocline {

struct CommonOptions {
  DeviceSelection devices;
  std::size_t host_memory = 0;  // bytes; 0: what the computer has
  bool dry_run = false, quiet = false, allow_nonfinite = false, no_tune = false;
  std::string trace, report;    // paths; empty: none
  std::string html;             // path; empty: none
  std::size_t html_size = 256;  // voxels
  std::string command_line;     // as it was given
  std::string scratch;          // a folder for large host arrays; empty: they lie in memory
  std::string log_level;        // empty: info, or warn with --quiet
};

/// The end of the descriptions of volumes and projections to write.
constexpr const char* slice_files_help =
    ". A .tif with a place for the number, as in v_%03d.tif, becomes a file for each slice, from 0 on";

/// -i, which is required.
template <class Paths>
void add_input(Settings& settings, Paths& paths, const std::string& help, FileKind kind = FileKind::image) {
  settings.add("input", paths, help).named("-i,--input").required().file(kind);
}
/// -o of a volume or projections, which is required.
inline void add_output_image(Settings& settings, std::string& path, const std::string& help) {
  settings.add("output", path, help + slice_files_help).named("-o,--output").required().writes(FileKind::image);
}

void add_common_options(Settings& settings, CommonOptions& options);

/// Sends log lines to stderr (results go to stdout) from the chosen level on.
void set_up_logging(const CommonOptions& options);

}  // namespace halocline
