// Filtered back-projection as a filter of ITK, of scans whose geometry is RTK's.
#pragma once

#include <itkMath.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/geometry/default_volume.hpp"
#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume_source.hpp"
#include "itk/itkHaloclineImageFilter.h"

namespace itk {

/// The scan of a geometry with the accessors of rtk::ThreeDCircularProjectionGeometry, whose angles are in radians.
template <typename TGeometry>
::halocline::Geometry HaloclineGeometry(const TGeometry& geometry) {
  ::halocline::Geometry result;
  result.views.resize(geometry.GetGantryAngles().size());
  result.radius_cylindrical_detector = geometry.GetRadiusCylindricalDetector();
  const auto take = [&](const std::vector<double>& values, double ::halocline::View::*member, const char* name,
                        double unit = 1) {
    if (values.size() != result.views.size()) {
      std::ostringstream text;
      text << "the geometry's " << name << "() has " << values.size() << " values; expected " << result.views.size()
           << ", as GetGantryAngles() has: make the geometry by AddProjection()";
      throw ::halocline::InputError(text.str());
    }
    for (std::size_t n = 0; n < values.size(); ++n) result.views[n].*member = unit * values[n];
  };
  using ::halocline::View;
  take(geometry.GetGantryAngles(), &View::gantry_angle, "GetGantryAngles", Math::deg_per_rad);
  take(geometry.GetOutOfPlaneAngles(), &View::out_of_plane_angle, "GetOutOfPlaneAngles", Math::deg_per_rad);
  take(geometry.GetInPlaneAngles(), &View::in_plane_angle, "GetInPlaneAngles", Math::deg_per_rad);
  take(geometry.GetSourceToIsocenterDistances(), &View::sid, "GetSourceToIsocenterDistances");
  take(geometry.GetSourceToDetectorDistances(), &View::sdd, "GetSourceToDetectorDistances");
  take(geometry.GetSourceOffsetsX(), &View::source_offset_x, "GetSourceOffsetsX");
  take(geometry.GetSourceOffsetsY(), &View::source_offset_y, "GetSourceOffsetsY");
  take(geometry.GetProjectionOffsetsX(), &View::projection_offset_x, "GetProjectionOffsetsX");
  take(geometry.GetProjectionOffsetsY(), &View::projection_offset_y, "GetProjectionOffsetsY");
  return result;
}

/// Reconstructs a stack of projections (u, v, view), line integrals, by fdk_into() of algorithms/fdk/fdk.hpp. Short
/// scans and displaced detectors are weighted by themselves. Projections go in and voxels come out without a copy.
/// TGeometry: rtk::ThreeDCircularProjectionGeometry, or another itk::Object with its accessors.
template <typename TImage, typename TGeometry>
class HaloclineFDKConeBeamReconstructionFilter : public HaloclineImageFilter<TImage, TImage> {
 public:
  ITK_DISALLOW_COPY_AND_MOVE(HaloclineFDKConeBeamReconstructionFilter);
  using Self = HaloclineFDKConeBeamReconstructionFilter;
  using Superclass = HaloclineImageFilter<TImage, TImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  itkNewMacro(Self);
  const char* GetNameOfClass() const override { return "HaloclineFDKConeBeamReconstructionFilter"; }
  static_assert(TImage::ImageDimension == 3, "projections are a stack (u, v, view), which has three dimensions");

  using SizeType = typename TImage::SizeType;
  using SpacingType = typename TImage::SpacingType;
  using PointType = typename TImage::PointType;
  using DirectionType = typename TImage::DirectionType;

  itkSetConstObjectMacro(Geometry, TGeometry);
  itkGetConstObjectMacro(Geometry, TGeometry);

  // The grid of the result. Not set:
  HaloclineOptionalMacro(Size, SizeType);            ///< what the detector sees
  HaloclineOptionalMacro(Spacing, SpacingType);      ///< the pixels at the isocentre, or what Size leaves
  HaloclineOptionalMacro(Origin, PointType);         ///< centred at the isocentre
  HaloclineOptionalMacro(Direction, DirectionType);  ///< i along x, j along z and k along y, the axis of rotation
  /// The grid of another image, whose information is up to date; it needs no voxels.
  void SetGridFromImage(const ImageBase<3>* image) {
    this->SetSize(image->GetLargestPossibleRegion().GetSize());
    this->SetSpacing(image->GetSpacing());
    PointType first;
    image->TransformIndexToPhysicalPoint(image->GetLargestPossibleRegion().GetIndex(), first);
    this->SetOrigin(first);
    this->SetDirection(image->GetDirection());
  }

  /// The ramp filter's: "ram-lak" (the default), "shepp-logan", "cosine", "hamming" or "hann".
  itkSetStringMacro(Window);
  itkGetStringMacro(Window);
  /// Fraction of the detector's highest frequency, in (0, 1].
  itkSetMacro(Cutoff, double);
  itkGetConstMacro(Cutoff, double);
  /// Rows that the detector cuts off go on by this fraction of their length, in [0, 1], before they are filtered.
  itkSetMacro(Pad, double);
  itkGetConstMacro(Pad, double);
  /// Weigh a detector that stands to one side.
  itkSetMacro(Displaced, bool);
  itkGetConstMacro(Displaced, bool);
  itkBooleanMacro(Displaced);
  /// Go on where views are missing.
  itkSetMacro(AllowIncompleteArc, bool);
  itkGetConstMacro(AllowIncompleteArc, bool);
  itkBooleanMacro(AllowIncompleteArc);
  /// Interpolate in the texture units of GPUs, most of which have 8 bits for fractions.
  itkSetMacro(HardwareInterpolation, bool);
  itkGetConstMacro(HardwareInterpolation, bool);
  itkBooleanMacro(HardwareInterpolation);

  /// All that the library says of the last run, but for the volume.
  const ::halocline::RunResult& GetResult() const { return m_Result; }

  ModifiedTimeType GetMTime() const override {
    const auto own = Superclass::GetMTime();
    return m_Geometry ? std::max(own, m_Geometry->GetMTime()) : own;
  }

 protected:
  HaloclineFDKConeBeamReconstructionFilter() = default;
  ~HaloclineFDKConeBeamReconstructionFilter() override = default;

  std::vector<std::string_view> Parameters() const override {
    return {"window", "cutoff", "pad", "displaced", "allow_incomplete_arc", "hardware_interpolation"};
  }

  void GenerateOutputInformation() override {
    ::halocline::Grid grid;
    this->Guard([&] { grid = this->ResultGrid(); });
    SizeType size;
    SpacingType spacing;
    PointType origin;
    DirectionType direction;
    for (unsigned int row = 0; row < 3; ++row) {
      size[row] = grid.size[row];
      spacing[row] = grid.spacing[row];
      origin[row] = grid.origin[row];
      for (unsigned int axis = 0; axis < 3; ++axis) direction(row, axis) = grid.direction[3 * row + axis];
    }
    TImage& output = *this->GetOutput();
    output.SetLargestPossibleRegion(size);
    output.SetSpacing(spacing);
    output.SetOrigin(origin);
    output.SetDirection(direction);
  }

  void GenerateData() override {
    m_Result = {};
    this->AllocateOutputs();
    const ::halocline::Grid stack = this->Stack();
    const ::halocline::MemorySource source(stack, this->VoxelsOf(*this->GetInput()));
    TImage& output = *this->GetOutput();
    ::halocline::MemorySink sink(HaloclineGrid<3>(output, output.GetLargestPossibleRegion()),
                                 output.GetBufferPointer());
    ::halocline::Geometry geometry;
    ::halocline::FdkParameters parameters;
    this->Guard([&] {
      geometry = HaloclineGeometry(*m_Geometry);
      parameters.window = ::halocline::window_from_name(m_Window);
    });
    parameters.cutoff = m_Cutoff;
    parameters.pad = m_Pad;
    parameters.hardware_interpolation = m_HardwareInterpolation;
    parameters.redundancy = {.displaced = m_Displaced, .allow_incomplete_arc = m_AllowIncompleteArc};
    this->Run([&](const std::vector<::halocline::Device>& devices, const ::halocline::Progress& progress) {
      ::halocline::RunOptions options;
      options.progress = progress;
      m_Result = ::halocline::fdk_into(source, stack, geometry, sink, parameters, devices, options);
    });
  }

  void PrintSelf(std::ostream& os, Indent indent) const override {
    Superclass::PrintSelf(os, indent);
    const auto show = [&](const char* name, const auto& value) {
      os << indent << name << ": ";
      value ? os << *value << '\n' : os << "(not set)\n";
    };
    show("Size", m_Size);
    show("Spacing", m_Spacing);
    show("Origin", m_Origin);
    show("Direction", m_Direction);
    os << indent << "Window: " << m_Window << '\n' << indent << "Cutoff: " << m_Cutoff << '\n';
    os << indent << "Pad: " << m_Pad << '\n' << indent << "Displaced: " << m_Displaced << '\n';
    os << indent << "AllowIncompleteArc: " << m_AllowIncompleteArc << '\n';
    os << indent << "HardwareInterpolation: " << m_HardwareInterpolation << '\n';
  }

 private:
  ::halocline::Grid Stack() const {
    return HaloclineGrid<3>(*this->GetInput(), this->GetInput()->GetLargestPossibleRegion());
  }

  ::halocline::Grid ResultGrid() const {
    if (!m_Geometry) throw ::halocline::InputError("there is no geometry: give it by SetGeometry()");
    const auto geometry = HaloclineGeometry(*m_Geometry);
    const auto stack = this->Stack();
    ::halocline::check_geometry(geometry, "the geometry");
    ::halocline::check_projections(stack, "the input", geometry, "the geometry",
                                   ::halocline::DetectorShape::flat_or_cylinder);
    ::halocline::WantedVolume wanted;
    if (m_Size) wanted.size = {(*m_Size)[0], (*m_Size)[1], (*m_Size)[2]};
    if (m_Spacing) wanted.spacing = {(*m_Spacing)[0], (*m_Spacing)[1], (*m_Spacing)[2]};
    auto grid = ::halocline::default_volume(geometry, stack, m_Displaced, wanted);
    for (unsigned int row = 0; row < 3 && m_Direction; ++row) {
      grid.origin[row] = 0;
      for (unsigned int axis = 0; axis < 3; ++axis) {
        grid.direction[3 * row + axis] = (*m_Direction)(row, axis);
        const double middle = 0.5 * (static_cast<double>(grid.size[axis]) - 1) * grid.spacing[axis];
        grid.origin[row] -= (*m_Direction)(row, axis) * middle;
      }
    }
    for (unsigned int row = 0; row < 3 && m_Origin; ++row) grid.origin[row] = (*m_Origin)[row];
    ::halocline::check_grid(grid, "the volume of SetSize, SetSpacing, SetOrigin and SetDirection");
    return grid;
  }

  typename TGeometry::ConstPointer m_Geometry;
  std::optional<SizeType> m_Size;
  std::optional<SpacingType> m_Spacing;
  std::optional<PointType> m_Origin;
  std::optional<DirectionType> m_Direction;
  std::string m_Window = "ram-lak";
  double m_Cutoff = 1, m_Pad = 0;
  bool m_Displaced = true, m_AllowIncompleteArc = false, m_HardwareInterpolation = false;
  ::halocline::RunResult m_Result;
};

}  // namespace itk
