// Patches: back-projection to boxes, and its adjoint.
#include "algorithms/projectors/patches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "capi/context.hpp"
#include "capi/geometry.hpp"
#include "capi/log.hpp"
#include "capi/status.hpp"

using namespace halocline;
using namespace halocline::capi;

struct halocline_patches {
 public:
  halocline_patches(std::shared_ptr<const Context> context, const Geometry& geometry, const Grid& volume,
                    const Grid& projections)
      : context_(std::move(context)),
        patches_(context_->devices.front(), geometry, volume, projections),
        stack_(projections) {}

  Patches& patches() { return patches_; }
  const Patches& patches() const { return patches_; }

  void set_boxes(const std::vector<Grid>& boxes) {
    patches_.set_boxes(boxes);
    voxels_ = {};  // of another size, should there be no memory
    voxels_ = device().buffer("patches: voxels", sizeof(float) * patches_.voxels());
  }

  void set_projections(int64_t first, int64_t count, const float* values) {
    const auto views = static_cast<int64_t>(stack_.size[2]);
    if (first < 0 || count < 1 || count > views || first > views - count)
      throw InputError({.what = "the range of views",
                        .found = fmt::format("{} from {} on", count, first),
                        .expected = fmt::format("a part of the {} of the geometry", views)});
    if (given_.bytes() == 0) {
      Buffer all = stack("patches: projections");
      device().fill(all, 0, 0, all.bytes()).wait();
      given_ = std::move(all);
    }
    const std::size_t view = sizeof(float) * stack_.slice();
    write(given_, view * static_cast<std::size_t>(first), values, view * static_cast<std::size_t>(count));
  }

  void backproject(const float* projections, float* voxels) {
    require_boxes();
    if (projections == nullptr && given_.bytes() == 0)
      throw InputError({.what = "`projections`",
                        .found = "a null pointer, and none are on the device",
                        .expected = "an array of all views",
                        .remedy = "give it, or call halocline_patches_set_projections() before"});
    if (projections != nullptr) write(new_stack(), 0, projections, stack_bytes());
    read(patches_.backproject(projections == nullptr ? given_ : new_, voxels_), voxels_, voxels);
  }

  void project(const float* voxels, float* projections) {
    require_boxes();
    write(voxels_, 0, voxels, voxels_.bytes());
    read(patches_.project(voxels_, new_stack()), new_, projections);
  }

 private:
  Device& device() { return patches_.device(); }
  std::size_t stack_bytes() const { return sizeof(float) * stack_.count(); }
  Buffer stack(const char* name) { return device().buffer(name, stack_bytes()); }
  // Memory for projections of one call.
  const Buffer& new_stack() {
    if (new_.bytes() == 0) new_ = stack("patches: new projections");
    return new_;
  }
  void write(const Buffer& to, std::size_t offset, const float* from, std::size_t bytes) {
    device().write(to, offset, from, bytes).wait();
  }
  void read(const Event& done, const Buffer& from, float* to) {
    device().read(from, 0, to, from.bytes(), std::span(&done, 1)).wait();
  }
  void require_boxes() const {
    if (voxels_.bytes() == 0)
      throw InputError({.what = "the list of boxes",
                        .found = "empty",
                        .expected = "at least one box",
                        .remedy = "call halocline_patches_set_boxes() before"});
  }

  std::shared_ptr<const Context> context_;
  Patches patches_;
  Grid stack_;
  Buffer given_, new_, voxels_;  // projections that remain, those of a call; the boxes
};

namespace {

std::vector<int> numbers_of(const int64_t* views, int64_t count) {
  if (views == nullptr) return {};
  if (count < 1)
    throw InputError({.what = "the list of views",
                      .found = fmt::format("of {}", count),
                      .expected = "at least one",
                      .remedy = "give NULL for all views"});
  constexpr int64_t most = std::numeric_limits<int>::max();
  std::vector<int> result;
  for (int64_t n = 0; n < count; ++n) result.push_back(static_cast<int>(std::clamp<int64_t>(views[n], -1, most)));
  return result;
}

}  // namespace

extern "C" int halocline_patches_new(halocline_context* context, const halocline_geometry* geometry,
                                     const halocline_grid* volume, const halocline_grid* projections,
                                     halocline_patches** patches) noexcept {
  return guarded([&] {
    take_over_log();
    auto& result = required(patches, "`patches`");
    result = std::make_unique<halocline_patches>(
                 required(context, "`context`").shared, required(geometry, "`geometry`").geometry,
                 grid_of(required(volume, "`volume`"), "the grid of the volume"),
                 grid_of(required(projections, "`projections`"), "the grid of the projections"))
                 .release();
  });
}

extern "C" int halocline_patches_set_boxes(halocline_patches* patches, const halocline_grid* boxes,
                                           int64_t count) noexcept {
  return guarded([&] { required(patches, "`patches`").set_boxes(grids_of(boxes, count, "`boxes`")); });
}

extern "C" int halocline_patches_voxel_count(const halocline_patches* patches, int64_t* count) noexcept {
  return guarded(
      [&] { required(count, "`count`") = static_cast<int64_t>(required(patches, "`patches`").patches().voxels()); });
}

extern "C" int halocline_patches_set_views(halocline_patches* patches, const int64_t* views, int64_t count) noexcept {
  return guarded([&] { required(patches, "`patches`").patches().set_views(numbers_of(views, count)); });
}

extern "C" int halocline_patches_replace_views(halocline_patches* patches, int64_t first,
                                               const halocline_geometry* geometry) noexcept {
  return guarded([&] {
    if (first < 0) throw InputError({.what = "`first`", .found = fmt::to_string(first), .expected = "0 or more"});
    required(patches, "`patches`")
        .patches()
        .replace_views(static_cast<std::size_t>(first), required(geometry, "`geometry`").geometry);
  });
}

extern "C" int halocline_patches_set_projections(halocline_patches* patches, int64_t first, int64_t count,
                                                 const float* values) noexcept {
  return guarded([&] { required(patches, "`patches`").set_projections(first, count, &required(values, "`values`")); });
}

extern "C" int halocline_patches_backproject(halocline_patches* patches, const float* projections,
                                             float* voxels) noexcept {
  return guarded([&] { required(patches, "`patches`").backproject(projections, &required(voxels, "`voxels`")); });
}

extern "C" int halocline_patches_project(halocline_patches* patches, const float* voxels, float* projections) noexcept {
  return guarded([&] {
    required(patches, "`patches`").project(&required(voxels, "`voxels`"), &required(projections, "`projections`"));
  });
}

extern "C" void halocline_patches_free(halocline_patches* patches) noexcept {
  delete patches;
}
