// labels: app
// Previews: which voxel goes where, which value becomes which grey, and a PNG file that libpng reads back.
#include "apps/drawing/preview.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "host/system/error.hpp"

namespace halocline::preview_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Volume numbered(std::array<std::size_t, 3> size) {
  Grid grid{.size = size};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n);
  return volume;
}

TEST(Preview, AxesAreThoseOfTheFile) {
  const Volume volume = numbered({3, 4, 5});  // 0 .. 59
  PreviewOptions options{.window = {{0, 255}}};
  GreyImage image = render_preview(volume, options);  // z = 2
  EXPECT_EQ(image.width, 3U);
  EXPECT_EQ(image.height, 4U);
  EXPECT_EQ(image.pixels[0], 24);
  EXPECT_EQ(image.pixels[1], 25);
  EXPECT_EQ(image.pixels[3], 27);

  options.axis = 'y';
  options.slice = 1;
  image = render_preview(volume, options);
  EXPECT_EQ(image.width, 3U);
  EXPECT_EQ(image.height, 5U);
  EXPECT_EQ(image.pixels[2], 5);
  EXPECT_EQ(image.pixels[3], 15);

  options.axis = 'x';
  options.slice = 2;
  image = render_preview(volume, options);
  EXPECT_EQ(image.width, 4U);
  EXPECT_EQ(image.height, 5U);
  EXPECT_EQ(image.pixels[1], 5);
  EXPECT_EQ(image.pixels[4], 14);
}

TEST(Preview, Windows) {
  Volume volume = numbered({4, 1, 1});
  volume.voxels = {-10, 0, 1, 10};
  PreviewOptions options{.window = {{0, 2}}};
  EXPECT_EQ(render_preview(volume, options).pixels, (std::vector<std::uint8_t>{0, 0, 128, 255}));

  // two hot and two cold voxels of 1000 do not darken the rest
  Volume large = numbered({10, 10, 10});
  large.voxels[500] = 1e9F;
  large.voxels[501] = -1e9F;
  options = {};
  const GreyImage image = render_preview(large, options);  // values 500 to 599 of about 5 to 994
  EXPECT_EQ(image.pixels[0], 255);
  EXPECT_EQ(image.pixels[1], 0);
  EXPECT_NEAR(image.pixels[50], 255 * (550.0 - 5) / 989, 1.5);

  for (float& value : volume.voxels) value = 7;
  for (const auto grey : render_preview(volume, options).pixels) EXPECT_NEAR(grey, 128, 1);

  // an object of a few voxels in an empty volume is seen nevertheless
  Volume sparse = numbered({10, 10, 10});
  for (float& value : sparse.voxels) value = 0;
  sparse.at(3, 4, 5) = 2;
  EXPECT_EQ(render_preview(sparse, options).pixels[43], 255);
  sparse.at(3, 4, 5) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NO_THROW(render_preview(sparse, options));
}

TEST(Preview, MontageHasOnePhysicalScale) {
  Volume volume = numbered({20, 10, 4});
  volume.grid.spacing = {0.5, 1, 3};  // 10 x 10 x 12 mm
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t j = 0; j < 10; ++j)
      for (std::size_t i = 0; i < 20; ++i) volume.at(i, j, k) = static_cast<float>(k);
  PreviewOptions options{.window = {{0, 3}}, .montage = true};
  const GreyImage image = render_preview(volume, options);
  EXPECT_EQ(image.width, 20 + 2 + 20 + 2 + 20U);
  EXPECT_EQ(image.height, 24U);
  const auto pixel = [&](std::size_t column, std::size_t row) { return int{image.pixels[column + image.width * row]}; };
  EXPECT_EQ(pixel(5, 5), 170);  // slice z = 2
  EXPECT_EQ(pixel(5, 20), 0);   // below it, as it is only 20 high
  EXPECT_EQ(pixel(20, 3), 0);   // the gap
  EXPECT_EQ(pixel(25, 0), 0);   // k runs down the second panel, 6 pixels a slice
  EXPECT_EQ(pixel(25, 23), 255);
  EXPECT_NEAR(pixel(25, 12), 255.0 * (12.5 / 6 - 0.5) / 3, 1);  // linear between slices
  EXPECT_EQ(pixel(50, 23), 255);

  // huge volumes are scaled down
  Volume line = numbered({20000, 1, 1});
  const GreyImage small = render_preview(line, options);
  EXPECT_LE(small.width, 4096U);
  EXPECT_GT(small.width, 4000U);
  EXPECT_EQ(small.height, 1U);
}

TEST(Preview, SeveralStandSideBySideWithOneWindow) {
  const Volume small = numbered({3, 2, 1}), large = numbered({2, 4, 1});
  PreviewOptions options;
  options.window = preview_window(MemorySource(small), options);
  const GreyImage left = render_preview(small, options), right = render_preview(large, options);
  const GreyImage both = side_by_side({left, right});
  ASSERT_EQ(both.width, 3U + 6U + 2U);
  ASSERT_EQ(both.height, 4U);
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < both.width; ++column) {
      const int grey = both.pixels[column + both.width * row];
      if (column < 3 && row < 2)
        EXPECT_EQ(grey, left.pixels[column + 3 * row]);
      else if (column >= 9)
        EXPECT_EQ(grey, right.pixels[column - 9 + 2 * row]);
      else
        EXPECT_EQ(grey, 255) << column << ", " << row;
    }
  EXPECT_EQ(both.pixels[0], both.pixels[9]);  // both are 0 there
}

TEST(Preview, WrongOptions) {
  const Volume volume = numbered({3, 4, 5});
  const auto error = [&](const PreviewOptions& options) -> std::string {
    try {
      render_preview(volume, options);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  PreviewOptions options{.slice = 5};
  EXPECT_THAT(error(options), AllOf(HasSubstr("slice 5"), HasSubstr("0 to 4")));
  options.axis = 'x';
  options.slice = 3;
  EXPECT_THAT(error(options), HasSubstr("0 to 2"));
  options.slice = 2;
  EXPECT_EQ(error(options), "");
  options.montage = true;
  EXPECT_THAT(error(options), HasSubstr("montage"));
  options = {};
  options.axis = 'w';
  EXPECT_THAT(error(options), HasSubstr("x, y or z"));
  options = {};
  options.window = {3, 3};
  EXPECT_THAT(error(options), HasSubstr("3,3"));
}

TEST(Preview, PngComesBack) {
  for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{1, 1}, {93, 7}, {7, 93}, {512, 300}}) {
    GreyImage image{width, height, {}};
    for (std::size_t n = 0; n < width * height; ++n) image.pixels.push_back(static_cast<std::uint8_t>(n * 37 + n / 11));
    const std::string bytes = encode_png(image);
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    ASSERT_NE(png_image_begin_read_from_memory(&header, bytes.data(), bytes.size()), 0) << header.message;
    EXPECT_EQ(header.width, width);
    EXPECT_EQ(header.height, height);
    EXPECT_EQ(header.format & PNG_FORMAT_FLAG_COLOR, 0U);
    header.format = PNG_FORMAT_GRAY;
    std::vector<std::uint8_t> back(PNG_IMAGE_SIZE(header));
    ASSERT_NE(png_image_finish_read(&header, nullptr, back.data(), 0, nullptr), 0) << header.message;
    EXPECT_EQ(back, image.pixels);

    const auto file =
        std::filesystem::temp_directory_path() / ("halocline-preview-" + std::to_string(::getpid()) + ".png");
    write_png(image, file.string());
    std::ostringstream found;
    found << std::ifstream(file, std::ios::binary).rdbuf();
    EXPECT_EQ(found.str(), bytes);
    std::filesystem::remove(file);
  }
  EXPECT_THROW(encode_png(GreyImage{}), InputError);
  EXPECT_THROW(encode_png(GreyImage{2, 2, {1, 2, 3}}), InputError);
}

}  // namespace
}  // namespace halocline::preview_test
