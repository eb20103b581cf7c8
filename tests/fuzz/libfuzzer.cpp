// The entry of libFuzzer into a program of one target.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto target = halocline::fuzz::targets().begin()->second;
  halocline::fuzz::run(target, std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

// Options of the sanitizers. Signals are theirs, whatever handlers the library sets, and reports go to the standard
// output, for the other one is captured around ITK.
extern "C" const char* __asan_default_options() {
  return "handle_segv=2:handle_abort=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:allocator_may_return_null=1:"
         "log_path=stdout";
}

// Libraries that lose memory over damaged files.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libhdf5\nleak:libITK\nleak:libgdcm\nleak:libtiff\nleak:libnifti\n";
}
