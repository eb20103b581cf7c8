// labels: unit
// The table of forms: modes distinguish its rows, and devices take what is made for them.
#include "algorithms/projectors/scan_forms.hpp"

#include <gtest/gtest.h>

#include <set>

namespace halocline::scan_forms_test {
namespace {

TEST(ScanForms, AreToldApartByTheirModes) {
  std::set<std::string> modes;
  for (const ScanForm& form : scan_forms()) {
    EXPECT_TRUE(modes.insert(form.mode).second) << form.mode;
    EXPECT_EQ(&scan_form(form.mode), &form);
  }
  EXPECT_THROW(scan_form("joseph-quartets"), std::logic_error);
}

TEST(ScanForms, AreTakenByTheirDevices) {
  DeviceInfo gpu, cpu;
  gpu.type = "gpu", cpu.type = "cpu";
  gpu.max_work_group = 1024, gpu.local_memory = 48 << 10;
  EXPECT_EQ(lack_of(scan_form("exact"), gpu), "");
  EXPECT_EQ(lack_of(scan_form("columns"), gpu), "for CPUs only");
  EXPECT_EQ(lack_of(scan_form("columns"), cpu), "");
  EXPECT_EQ(lack_of(scan_form("local"), cpu), "for GPUs only");
  EXPECT_EQ(lack_of(scan_form("local"), gpu), "");
  gpu.max_work_group = 64;
  EXPECT_EQ(lack_of(scan_form("local"), gpu), "too small work-groups or local memory");
  EXPECT_EQ(lack_of(scan_form("texture"), gpu), "the device has no images");
  gpu.images = true;
  EXPECT_EQ(lack_of(scan_form("texture"), gpu), "");
  EXPECT_EQ(lack_of(scan_form("pairs"), gpu), "the device has no textures of two channels");
}

TEST(ScanForms, OfTilesAndBricksHaveTheirNames) {
  for (const LocalTile& tile : local_tiles())
    EXPECT_EQ(tile_variant(tile).name, "back-projection through local memory, " + tile.text());
  for (const AdjointBrick& brick : adjoint_bricks())
    EXPECT_EQ(brick_variant(brick, Projector::joseph)->name, "Joseph's adjoint in bricks, " + brick.text());
}

}  // namespace
}  // namespace halocline::scan_forms_test
