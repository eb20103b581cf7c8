// What libraries write to the standard error output of their own accord: compilers of drivers, readers of image
// formats. It would stand among our lines and those of whoever calls us, so it is kept and told as ours at log level
// debug.
#pragma once

#include <string_view>

namespace halocline {

/// While one lives, what is written to descriptor 2 goes to a file in memory, that of child processes too; at its end
/// each line of it is logged at level debug after the name of the library. Any thread may have one; where several live
/// at a time, the first that ends tells what has come so far. If the process aborts meanwhile, what was kept is written
/// to the standard error output. Our own lines pass by: write_stderr().
class CapturedStderr {
 public:
  explicit CapturedStderr(const char* library);
  ~CapturedStderr();
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

 private:
  const char* library_;
};

/// Writes to the standard error output, captured or not. Errors are passed over: there is nowhere to tell them.
void write_stderr(std::string_view text);

}  // namespace halocline
