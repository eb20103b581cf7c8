#include "host/volume/held_rows.hpp"

#include <algorithm>
#include <stdexcept>

#include "host/system/thread_pool.hpp"

namespace halocline {

HeldRows::HeldRows(std::unique_ptr<VolumeSource> source, std::size_t begin, std::size_t end)
    : source_(std::move(source)), begin_(begin * grid().size[0]), view_((end - begin) * grid().size[0]) {
  if (begin > end || end > grid().size[1]) throw std::logic_error("rows that the stack does not have");
  voxels_.resize(view_ * grid().size[2]);
  parallel_parts(view_ == 0 ? 0 : grid().size[2], [&](std::size_t view) {
    source_->read(view * grid().slice() + begin_, view_, voxels_.data() + view * view_);
  });
}

void HeldRows::read(std::size_t first, std::size_t count, float* to) const {
  const std::size_t pixels = grid().slice(), held_end = begin_ + view_;
  while (count > 0) {
    const std::size_t view = first / pixels, at = first % pixels;
    const bool held = at >= begin_ && at < held_end;
    // A run ends where held rows begin or end, or with the view.
    const std::size_t end = held ? held_end : at < begin_ && view_ > 0 ? begin_ : pixels;
    const std::size_t now = std::min(count, end - at);
    if (held)
      std::copy_n(voxels_.data() + view * view_ + (at - begin_), now, to);
    else
      source_->read(first, now, to);
    first += now, count -= now, to += now;
  }
}

}  // namespace halocline
