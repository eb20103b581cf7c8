#include "algorithms/solvers/measured_adjoint.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>

#include "algorithms/projectors/user_projector.hpp"
#include "algorithms/solvers/methods.hpp"
#include "algorithms/support/philox.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_views = 16;

// A number between -0.5 and 0.5 for each place.
float random_at(std::uint64_t place) {
  constexpr std::uint64_t seed = 1;
  constexpr std::uint32_t purpose = 0;
  return static_cast<float>(PhiloxStream(seed, place, purpose).uniform() - 0.5);
}

class RandomSource : public VolumeSource {
 public:
  explicit RandomSource(const Grid& grid) : grid_(grid) {}
  const Grid& grid() const override { return grid_; }
  void read(std::size_t first, std::size_t count, float* to) const override {
    for (std::size_t n = 0; n < count; ++n) to[n] = random_at(first + n);
  }

 private:
  Grid grid_;
};

// Adds up products with the values of RandomSource.
class RandomDot : public VolumeSink {
 public:
  explicit RandomDot(const Grid& grid) : grid_(grid) {}
  const Grid& grid() const override { return grid_; }
  void begin() override { sum_ = 0; }
  void write(std::size_t first, std::size_t count, float* from) override {
    double sum = 0;
    for (std::size_t n = 0; n < count; ++n) sum += static_cast<double>(from[n]) * random_at(first + n);
    const std::lock_guard lock(mutex_);
    sum_ += sum;
  }
  double sum() const { return sum_; }

 private:
  Grid grid_;
  std::mutex mutex_;
  double sum_ = 0;
};

// A number that differs where the text, its tables, the scan or the devices do.
std::uint64_t identity_of(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                          const Grid& projections, const std::vector<Device>& devices) {
  std::uint64_t identity = 0;
  const auto add = [&](std::string_view bytes) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    identity = (identity ^ std::hash<std::string_view>()(bytes)) * odd;
  };
  const auto add_all = [&](const auto& values) {
    add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]});
  };
  add(projector.file());
  for (const auto& [name, values] : projector.tables()) {
    add(name);
    add_all(values);
  }
  const RayTable rays = make_rays(geometry, volume, projections);
  add_all(rays.rays);
  add_all(rays.arcs);
  add_all(rays.sources);
  add_all(view_numbers(geometry));
  add_all(volume.size);
  add_all(volume.spacing);
  add_all(projections.size);
  for (const Device& device : devices) add(device.info().name);
  return identity;
}

// The error that was measured before in this process, or is measured now.
double known_adjoint_error(const Projector& projector, const Geometry& geometry, const Grid& volume,
                           const Grid& projections, const std::vector<Device>& devices) {
  static std::mutex mutex;
  static std::map<std::uint64_t, double> errors;
  const std::uint64_t identity = identity_of(*projector.users(), geometry, volume, projections, devices);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = errors.find(identity); found != errors.end()) return found->second;
  }
  const double error = measured_adjoint_error(projector, geometry, volume, projections, devices);
  library_log()->debug("the adjoint of {} is measured: error {:.2g}", projector_name(projector), error);
  const std::lock_guard lock(mutex);
  return errors[identity] = error;
}

}  // namespace

double measured_adjoint_error(const Projector& projector, const Geometry& geometry, const Grid& volume,
                              const Grid& projections, const std::vector<Device>& devices) {
  std::vector<std::size_t> views;
  const std::size_t count = geometry.views.size(), step = (count + most_views - 1) / most_views;
  for (std::size_t view = 0; view < count; view += step) views.push_back(view);
  const Geometry some = select_views(geometry, views);
  Grid stack = projections;
  stack.size[2] = some.views.size();
  Volume y = Volume::uninitialised(stack);
  MemorySink forward(y);
  project_into(RandomSource(volume), some, forward, {projector}, devices);
  const double squared = std::inner_product(y.voxels.begin(), y.voxels.end(), y.voxels.begin(), 0.0);
  RandomDot back(volume);
  backproject_into(MemorySource(y), some, back, projector, devices);
  return std::abs(squared - back.sum()) / squared;
}

void check_users_adjoint(const Projector& projector, const std::string& method, const Geometry& geometry,
                         const Grid& volume, const Grid& projections, const std::vector<Device>& devices) {
  if (projector.users() == nullptr) return;
  const double error = known_adjoint_error(projector, geometry, volume, projections, devices);
  if (std::isnan(error))
    throw InputError({.what = projector_name(projector),
                      .found = "one that projects random voxels to nothing",
                      .expected = "rays that visit voxels of this volume"});
  if (error <= largest_adjoint_error) return;
  const std::string found = fmt::format("{}: its kernel backproject is not the adjoint of project (error {:.2g})",
                                        projector_name(projector), error);
  if (solver_method(method).adjoint)
    throw InputError(
        fmt::format("{}, without which `method = {}` does not converge; mend the kernels, write a ray "
                    "model, or take `method = sirt` or another that does not need it",
                    found, method));
  library_log()->warn("{}; {} may end in another image, or diverge", found, method);
}

}  // namespace halocline
