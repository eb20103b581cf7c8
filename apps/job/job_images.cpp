#include "apps/job/job_images.hpp"

#include "apps/images/memory_files.hpp"
#include "apps/job/shared_image.hpp"
#include "host/system/interrupt.hpp"
#include "host/volume/held_rows.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

Volume JobImages::read(const std::string& path) {
  std::size_t replaced = 0;
  Volume volume = times_.timed("read", [&] { return read_image(path, allow_nonfinite_, &replaced); });
  replaced_[path] = std::make_shared<const std::atomic<std::size_t>>(replaced);
  return volume;
}

Volume JobImages::read(const std::string& path, const Cutout& part) {
  std::size_t replaced = 0;
  Volume volume = times_.timed("read", [&] { return read_image_part(path, part, allow_nonfinite_, &replaced); });
  replaced_[path] = std::make_shared<const std::atomic<std::size_t>>(replaced);
  return volume;
}

Volume JobImages::read_rays(const std::string& path) {
  return times_.timed("read", [&] { return halocline::read_rays(path, allow_nonfinite_); });
}

std::unique_ptr<VolumeSource> JobImages::open_rays(const std::string& path) {
  return times_.timed("read", [&] { return halocline::open_rays(path, allow_nonfinite_); });
}

void JobImages::write(const Volume& volume, const std::string& path, const HeaderNotes& notes) {
  check_interrupt();
  times_.timed("write", [&] { write_image(volume, path, notes); });
}

std::size_t JobImages::write(const Volume& volume, ReservedImage& image) {
  check_interrupt();
  return times_.timed("write", [&] { return image.write(volume); });
}

std::unique_ptr<VolumeSource> JobImages::open(const std::string& path) {
  auto image = times_.timed("read", [&] { return open_image(path, allow_nonfinite_); });
  replaced_[path] = image->replaced();
  return image;
}

std::unique_ptr<ImageSink> JobImages::create(const std::string& path, const Grid& grid, const ImageStorage& storage) {
  auto image =
      ranks().several() ? create_shared_image(path, grid, storage, ranks()) : create_image(path, grid, storage);
  image->reserve();
  return image;
}

void JobImages::commit(ImageSink& image) {
  check_interrupt();
  times_.timed("write", [&] { image.commit(); });
}

std::unique_ptr<VolumeSource> JobImages::take(const std::string& path, const Grid* grid) {
  std::unique_ptr<VolumeSource> source =
      is_on_device(path) ? open(path) : std::make_unique<TypedSource>(to_typed(read(path)));
  return grid == nullptr ? std::move(source) : std::make_unique<PlacedSource>(std::move(source), *grid);
}

std::unique_ptr<VolumeSource> JobImages::hold_rows(std::unique_ptr<VolumeSource> stack, Range rows) {
  return times_.timed("read", [&] {
    return std::make_unique<HeldRows>(std::move(stack), unsigned_count(rows.begin), unsigned_count(rows.end));
  });
}

std::map<std::string, std::size_t> JobImages::replaced() const {
  std::map<std::string, std::size_t> result;
  for (const auto& [path, count] : replaced_) result[path] = *count;
  return result;
}

}  // namespace halocline
