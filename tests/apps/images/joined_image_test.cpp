// labels: app unit error
// An image file that several sinks write, as several processes do.
#include <gmock/gmock.h>

#include <filesystem>
#include <vector>

#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::joined_image_test {
namespace {

using testing::HasSubstr;

Volume ramp() {
  Grid grid{.size = {7, 5, 13}, .spacing = {0.5, 0.75, 2}};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n);
  return volume;
}

void write(const Volume& from, std::size_t first, std::size_t count, ImageSink& to) {
  std::vector<float> part(from.voxels.begin() + static_cast<std::ptrdiff_t>(first),
                          from.voxels.begin() + static_cast<std::ptrdiff_t>(first + count));
  to.write(first, count, part.data());
}

TEST(JoinedImage, HasTheVoxelsOfAll) {
  const Volume volume = ramp();
  const std::size_t all = volume.voxels.size(), third = all / 3;
  for (const char* name : {"a.mha", "b.mhd", "c.raw"})
    for (const Component type : {Component::float32, Component::uint8}) {
      SCOPED_TRACE(name);
      const Folder f;
      const ImageStorage storage{type, {}};
      const auto image = create_image(f / name, volume.grid, storage);
      EXPECT_EQ(image->temporary_path(), "");
      image->reserve();
      const auto second = join_image(f / name, volume.grid, storage, image->temporary_path());
      const auto last = join_image(f / name, volume.grid, storage, image->temporary_path());
      write(volume, 2 * third, all - 2 * third, *last);
      write(volume, 0, third, *image);
      write(volume, third, third, *second);
      for (const auto* each : {&second, &last}) image->add((*each)->end_part());
      EXPECT_FALSE(std::filesystem::exists(f / name));
      image->commit();
      for (const auto* each : {&second, &last}) (*each)->commit();
      const std::size_t beyond = type == Component::uint8 ? all - 256 : 0;
      EXPECT_EQ(image->changed(), beyond);
      const Volume found = read_image(f / name);
      for (std::size_t n = 0; n < all; ++n)
        ASSERT_EQ(found.voxels[n], beyond > 0 && n > 255 ? 255.0f : volume.voxels[n]) << n;
    }
}

TEST(JoinedImage, LeavesNothingWithoutAPart) {
  const Volume volume = ramp();
  const Folder f;
  {
    const auto image = create_image(f / "a.mha", volume.grid, {});
    image->reserve();
    const auto other = join_image(f / "a.mha", volume.grid, {}, image->temporary_path());
    write(volume, 0, 9, *image);
    write(volume, 9, 9, *other);
    image->add(other->end_part());
    EXPECT_THAT(refusal_of<std::logic_error>([&] { image->commit(); }), HasSubstr("18 of 455 voxels"));
  }
  EXPECT_TRUE(f.files().empty());
}

TEST(JoinedImage, RefusesFilesThatAreNotShared) {
  const Volume volume = ramp();
  const Folder f;
  EXPECT_THAT(refusal_of<FileError>([&] { join_image(f / "a.mha", volume.grid, {}, f / "nowhere.mha"); }),
              HasSubstr("on a file system that all nodes share"));
  EXPECT_THAT(refusal_of([&] { join_image(f / "a.nrrd", volume.grid, {}, f / "b"); }), HasSubstr("a.nrrd"));
}

}  // namespace
}  // namespace halocline::joined_image_test
