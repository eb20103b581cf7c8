// TV-GD: gradient descent on the total variation, stopped by its distance from the data.
#pragma once

#include "algorithms/denoisers/denoise_method.hpp"

namespace halocline {

/// u <- u - step sqrt(N) g / ||g||_2 with g the gradient of sum_i sqrt(|(B u)_i|^2 + eps^2), B the backward differences
/// divided by the spacing (the total-variation steps of ASD-POCS, Sidky & Pan 2008). `step` is the RMS change per voxel
/// and iteration, so it does not depend on the volume's size. ||g|| is summed over the whole volume before every
/// iteration. Input "f", result "u". There is no minimum to converge to short of a flat image: the run stops when ||u -
/// f||_2 / sqrt(N) reaches target_rms, or after the iterations. On the way steps are no longer than three tenths of
/// what is left to the target (but at least a twentieth of `step`), and the last one is shortened to meet the target.
class Tvgd : public DenoiseMethod, private DeviceSteering {
 public:
  /// Uses size, spacing, iterations, step, epsilon, target_rms, variants.
  explicit Tvgd(const MethodParameters& parameters);

  Requirements requirements() const override;
  void begin() override;
  void start(Slab& slab) const override;
  void iterate(Slab& slab, int iteration, Range core) const override;
  bool takes_parts(const Slab& slab) const override { return !keeps(slab); }
  void iterate_parts(Slab& slab, int first, int count, std::span<const Range> parts,
                     const std::function<void(std::size_t)>& launched) const override;
  int next_reduction(int done) const override { return done + 1; }
  std::vector<std::string> image_arrays() const override { return {"u"}; }
  bool ends_early(int done) override;
  void reduce(Slab& slab, int done, Range interior) const override;
  bool reduced(int done, std::span<const double> sums) override;
  std::string note() const override;

  const DeviceSteering* on_device() const override { return this; }
  int window(const Slab& slab) const override;
  void steer(Slab& slab, int done) const override;
  std::vector<std::vector<double>> sums(Slab& slab, int done, int count) const override;

 protected:
  /// v = the next u on `core`, of a slab that keeps no gradient.
  virtual void step(Slab& slab, Range core) const;
  /// True if reduce() leaves the gradient in v, for the step to add it to u.
  bool keeps(const Slab& slab) const;
  /// Work-items and options; on GPUs an item has four columns where rows allow it.
  struct Shape {
    std::array<std::size_t, 3> global, group;
    std::string options;
    std::size_t sets;  // of partial sums a slice
  };
  Shape shape(const Slab& slab, Range slices, int depth) const;
  /// Pushes the arguments that a stepping kernel takes of the factor: control, whether it counts, given.
  void push_factor(std::vector<SlabArgument>& arguments, const Slab& slab) const;

  MethodParameters parameters_;
  std::array<float, 3> inverse_;  // 1 / spacing
  float epsilon2_;
  SliceSums sums_;

 private:
  bool measures(int done) const;
  /// Factor of the next g. squares: ||g||^2 and ||u - f||^2; product: <u - f, g>.
  double next_factor(double gradient2, double fidelity2, double product) const;

  double count_;  // voxels
  double factor_ = 0;
  int ended_at_ = -1;  // iterations done when the run was ended from outside
};

}  // namespace halocline
