// labels: device
// The filters of ITK: the bits of the library's own functions, progress, the end by AbortGenerateData, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <itkCommand.h>
#include <itkImage.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <stdexcept>
#include <thread>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "itk/itkHaloclineFDKConeBeamReconstructionFilter.h"
#include "itk/itkHaloclineTotalVariationImageFilter.h"

namespace halocline::image_filters_test {
namespace {

using testing::HasSubstr;
using Image = itk::Image<float, 3>;
using TotalVariation = itk::HaloclineTotalVariationImageFilter<Image>;

const std::vector<Device>& devices() {
  static const std::vector<Device> opened = open_devices({});
  return opened;
}

template <unsigned int Dimension>
typename itk::Image<float, Dimension>::Pointer image_of(const Volume& volume) {
  auto image = itk::Image<float, Dimension>::New();
  typename itk::Image<float, Dimension>::SizeType size;
  auto spacing = image->GetSpacing();
  auto origin = image->GetOrigin();
  auto direction = image->GetDirection();
  for (unsigned int row = 0; row < Dimension; ++row) {
    size[row] = volume.grid.size[row];
    spacing[row] = volume.grid.spacing[row];
    origin[row] = volume.grid.origin[row];
    for (unsigned int axis = 0; axis < Dimension; ++axis) direction(row, axis) = volume.grid.direction[3 * row + axis];
  }
  image->SetRegions(size);
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  image->SetDirection(direction);
  image->Allocate();
  std::copy(volume.voxels.begin(), volume.voxels.end(), image->GetBufferPointer());
  return image;
}

template <class AnyImage>
bool holds(const AnyImage& image, const Volume& volume) {
  return image.GetBufferedRegion().GetNumberOfPixels() == volume.voxels.size() &&
         std::memcmp(image.GetBufferPointer(), volume.voxels.data(), 4 * volume.voxels.size()) == 0;
}

// A turned grid of unequal spacings, and a box with noise on it.
Grid turned(std::array<std::size_t, 3> size = {20, 18, 16}) {
  Grid grid{size, {0.5, 0.75, 1.25}, {-3, 7, 11}};
  grid.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  return grid;
}
Volume noisy(const Grid& grid, unsigned seed = 1) {
  Volume result(grid);
  for (std::size_t n = 0; n < result.voxels.size(); ++n) {
    seed = 1664525 * seed + 1013904223;
    const bool inside = n % grid.size[0] > grid.size[0] / 3;
    result.voxels[n] = (inside ? 1.0F : 0.0F) + 0.4F * (static_cast<float>(seed >> 8) / 16777216.0F - 0.5F);
  }
  return result;
}

TotalVariation::Pointer filter_of(const Volume& volume) {
  auto filter = TotalVariation::New();
  filter->SetInput(image_of<3>(volume));
  return filter;
}

// Text of ITK's exception.
template <class Filter>
std::string refused(Filter& filter) {
  try {
    filter.Update();
  } catch (const itk::ExceptionObject& error) {
    return error.GetDescription();
  }
  return "nothing";
}

template <class Filter>
void observe(Filter& filter, const std::function<void()>& told) {
  filter.AddObserver(itk::ProgressEvent(), [told](const itk::EventObject&) { told(); });
}

TEST(TotalVariationFilter, GivesTheBitsOfDenoise) {
  const Volume f = noisy(turned());
  Volume weights(f.grid, 1);
  for (std::size_t n = 0; n < weights.voxels.size(); ++n) weights.voxels[n] += 0.01F * static_cast<float>(n % 50);
  for (const std::string method : {"pdu", "spdu", "tvgd"}) {
    DenoiseParameters parameters{.method = method, .iterations = 40};
    auto filter = filter_of(f);
    filter->SetMethod(method);
    filter->SetIterations(40);
    if (method != "tvgd") {
      parameters.alpha = 4;
      parameters.gap = 0.01;
      filter->SetAlpha(4);
      filter->SetGap(0.01);
    }
    if (method == "spdu") filter->SetWeights(image_of<3>(weights));
    const auto expected = denoise(f, method == "spdu" ? &weights : nullptr, parameters, devices());
    filter->Update();
    EXPECT_TRUE(holds(*filter->GetOutput(), expected.output)) << method;
    EXPECT_NE(expected.output.voxels, f.voxels);
    EXPECT_EQ(filter->GetIterationsUsed(), expected.iterations);
    const Grid grid = itk::HaloclineGrid<3>(*filter->GetOutput(), filter->GetOutput()->GetBufferedRegion());
    EXPECT_NO_THROW(require_same_grid(grid, "the output", f.grid, "the input"));
    if (method == "tvgd") continue;
    EXPECT_EQ(filter->GetAlphaUsed(), 4);
    EXPECT_EQ(filter->GetRelativeGap(), expected.relative_gap);
    EXPECT_LE(filter->GetRelativeGap(), 0.01);
    EXPECT_TRUE(filter->GetConverged());
  }
}

TEST(TotalVariationFilter, ChoosesAlphaByTheHalves) {
  const Volume a = noisy(turned(), 5), b = noisy(turned(), 9);
  Volume f = a;
  for (std::size_t n = 0; n < f.voxels.size(); ++n) f.voxels[n] = 0.5F * (a.voxels[n] + b.voxels[n]);
  DenoiseParameters parameters{.half_a = &a, .half_b = &b};
  const auto expected = denoise(f, nullptr, parameters, devices());
  auto filter = filter_of(f);
  filter->SetHalfA(image_of<3>(a));
  filter->SetHalfB(image_of<3>(b));
  filter->Update();
  EXPECT_TRUE(holds(*filter->GetOutput(), expected.output));
  EXPECT_EQ(filter->GetAlphaUsed(), expected.alpha);
  EXPECT_THAT(filter->GetResult().alpha_choice, HasSubstr("hal"));
  EXPECT_FALSE(filter->GetAlpha().has_value());
  EXPECT_EQ(filter->GetWarnings().size(), expected.warnings.size());
}

TEST(TotalVariationFilter, TakesASliceAsAVolumeOfOne) {
  Grid grid{{30, 20, 1}, {0.5, 0.75, 1}, {-3, 7, 0}};
  const Volume f = noisy(grid);
  DenoiseParameters parameters{.alpha = 4};
  auto filter = itk::HaloclineTotalVariationImageFilter<itk::Image<float, 2>>::New();
  filter->SetInput(image_of<2>(f));
  filter->SetAlpha(4);
  filter->Update();
  EXPECT_TRUE(holds(*filter->GetOutput(), denoise(f, nullptr, parameters, devices()).output));
}

TEST(TotalVariationFilter, TellsProgressInTheThreadOfUpdate) {
  auto filter = filter_of(noisy(turned({40, 36, 32})));
  filter->SetAlpha(4);
  filter->SetGap(0);
  filter->SetIterations(300);
  std::vector<float> reached;
  bool same_thread = true;
  observe(*filter, [&, own = std::this_thread::get_id()] {
    reached.push_back(filter->GetProgress());
    same_thread = same_thread && std::this_thread::get_id() == own;
  });
  filter->Update();
  EXPECT_TRUE(same_thread);
  EXPECT_TRUE(std::is_sorted(reached.begin(), reached.end()));
  EXPECT_GE(reached.size(), 3U);
  EXPECT_LT(reached.front(), 1);
  EXPECT_EQ(reached.back(), 1);
}

TEST(TotalVariationFilter, EndsAtAbortAndGoesOnAfterwards) {
  const Volume f = noisy(turned({40, 36, 32}));
  auto filter = filter_of(f);
  filter->SetAlpha(4);
  filter->SetGap(0);
  filter->SetIterations(100000);
  float last = 0;
  const auto observer = filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject&) {
    last = filter->GetProgress();
    filter->AbortGenerateDataOn();
  });
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
  EXPECT_LT(last, 0.5);
  filter->RemoveObserver(observer);
  filter->SetIterations(20);
  filter->Update();
  DenoiseParameters parameters{.alpha = 4, .iterations = 20, .gap = 0};
  EXPECT_TRUE(holds(*filter->GetOutput(), denoise(f, nullptr, parameters, devices()).output));
}

TEST(TotalVariationFilter, EndsWhereAnObserverThrows) {
  auto filter = filter_of(noisy(turned()));
  filter->SetAlpha(4);
  filter->SetGap(0);
  filter->SetIterations(100000);
  observe(*filter, [] { throw std::domain_error("enough"); });
  EXPECT_THROW(filter->Update(), std::domain_error);
}

TEST(TotalVariationFilter, SaysWhatIsWrongInItsOwnWords) {
  const Volume f = noisy(turned());
  auto filter = filter_of(f);
  filter->SetAlpha(-1);
  EXPECT_THAT(refused(*filter), HasSubstr("SetAlpha"));
  filter->UnsetAlpha();
  filter->SetMethod("median");
  EXPECT_THAT(refused(*filter), HasSubstr("SetMethod is 'median'; expected pdu, spdu or tvgd"));
  filter->SetMethod("spdu");
  EXPECT_THAT(refused(*filter), HasSubstr("SetWeights"));
  filter->SetMethod("tvgd");
  filter->SetAlpha(3);
  EXPECT_THAT(refused(*filter), testing::AllOf(HasSubstr("SetAlpha"), HasSubstr("SetStep")));
  filter->SetMethod("pdu");
  filter->SetDevice("no such device");
  EXPECT_THAT(refused(*filter), HasSubstr("no such device"));
  filter->SetDevice("");
  filter->SetDeviceMemory(1000);
  EXPECT_THAT(refused(*filter), HasSubstr("SetDeviceMemory"));
  filter->SetDeviceMemory(0);
  Grid other = f.grid;
  other.origin[0] += 1;
  filter->SetHalfA(image_of<3>(noisy(other)));
  EXPECT_THAT(refused(*filter), HasSubstr("physical space"));
  filter->SetHalfA(nullptr);
  EXPECT_EQ(refused(*filter), "nothing");
}

// Source that gives the first slice alone, whatever is requested.
class FirstSlice : public itk::ImageSource<Image> {
 public:
  using Self = FirstSlice;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);

 protected:
  void GenerateOutputInformation() override { GetOutput()->SetLargestPossibleRegion(Image::SizeType{{8, 8, 4}}); }
  void GenerateData() override {
    GetOutput()->SetBufferedRegion(Image::SizeType{{8, 8, 1}});
    GetOutput()->Allocate(true);
  }
};

TEST(TotalVariationFilter, WantsTheWholeInput) {
  auto source = FirstSlice::New();
  auto filter = TotalVariation::New();
  filter->SetInput(source->GetOutput());
  EXPECT_THAT(refused(*filter), HasSubstr("holds [8, 8, 1] of [8, 8, 4] voxels"));
}

TEST(FilterTexts, NameSetters) {
  const std::vector<std::string_view> known{"alpha", "method", "half_a", "half_b", "displaced"};
  EXPECT_EQ(itk::HaloclineInSetters("`alpha` is -1; `method = spdu`, `alpha = 3`, `displaced = false`", known),
            "SetAlpha is -1; SetMethod(\"spdu\"), SetAlpha(3), SetDisplaced(false)");
  EXPECT_EQ(itk::HaloclineInSetters("with `half_a, half_b`, `stages`, `stages = 2`, `half_a, x` and ` alone", known),
            "with SetHalfA, SetHalfB, `stages`, `stages = 2`, `half_a, x` and ` alone");
}

// ---- filtered back-projection

// rtk::ThreeDCircularProjectionGeometry as far as the filter goes.
class Scan : public itk::Object {
 public:
  using Self = Scan;
  using Pointer = itk::SmartPointer<Self>;
  using ConstPointer = itk::SmartPointer<const Self>;
  itkNewMacro(Self);
  const std::vector<double>& GetGantryAngles() const { return gantry; }
  const std::vector<double>& GetOutOfPlaneAngles() const { return out_of_plane; }
  const std::vector<double>& GetInPlaneAngles() const { return in_plane; }
  const std::vector<double>& GetSourceToIsocenterDistances() const { return sid; }
  const std::vector<double>& GetSourceToDetectorDistances() const { return sdd; }
  const std::vector<double>& GetSourceOffsetsX() const { return source_x; }
  const std::vector<double>& GetSourceOffsetsY() const { return source_y; }
  const std::vector<double>& GetProjectionOffsetsX() const { return projection_x; }
  const std::vector<double>& GetProjectionOffsetsY() const { return projection_y; }
  double GetRadiusCylindricalDetector() const { return 0; }

  std::vector<double> gantry, out_of_plane, in_plane, sid, sdd, source_x, source_y, projection_x, projection_y;
};
using Fdk = itk::HaloclineFDKConeBeamReconstructionFilter<Image, Scan>;

constexpr double degrees = 180 / std::numbers::pi;

Scan::Pointer scan(double arc = 360) {
  auto result = Scan::New();
  for (int n = 0; n < 40; ++n) {
    result->gantry.push_back(arc / degrees * n / 40);
    result->out_of_plane.push_back(0.01);
    result->in_plane.push_back(-0.02);
    result->sid.push_back(200 + 0.01 * n);
    result->sdd.push_back(300);
    result->source_x.push_back(0.25);
    result->source_y.push_back(-0.5);
    result->projection_x.push_back(0.75);
    result->projection_y.push_back(1.5);
  }
  return result;
}

halocline::Geometry geometry_of(const Scan& scan) {
  halocline::Geometry result;
  for (std::size_t n = 0; n < scan.gantry.size(); ++n) {
    View view;
    view.sid = scan.sid[n];
    view.sdd = scan.sdd[n];
    view.gantry_angle = scan.gantry[n] * degrees;
    view.out_of_plane_angle = scan.out_of_plane[n] * degrees;
    view.in_plane_angle = scan.in_plane[n] * degrees;
    view.source_offset_x = scan.source_x[n];
    view.source_offset_y = scan.source_y[n];
    view.projection_offset_x = scan.projection_x[n];
    view.projection_offset_y = scan.projection_y[n];
    result.views.push_back(view);
  }
  return result;
}

Volume projections() {
  Grid grid{{24, 20, 40}, {2, 2.5, 1}};
  grid.origin = {-23, -23.75, 0};
  return noisy(grid);
}

Fdk::Pointer fdk_filter(const Scan::Pointer& geometry) {
  auto filter = Fdk::New();
  filter->SetInput(image_of<3>(projections()));
  filter->SetGeometry(geometry);
  return filter;
}

TEST(FdkFilter, GivesTheBitsOfFdkOnAGridOfSettings) {
  const Volume p = projections();
  Grid grid{{18, 16, 14}, {1.5, 1.25, 1}};
  grid.origin = {-12, -10, -6};
  const auto geometry = scan();
  auto filter = fdk_filter(geometry);
  filter->SetGridFromImage(image_of<3>(Volume(grid)));
  filter->SetWindow("hann");
  filter->SetCutoff(0.8);
  filter->SetPad(0.2);
  std::vector<float> reached;
  observe(*filter, [&] { reached.push_back(filter->GetProgress()); });
  filter->Update();
  FdkParameters parameters{.window = Window::hann, .cutoff = 0.8, .pad = 0.2};
  EXPECT_TRUE(holds(*filter->GetOutput(), fdk(p, geometry_of(*geometry), grid, parameters, devices()).output));
  EXPECT_EQ(reached.back(), 1);
  EXPECT_NO_THROW(
      require_same_grid(itk::HaloclineGrid<3>(*filter->GetOutput(), filter->GetOutput()->GetLargestPossibleRegion()),
                        "the output", grid, "the grid"));

  // a geometry that has changed is read again
  geometry->projection_x.assign(40, -0.75);
  geometry->Modified();
  filter->Update();
  EXPECT_TRUE(holds(*filter->GetOutput(), fdk(p, geometry_of(*geometry), grid, parameters, devices()).output));
}

TEST(FdkFilter, ChoosesWhatIsNotSetOfTheGrid) {
  auto filter = fdk_filter(scan());
  filter->UpdateOutputInformation();
  const auto grid = [&] {
    return itk::HaloclineGrid<3>(*filter->GetOutput(), filter->GetOutput()->GetLargestPossibleRegion());
  };
  const Volume p = projections();
  EXPECT_NO_THROW(
      require_same_grid(grid(), "the grid", default_volume(geometry_of(*scan()), p.grid, true), "the default"));
  Image::SizeType size;
  size.Fill(11);
  filter->SetSize(size);
  Image::DirectionType identity;
  identity.SetIdentity();
  filter->SetDirection(identity);
  Image::SpacingType spacing;
  spacing.Fill(2);
  filter->SetSpacing(spacing);
  filter->UpdateOutputInformation();
  EXPECT_EQ(grid().size, (std::array<std::size_t, 3>{11, 11, 11}));
  EXPECT_EQ(grid().origin, (std::array<double, 3>{-10, -10, -10}));
  EXPECT_EQ(grid().direction, (std::array<double, 9>{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  Image::PointType origin;
  origin.Fill(-3);
  filter->SetOrigin(origin);
  filter->UpdateOutputInformation();
  EXPECT_EQ(grid().origin, (std::array<double, 3>{-3, -3, -3}));
}

TEST(FdkFilter, EndsAtAbort) {
  auto filter = fdk_filter(scan());
  float last = 0;
  observe(*filter, [&] {
    last = filter->GetProgress();
    filter->AbortGenerateDataOn();
  });
  Image::SizeType size;
  size.Fill(128);
  filter->SetSize(size);
  filter->SetDeviceMemory(2 << 20);  // in many slabs
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
  EXPECT_LT(last, 0.9);
}

TEST(FdkFilter, SaysWhatIsWrongInItsOwnWords) {
  EXPECT_THAT(refused(*fdk_filter(nullptr)), HasSubstr("SetGeometry()"));
  const auto lacking = scan();
  lacking->sid.pop_back();
  EXPECT_THAT(refused(*fdk_filter(lacking)),
              testing::AllOf(HasSubstr("GetSourceToIsocenterDistances() has 39 values"), HasSubstr("expected 40")));
  const auto tilted = scan(150);
  EXPECT_THAT(refused(*fdk_filter(tilted)), HasSubstr("SetAllowIncompleteArc"));
  auto filter = fdk_filter(scan());
  filter->SetWindow("triangle");
  EXPECT_THAT(refused(*filter), HasSubstr("triangle"));
  filter->SetWindow("hann");
  filter->SetPad(2);
  EXPECT_THAT(refused(*filter), HasSubstr("SetPad"));
  filter->SetPad(0);
  filter->SetCutoff(0);
  EXPECT_NE(refused(*filter), "nothing");
  auto few = scan();
  few->gantry.resize(3);
  for (auto* values : {&few->out_of_plane, &few->in_plane, &few->sid, &few->sdd, &few->source_x, &few->source_y,
                       &few->projection_x, &few->projection_y})
    values->resize(3);
  EXPECT_THAT(refused(*fdk_filter(few)), HasSubstr("3"));
}

}  // namespace
}  // namespace halocline::image_filters_test
