// Denoising by total variation as a filter of ITK.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/denoise/denoise.hpp"
#include "host/volume/volume_source.hpp"
#include "itk/itkHaloclineImageFilter.h"

namespace itk {

/// Denoises the input by denoise_into() of algorithms/denoise/denoise.hpp: pdu and spdu minimise
/// ||u - f||^2 / (2 lambda) + TV(u) with lambda = 1 / alpha to a relative duality gap, tvgd descends by steps. Voxels
/// go in and come out without a copy. Two dimensions are a volume of one slice.
template <typename TInputImage, typename TOutputImage = TInputImage>
class HaloclineTotalVariationImageFilter : public HaloclineImageFilter<TInputImage, TOutputImage> {
 public:
  ITK_DISALLOW_COPY_AND_MOVE(HaloclineTotalVariationImageFilter);
  using Self = HaloclineTotalVariationImageFilter;
  using Superclass = HaloclineImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  itkNewMacro(Self);
  const char* GetNameOfClass() const override { return "HaloclineTotalVariationImageFilter"; }

  /// "pdu" (the default), "spdu" or "tvgd".
  itkSetStringMacro(Method);
  itkGetStringMacro(Method);
  /// pdu, spdu: 1 / lambda; more smooths less. Not set: chosen by the noise, or by the halves where there are some.
  HaloclineOptionalMacro(Alpha, double);
  /// pdu, spdu: the same without a unit, in place of Alpha: alpha is this over the noise and the voxels' spacing.
  HaloclineOptionalMacro(AlphaSigma, double);
  /// pdu, spdu: relative duality gap to stop at; 0: all iterations.
  itkSetMacro(Gap, double);
  itkGetConstMacro(Gap, double);
  /// At most so many.
  itkSetMacro(Iterations, int);
  itkGetConstMacro(Iterations, int);
  /// tvgd: RMS change per voxel and iteration, in grey values. Not set: a tenth of the noise.
  HaloclineOptionalMacro(Step, double);
  /// ||u - f||_2. tvgd: stop there. pdu, spdu: choose alpha so that it is reached.
  HaloclineOptionalMacro(TargetFidelity, double);

  /// The noise variance at every voxel up to a factor, which spdu needs; on the input's grid.
  itkSetInputMacro(Weights, TInputImage);
  itkGetInputMacro(Weights, TInputImage);
  /// Reconstructions of the odd and of the even views, between whose noise alpha is chosen; on the input's grid. They
  /// are copied.
  itkSetInputMacro(HalfA, TInputImage);
  itkGetInputMacro(HalfA, TInputImage);
  itkSetInputMacro(HalfB, TInputImage);
  itkGetInputMacro(HalfB, TInputImage);

  // After Update(), not a number where the method has none:
  /// How far the result is from the minimum at most, relative to the primal objective.
  double GetRelativeGap() const { return m_Result.relative_gap; }
  /// Alpha as it was given or chosen.
  double GetAlphaUsed() const { return m_Result.alpha; }
  /// How many were done.
  int GetIterationsUsed() const { return m_Result.iterations; }
  /// The gap or the target was reached.
  bool GetConverged() const { return m_Result.converged; }
  /// Also shown as ITK's warnings.
  const std::vector<std::string>& GetWarnings() const { return m_Warnings; }
  /// All that the library says of the run.
  const ::halocline::DenoiseResult& GetResult() const { return m_Result; }

 protected:
  HaloclineTotalVariationImageFilter() = default;
  ~HaloclineTotalVariationImageFilter() override = default;

  std::vector<std::string_view> Parameters() const override {
    return {"method", "alpha",           "alpha_sigma", "gap",    "iterations",
            "step",   "target_fidelity", "weights",     "half_a", "half_b"};
  }

  void GenerateData() override {
    m_Result = {};
    m_Warnings.clear();
    this->AllocateOutputs();
    const TInputImage& input = *this->GetInput();
    const auto& region = input.GetLargestPossibleRegion();
    const ::halocline::Grid grid = HaloclineGrid<Superclass::Dimension>(input, region);
    const ::halocline::MemorySource source(grid, this->VoxelsOf(input));
    const auto weights = this->SourceOf(this->GetWeights());
    const auto half_a = this->VolumeOf(this->GetHalfA()), half_b = this->VolumeOf(this->GetHalfB());
    ::halocline::MemorySink sink(grid, this->GetOutput()->GetBufferPointer());
    ::halocline::DenoiseParameters parameters;
    this->Guard([&] { parameters = this->MakeParameters(); });
    if (half_a) parameters.half_a = &*half_a;
    if (half_b) parameters.half_b = &*half_b;
    this->Run([&](const std::vector<::halocline::Device>& devices, const ::halocline::Progress& progress) {
      ::halocline::RunOptions options;
      options.progress = progress;
      m_Result = ::halocline::denoise_into(source, weights ? &*weights : nullptr, sink, parameters, devices, options);
    });
    for (const auto& warning : m_Result.warnings) {
      m_Warnings.push_back(HaloclineInSetters(warning, this->Parameters()));
      itkWarningMacro(<< m_Warnings.back());
    }
  }

  void PrintSelf(std::ostream& os, Indent indent) const override {
    Superclass::PrintSelf(os, indent);
    const auto show = [&](const char* name, const std::optional<double>& value) {
      os << indent << name << ": ";
      value ? os << *value << '\n' : os << "(not set)\n";
    };
    os << indent << "Method: " << m_Method << '\n';
    show("Alpha", m_Alpha);
    show("AlphaSigma", m_AlphaSigma);
    os << indent << "Gap: " << m_Gap << '\n' << indent << "Iterations: " << m_Iterations << '\n';
    show("Step", m_Step);
    show("TargetFidelity", m_TargetFidelity);
  }

 private:
  ::halocline::DenoiseParameters MakeParameters() const {
    if (m_Method != "pdu" && m_Method != "spdu" && m_Method != "tvgd")
      throw ::halocline::InputError(
          ::halocline::Problem{.what = "`method`", .found = "'" + m_Method + "'", .expected = "pdu, spdu or tvgd"});
    ::halocline::DenoiseParameters parameters;
    parameters.method = m_Method;
    parameters.alpha = m_Alpha;
    parameters.alpha_sigma = m_AlphaSigma;
    parameters.gap = m_Gap;
    parameters.iterations = m_Iterations;
    parameters.step = m_Step;
    parameters.target_fidelity = m_TargetFidelity;
    return parameters;
  }

  std::optional<::halocline::MemorySource> SourceOf(const TInputImage* image) const {
    if (image == nullptr) return std::nullopt;
    const auto grid = HaloclineGrid<Superclass::Dimension>(*image, image->GetLargestPossibleRegion());
    return ::halocline::MemorySource(grid, this->VoxelsOf(*image));
  }
  std::optional<::halocline::Volume> VolumeOf(const TInputImage* image) const {
    const auto source = this->SourceOf(image);
    if (!source) return std::nullopt;
    return ::halocline::read_volume(*source);
  }

  std::string m_Method = "pdu";
  std::optional<double> m_Alpha, m_AlphaSigma, m_Step, m_TargetFidelity;
  double m_Gap = 1e-3;
  int m_Iterations = 500;
  ::halocline::DenoiseResult m_Result;
  std::vector<std::string> m_Warnings;
};

}  // namespace itk
