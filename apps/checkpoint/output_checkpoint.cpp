#include "apps/checkpoint/output_checkpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/images/atomic_file.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/log.hpp"
#include "host/system/plural.hpp"
#include "host/system/thread_pool.hpp"
#include "scheduling/execution/resumable_output.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr char slab_magic[] = {'h', 'a', 'l', 'o', 's', 'l', 'a', 'b'};
constexpr std::chrono::seconds between_syncs{5};

struct PieceHead {
  std::uint32_t crc = 0, result = 0;  // crc: of the rest of this
  std::uint64_t first = 0, count = 0;
  std::uint32_t voxels_crc = 0, zero = 0;
};
static_assert(sizeof(PieceHead) == 32);

std::uint32_t crc_of_rest(const PieceHead& head) {
  return crc_of(reinterpret_cast<const char*>(&head) + sizeof head.crc, sizeof head - sizeof head.crc);
}

std::string file_of_rank(const std::string& path, int rank) {
  return rank == 0 ? path : fmt::format("{}.rank{}", path, rank);
}

// The files of all ranks that are there, in order.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code code;
  std::vector<std::string> files;
  if (fs::exists(path, code)) files.push_back(path);
  const fs::path folder = fs::path(path).parent_path();
  const std::string start = fs::path(path).filename().string() + ".rank";
  for (const auto& entry : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start) && name.size() > start.size() &&
        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(start.size()), name.end(),
                    [](char c) { return c >= '0' && c <= '9'; }))
      files.push_back(path + name.substr(start.size() - 5));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Ranks deal out what one of them has to do.
bool is_for(const Ranks& ranks, std::size_t n) {
  return n % static_cast<std::size_t>(ranks.size()) == static_cast<std::size_t>(ranks.rank());
}

// The voxels of each slice that is there as a whole.
std::vector<Range> whole_slices(const RangeSet& voxels, const Grid& grid) {
  const auto slice = static_cast<std::int64_t>(grid.slice());
  std::vector<Range> result;
  for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(grid.count()); begin += slice)
    if (voxels.contains({begin, begin + slice})) result.push_back({begin, begin + slice});
  return result;
}

void write_at(int descriptor, const std::string& path, std::uint64_t at, const void* from, std::size_t bytes) {
  const auto* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t done = ::pwrite(descriptor, next, std::min(bytes, std::size_t{1} << 26), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0)
      throw FileError(
          fmt::format("cannot write `checkpoint` '{}': {}; free some space, or choose a name on another disk.", path,
                      std::generic_category().message(errno)));
    next += done;
    at += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
}

}  // namespace

// Voxels [first, first + count) that lie at byte `at` of the file.
struct OutputCheckpoint::Piece {
  std::size_t result = 0, first = 0, count = 0;
  std::uint64_t at = 0;
  std::uint32_t crc = 0;
  std::shared_ptr<const CheckpointReader> file;
};

// The file of a rank.
struct OutputCheckpoint::Part {
  std::shared_ptr<const CheckpointReader> file;
  std::string path;
  std::size_t frame = 0, clamped = 0;
  std::uint64_t end = 0;  // of its pieces
  std::vector<Piece> pieces = {};
};

class OutputCheckpoint::Result : public OutputStore {
 public:
  Result(OutputCheckpoint& checkpoint, std::string name, std::size_t number)
      : checkpoint_(checkpoint), name_(std::move(name)), number_(number) {}
  const std::string& name() const { return name_; }

  RangeSet give_back(VolumeSink& output) override {
    RangeSet given;
    if (pieces.empty()) return given;
    RangeSet found, slices;  // not what was kept since
    for (const auto& piece : pieces) found.add(range_of(piece.first, piece.count));
    for (const auto& slice : whole_slices(found, checkpoint_.grid_)) slices.add(slice);
    std::vector<std::pair<const Piece*, Range>> parts;  // a voxel may have been kept twice, and is given back once
    for (const auto& piece : pieces)
      for (const auto& fresh : given.missing(range_of(piece.first, piece.count))) {
        std::int64_t at = fresh.begin;
        for (const auto& gap : slices.missing(fresh)) {
          if (at < gap.begin) parts.emplace_back(&piece, Range{at, gap.begin});
          at = gap.end;
        }
        if (at < fresh.end) parts.emplace_back(&piece, Range{at, fresh.end});
        given.add(fresh);
      }
    parallel_parts(parts.size(), [&](std::size_t n) {
      check_interrupt();
      if (!is_for(checkpoint_.ranks_, n)) return;
      const auto& [piece, part] = parts[n];
      const auto first = static_cast<std::size_t>(part.begin), count = static_cast<std::size_t>(part.count());
      UninitialisedVector<float> values(count);
      piece->file->read(piece->at + (first - piece->first) * sizeof(float), count * sizeof(float), values.data());
      output.write(first, count, values.data());
    });
    return slices;
  }

  void keep(std::size_t first, std::size_t count, const float* values) override {
    checkpoint_.append(number_, first, count, values);
  }

  std::vector<Piece> pieces;  // pieces that resume() found
  RangeSet kept;              // voxels

 private:
  OutputCheckpoint& checkpoint_;
  std::string name_;
  std::size_t number_;
};

OutputCheckpoint::OutputCheckpoint(std::string path, const Grid& grid, std::vector<std::string> results)
    : path_(std::move(path)), own_(file_of_rank(path_, ranks().rank())), ranks_(ranks()), grid_(grid) {
  for (auto& name : results) results_.push_back(std::make_unique<Result>(*this, std::move(name), results_.size()));
}

OutputCheckpoint::~OutputCheckpoint() {
  close();
}

std::size_t OutputCheckpoint::most_bytes() const {
  return results_.size() * grid_.count() * sizeof(float);
}

void OutputCheckpoint::check(bool resume) const {
  const auto bytes = static_cast<double>(most_bytes());
  const std::string what = fmt::format("the slices of this run take up to {}", bytes_text(bytes));
  for (const auto& file : files_of(path_)) check_checkpoint(file, 0, what, resume);
  check_checkpoint(own_, bytes, what, resume);
}

// The head of a file, and its pieces up to the first one that was being written.
OutputCheckpoint::Part OutputCheckpoint::read_part(const std::string& path) const {
  Part part{std::make_shared<const CheckpointReader>(path), path};
  const CheckpointReader& file = *part.file;
  const auto head = read_checkpoint_head(file, slab_magic, path, false);
  const auto text = read_checkpoint_text(file, head, path);
  take_description(path, [&] {
    require_same_job(text.at("job"), job_, path);
    part.frame = whole_of<std::size_t>(text.at("frame"), "frame", path);
    part.clamped = whole_of<std::size_t>(text.at("clamped"), "clamped", path);
  });
  std::uint64_t& end = part.end = head.begin + head.bytes;
  for (PieceHead next; file.bytes() - end >= sizeof next;) {
    file.read(end, sizeof next, &next);
    const std::uint64_t left = file.bytes() - end - sizeof next;
    const bool good = next.crc == crc_of_rest(next) && next.result < results_.size() && next.first < grid_.count() &&
                      next.count <= grid_.count() - next.first;
    if (!good || next.count > left / sizeof(float)) break;  // it was being written, or all from here on is lost
    part.pieces.push_back({next.result, next.first, next.count, end + sizeof next, next.voxels_crc, part.file});
    end += sizeof next + next.count * sizeof(float);
  }
  return part;
}

// Takes the pieces of the frame that are good. Each rank looks at some of them.
void OutputCheckpoint::take_pieces(const std::vector<Part>& parts) {
  std::vector<Piece> pieces;
  for (const Part& part : parts)
    if (part.frame == frame_) pieces.insert(pieces.end(), part.pieces.begin(), part.pieces.end());
  std::string good(pieces.size(), '0');
  parallel_parts(pieces.size(), [&](std::size_t n) {
    check_interrupt();
    if (!is_for(ranks_, n)) return;
    UninitialisedVector<float> values(pieces[n].count);
    pieces[n].file->read(pieces[n].at, values.size() * sizeof(float), values.data());
    good[n] = crc_of(values.data(), values.size() * sizeof(float)) == pieces[n].crc ? '1' : '0';
  });
  const auto found = ranks_.gather("good pieces of the checkpoint", good);
  std::size_t damaged = 0;
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    if (std::none_of(found.begin(), found.end(), [&](const std::string& each) { return each.at(n) == '1'; })) {
      ++damaged;
      continue;
    }
    Result& result = *results_[pieces[n].result];
    result.pieces.push_back(pieces[n]);
    result.kept.add(range_of(pieces[n].first, pieces[n].count));
  }
  if (damaged > 0)
    library_log()->warn("`checkpoint` '{}': {} the wrong checksum and will be computed again", path_,
                        plural(damaged, "piece has", "pieces have"));
}

bool OutputCheckpoint::resume() {
  std::vector<Part> parts;
  for (const auto& path : files_of(path_)) parts.push_back(read_part(path));
  ranks_.meet("the checkpoint has been read");  // its ends may be cut
  if (parts.empty()) return false;
  // A frame was finished before any rank began the next one.
  const auto last =
      std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.frame < b.frame; });
  frame_ = last->frame;
  clamped_ = last->clamped;
  take_pieces(parts);
  for (const Part& part : parts)
    if (part.path == own_ && part.frame == frame_) open(part.end);
  return true;
}

void OutputCheckpoint::begin_frame(std::size_t frame, std::size_t clamped) {
  clamped_ = clamped;
  if (frame == frame_) return;
  frame_ = frame;
  const std::lock_guard lock(mutex_);
  close();
  failed_ = false;
  for (auto& result : results_) {
    result->pieces.clear();
    result->kept = {};
  }
}

OutputStore& OutputCheckpoint::result(const std::string& name) {
  const auto found =
      std::find_if(results_.begin(), results_.end(), [&](const auto& result) { return result->name() == name; });
  if (found == results_.end()) throw std::logic_error("no result " + name + " was announced to the checkpoint");
  return **found;
}

double OutputCheckpoint::left(const std::string& name) const {
  for (const auto& result : results_)
    if (result->name() == name)
      return 1 - static_cast<double>(whole_slices(result->kept, grid_).size()) / static_cast<double>(grid_.size[2]);
  return 1;
}

// The file gets its name only with the whole head.
void OutputCheckpoint::create() {
  const std::string text = checkpoint_text({{"job", job_}, {"frame", frame_}, {"clamped", clamped_}});
  const CheckpointHead head = checkpoint_head(slab_magic, text, sizeof head);
  TemporaryFile file(own_, ".tmp");
  file.write_at(0, reinterpret_cast<const char*>(&head), sizeof head);
  file.write_at(sizeof head, text.data(), text.size());
  file.commit();
  open(sizeof head + text.size());
}

// Cuts the file at `end`.
void OutputCheckpoint::open(std::uint64_t end) {
  descriptor_ = ::open(own_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(end)) != 0)
    throw FileError(fmt::format("cannot write `checkpoint` '{}': {}; choose a file that you may write to.", own_,
                                std::generic_category().message(errno)));
  end_ = end;
  synced_ = Clock::now();
}

void OutputCheckpoint::close() {
  if (descriptor_ < 0) return;
  ::fdatasync(descriptor_);
  ::close(descriptor_);
  descriptor_ = -1;
}

// Heads are written one after the other, so that the way to the next piece is there whatever becomes of the voxels.
void OutputCheckpoint::append(std::size_t result, std::size_t first, std::size_t count, const float* values) {
  PieceHead head;
  head.result = static_cast<std::uint32_t>(result);
  head.first = first;
  head.count = count;
  head.voxels_crc = crc_of(values, count * sizeof(float));
  head.crc = crc_of_rest(head);
  try {
    std::uint64_t at = 0;
    {
      const std::lock_guard lock(mutex_);
      if (failed_) return;
      if (descriptor_ < 0) create();
      write_at(descriptor_, own_, end_, &head, sizeof head);
      at = end_ + sizeof head;
      end_ = at + count * sizeof(float);
    }
    write_at(descriptor_, own_, at, values, count * sizeof(float));
  } catch (const FileError& error) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(failed_, true)) library_log()->warn("{} The run goes on and keeps nothing more", error.what());
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    results_[result]->kept.add(range_of(first, count));
    if (Clock::now() - synced_ < between_syncs) return;
    synced_ = Clock::now();
  }
  ::fdatasync(descriptor_);
}

std::size_t OutputCheckpoint::slices() const {
  const std::lock_guard lock(mutex_);
  std::size_t kept = 0;
  for (const auto& result : results_) kept += whole_slices(result->kept, grid_).size();
  return kept;
}

std::string OutputCheckpoint::kept_text() const {
  return fmt::format("{} of {} slices{}", slices(), results_.size() * grid_.size[2],
                     frame_ > 0 ? fmt::format(" of frame {}", frame_) : "");
}

std::string OutputCheckpoint::how_to_resume() const {
  if (ranks_.several() && files_of(path_).empty()) return {};
  if (ranks_.several())
    return fmt::format("slices that were finished are in '{}*': the same command with `resume` goes on from there",
                       path_);
  std::error_code code;
  if (slices() == 0 && frame_ > 0 && fs::exists(path_, code))
    return fmt::format("{} finished: the same command with `resume` goes on from there",
                       plural(static_cast<double>(frame_), "frame is", "frames are"));
  if (slices() == 0) return {};
  return fmt::format("{} are in '{}': the same command with `resume` goes on from there", kept_text(), path_);
}

void OutputCheckpoint::remove() {
  close();
  for (const auto& file : files_of(path_)) remove_checkpoint(file);
  remove_checkpoint(path_);
}

}  // namespace halocline
