// What libraries write to the standard error output of their own accord: compilers of drivers, readers of image
// formats. It would stand among our lines and those of whoever calls us, so it is kept and told as ours at log level
// debug.
#pragma once

#include <string>
#include <string_view>

namespace halocline {

/// While one lives, what is written to descriptor 2 goes to a file in memory, that of child processes too; at its end
/// each line of it is logged at level debug after the name of the library. Any thread may have one; where several live
/// at a time, the first that ends tells what has come so far. Our own lines pass by: write_stderr().
///
/// Libraries end the process over files that they did not expect: by abort(), as failed assertions and damaged heaps
/// do, or by a fault. If that happens meanwhile, what was kept is written to the standard error output. If it happens
/// in the thread of one that has `last_words`, these follow, and the exit code is 2: they say what was read.
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

/// Writes to the standard error output, captured or not. Errors are passed over: there is nowhere to tell them.
void write_stderr(std::string_view text);

}  // namespace halocline
