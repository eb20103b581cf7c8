// Targets of the fuzzer: functions that take any bytes as a stranger's file or text. Each is a file of this folder,
// which libFuzzer runs (libfuzzer.cpp) and the ordinary tests replay on its seeds and regression files
// (replay_test.cpp). Only halocline::Error may come out of what a target calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/embedded_command.hpp"
#include "host/volume/volume.hpp"

namespace halocline::fuzz {

using Target = void (*)(const std::string& bytes);

/// All targets of this program, by name.
std::map<std::string, Target>& targets();

/// Puts a target into that list: `const Registered registered("pca", pca);`
struct Registered {
  Registered(const char* name, Target target) { targets()[name] = target; }
};

/// Runs a target, without warnings on the terminal. Errors of this library are what bad bytes are answered with; all
/// other exceptions pass.
void run(Target target, const std::string& bytes);

/// A file of that name in the folder of this process, which is removed at its end.
std::string path_of(const std::string& name);
/// Writes the file and returns its path.
std::string file_of(const std::string& name, const std::string& bytes);

/// Throws std::logic_error, a finding, unless `good`.
void require(bool good, const std::string& what);

/// Reads an image as the commands do: its header and, if it is small, all of its voxels.
std::optional<Volume> read_any_image(const std::string& path);

/// A finding: a file that is read without ITK has another grid or other values through it, where both read it. ITK
/// reads voxels of NIfTI that are not finite as 0.
void require_as_through_itk(const std::string& path);

/// Runs a verb of the command in this process. A finding: errors of the system or of memory.
void run_verb(const std::string& verb, const std::vector<GivenSetting>& settings);

}  // namespace halocline::fuzz
