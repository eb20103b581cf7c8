#include "capi/counts.hpp"

#include "algorithms/preprocessing/ring_reduction.hpp"
#include "algorithms/preprocessing/unmeasured.hpp"
#include "host/system/error.hpp"

namespace halocline::capi {
namespace {

constexpr const char* projections_name = "the input `projections`";

// A source that somebody else owns.
class Borrowed : public VolumeSource {
 public:
  explicit Borrowed(const VolumeSource& source) : source_(source) {}
  const Grid& grid() const override { return source_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override { source_.read(first, count, to); }
  const float* data() const override { return source_.data(); }

 private:
  const VolumeSource& source_;
};

}  // namespace

std::optional<CountsCalibration> CountsInputs::calibration(const Work& work, bool allow_nonfinite) const {
  if (!counts) {
    for (const auto& name : inputs())
      if (work.input(name) != nullptr)
        throw InputError({.what = "the input `" + name + "`",
                          .found = "given for line integrals",
                          .expected = "`counts` = true with it"});
    return std::nullopt;
  }
  const Volume flats = work.copy_of("flats"), after = work.copy_of("flats-after"), darks = work.copy_of("darks"),
               bad = work.copy_of("bad-pixels");
  if (flats.voxels.empty() && !after.voxels.empty())
    throw InputError({.what = "the input `flats-after`", .found = "given alone", .expected = "`flats` with it"});
  const auto field = [](const Volume& stack, const char* name) {
    return CountsField{stack.voxels.empty() ? nullptr : &stack, name};
  };
  CountsOptions taken = options;
  taken.allow_nonfinite = allow_nonfinite;
  return calibrate_counts(work.required_input("projections"),
                          {field(flats, "the input `flats`"), field(after, "the input `flats-after`"),
                           field(darks, "the input `darks`"), field(bad, "the input `bad-pixels`"), projections_name},
                          taken);
}

void CountsInputs::take_projections(const Work& work, bool allow_nonfinite, Taken& taken) const {
  taken.source = &work.required_input("projections");
  if (counts) return;
  if (allow_nonfinite) taken.replaced = fill_nonfinite(*taken.source, false, projections_name).replaced;
  if (!taken.replaced.empty()) {
    taken.filled = std::make_unique<MendedSource>(*taken.source, taken.replaced);
    taken.source = taken.filled.get();
  }
  if (options.ring_width == 0) return;
  taken.ring_free = std::make_unique<RingFreeSource>(std::make_unique<Borrowed>(*taken.source),
                                                     ring_offsets(*taken.source, options.ring_width, projections_name));
  taken.source = taken.ring_free.get();
}

}  // namespace halocline::capi
