// The files of a job: which are inputs, which are outputs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace halocline {

/// The files that an input consists of, each once, sorted: those of a series, and the voxels beside a header.
std::vector<std::filesystem::path> files_of_input(const std::string& path);

/// Refuses a path that is an input and an output, or twice an output (InputError), before any work. An empty path is
/// none.
class FileClaims {
 public:
  /// An existing file. Throws InputError.
  void input(const std::string& option, const std::string& path);
  /// A file that can be written. Throws FileError if it cannot.
  void output(const std::string& option, const std::string& path);
  /// A file that can be written, with the name of an image format.
  void output_image(const std::string& option, const std::string& path);
  /// A series of image files that is still being written (see check_growing_series()): outputs and other inputs that it
  /// would take for files of its own are refused.
  void input_growing(const std::string& option, const std::string& path);
  /// Throws InputError if such a series would take a file that another input names. input() does the same; this is for
  /// inputs that are opened with the series' first file.
  void check_beside_growing(const std::string& option, const std::string& path) const;

 private:
  struct Claim {
    std::string option;
    std::vector<std::filesystem::path> files;
    bool output;
    std::string growing = {};  // name of the series
    std::string slices = {};   // pattern of the files that will be written, one a slice
  };
  static bool share_a_file(const Claim& a, const Claim& b);
  void claim(const std::string& option, const std::string& path, bool output);

  std::vector<Claim> claims_;
};

}  // namespace halocline
