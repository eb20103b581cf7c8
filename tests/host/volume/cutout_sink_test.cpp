// labels: unit
// A box of what is written, whatever the pieces.
#include "host/volume/cutout_sink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace halocline::cutout_sink_test {
namespace {

TEST(CutoutSink, GivesTheBoxOn) {
  const Grid whole{{7, 5, 4}, {1, 2, 3}, {-3, 1, 0}};
  const Cutout part{{2, 1, 1}, {4, 3, 2}};
  Volume all(whole);
  std::iota(all.voxels.begin(), all.voxels.end(), 0.0f);
  const Volume expected = cut_out(all, part);
  for (const std::size_t piece : {1, 3, 7, 8, 31, 140}) {
    Volume found(expected.grid);
    MemorySink inner(found);
    CutoutSink sink(whole, part, inner);
    EXPECT_EQ(sink.grid().size, whole.size);
    sink.begin();
    for (std::size_t first = 0; first < all.voxels.size(); first += piece)
      sink.write(first, std::min(piece, all.voxels.size() - first), all.voxels.data() + first);
    EXPECT_EQ(found.voxels, expected.voxels) << "pieces of " << piece;
  }
}

}  // namespace
}  // namespace halocline::cutout_sink_test
