#include "apps/job/shared_image.hpp"

#include <fmt/format.h>

#include <utility>

#include "apps/images/image_file.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

class SharedImage : public ImageSink {
 public:
  SharedImage(std::string path, const Grid& grid, ImageStorage storage, Ranks& ranks)
      : path_(std::move(path)), grid_(grid), storage_(std::move(storage)), ranks_(ranks) {
    if (ranks_.first()) image_ = create_image(path_, grid_, storage_);
  }

  const Grid& grid() const override { return grid_; }
  std::size_t changed() const override { return changed_; }

  void reserve() override {
    if (reserved_) return;
    if (image_) image_->reserve();
    const std::string temporary =
        ranks_.of_first("the output '" + path_ + "'", image_ ? image_->temporary_path() : std::string());
    if (!image_ || temporary.empty()) image_ = join_image(path_, grid_, storage_, temporary);
    reserved_ = true;
    ranks_.meet("the output is open");
  }
  void begin() override {
    reserve();
    if (ranks_.first()) image_->begin();
  }
  void write(std::size_t first, std::size_t count, float* from) override { image_->write(first, count, from); }

  void commit() override {
    const Part own = image_->end_part();
    const auto parts = ranks_.gather("parts of the output", fmt::format("{} {}", own.written, own.changed));
    changed_ = 0;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      std::size_t end = 0;
      const Part part{std::stoull(parts[rank], &end), std::stoull(parts[rank].substr(end))};
      changed_ += part.changed;
      if (ranks_.first() && rank > 0) image_->add(part);
    }
    const HeldInterrupts held(true);  // from here on the result is there, and no rank says otherwise
    if (ranks_.first()) image_->commit();
    ranks_.meet("the output has its name");
    if (!ranks_.first()) image_->commit();
  }

 private:
  std::string path_;
  Grid grid_;
  ImageStorage storage_;
  Ranks& ranks_;
  std::unique_ptr<ImageSink> image_;
  bool reserved_ = false;
  std::size_t changed_ = 0;
};

}  // namespace

std::unique_ptr<ImageSink> create_shared_image(const std::string& path, const Grid& grid, const ImageStorage& storage,
                                               Ranks& ranks) {
  return std::make_unique<SharedImage>(path, grid, storage, ranks);
}

}  // namespace halocline
