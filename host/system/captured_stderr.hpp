// Capture of text that libraries (compilers of drivers, readers of image formats) write to the standard error output,
// where it would mix with other lines. It is logged at level debug.
#pragma once

#include <string>
#include <string_view>

namespace halocline {

/// Captures text written to descriptor 2 during its lifetime in a file in memory, that of child processes included, and
/// logs each line at level debug after the name of the library. Several threads may have one; the first that ends logs
/// the text so far. write_stderr() is not captured.
///
/// Libraries end the process over unexpected files: by abort(), as failed assertions and damaged heaps do, by a fault,
/// or by exit(). The captured text is then written to the standard error output. In the thread of one that has
/// `last_words`, these follow, and the exit code is 2: they name the file. After exit() without them a line says that a
/// library ended the process.
class CapturedStderr {
 public:
  explicit CapturedStderr(const char* library, std::string last_words = "");
  ~CapturedStderr();
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

 private:
  const char* library_;
  std::string last_words_;
  const std::string* before_;  // of the thread
};

/// Writes to the standard error output, captured or not, and ignores errors.
void write_stderr(std::string_view text);

}  // namespace halocline
