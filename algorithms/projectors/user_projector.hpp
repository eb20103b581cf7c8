// Projectors that users write in OpenCL C: a ray model, of which the toolkit makes the projector and its exact adjoint,
// or a pair of kernels (cl/user_projector.clh, docs/projectors.md).
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/projectors/backprojection_method.hpp"
#include "algorithms/projectors/projection_method.hpp"

namespace halocline {

struct ProjectorText;

struct UserProjectorOptions {
  /// Arrays of float32 that kernels read: `__global const float* name`, whole on each device.
  std::map<std::string, std::vector<float>> tables = {};
  std::map<std::string, std::string> macros = {};  ///< defines before the text; "": without a value
};

class UserProjector {
 public:
  /// name: of the projector, for messages. Throws InputError for a text that is neither a ray model nor a pair of
  /// kernels, is of another PROJECTOR_VERSION, or has a define or table that cannot be.
  UserProjector(const std::string& name, const std::string& source, UserProjectorOptions options = {});
  /// The projector of a file, or one of MemoryProjectors, which has its tables. Throws InputError if it cannot be read,
  /// and as above.
  static UserProjector from_file(const std::filesystem::path& file, UserProjectorOptions options = {});

  const std::string& name() const { return name_; }
  /// True for a ray model, whose adjoint is exact and made by the toolkit.
  bool is_ray_model() const { return ray_model_; }

  /// A x and A^T y between these grids. Throws InputError as UserArrays().
  std::shared_ptr<const ProjectionMethod> forward(const Geometry& geometry, const Grid& volume,
                                                  const Grid& projections) const;
  std::shared_ptr<const BackprojectionMethod> adjoint(const Geometry& geometry, const Grid& volume,
                                                      const Grid& projections) const;

  /// Properties for the methods.
  const std::string& file() const { return file_; }  ///< of the kernels (keep_kernel_text())
  const std::string& build_options() const { return build_options_; }
  const std::map<std::string, std::vector<float>>& tables() const { return *tables_; }
  int halo() const { return halo_; }
  /// True if the text keeps to the ends of rays: it uses `segment` or SEGMENT_OF.
  bool knows_ends() const { return knows_ends_; }
  /// Lines of the text where the kernels project and backproject are.
  std::array<int, 2> lines() const { return lines_; }
  /// In mm: PROJECTOR_LARGEST_WEIGHT, or twice a voxel's diagonal.
  double largest_weight(const Grid& volume) const;
  std::array<std::size_t, 3> group() const { return group_; }  ///< 0: the device's choice

 private:
  void read_defines(const ProjectorText& text, const std::map<std::string, std::string>& macros);

  std::string name_, file_, build_options_;
  std::shared_ptr<const std::map<std::string, std::vector<float>>> tables_;
  bool ray_model_ = false, knows_ends_ = false;
  std::array<int, 2> lines_{};
  int halo_ = 0;
  std::optional<double> largest_weight_;
  std::array<std::size_t, 3> group_{};
};

/// While one of these lives, names of these projectors stand for them in this thread as those of files do. They end in
/// ".cl". nullptr: none.
class MemoryProjectors {
 public:
  using Map = std::map<std::string, UserProjector>;
  explicit MemoryProjectors(const Map* projectors);
  MemoryProjectors(const MemoryProjectors&) = delete;
  MemoryProjectors& operator=(const MemoryProjectors&) = delete;
  ~MemoryProjectors();

 private:
  const Map* before_;
};

/// True for a name that ends in ".cl".
bool is_projector_file(const std::string& name);

}  // namespace halocline
