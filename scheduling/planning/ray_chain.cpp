#include "scheduling/planning/ray_chain.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "scheduling/planning/range_set.hpp"

namespace halocline {
namespace {

bool within(Range rows, const std::vector<Range>& any) {
  return std::any_of(any.begin(), any.end(),
                     [&](Range range) { return rows.begin >= range.begin && rows.end <= range.end; });
}

// Widens bands so that those up to any slab have no gap between them, and all together have all rows.
void close_gaps(std::vector<Range>& bands, Range rows) {
  Range all{};  // of the bands so far
  Range *lowest = nullptr, *highest = nullptr;
  for (Range& band : bands) {
    band = common(band, rows);
    if (band.empty()) continue;
    if (!all.empty()) {
      if (band.begin > all.end) band.begin = all.end;
      if (band.end < all.begin) band.end = all.begin;
    }
    if (lowest == nullptr || band.begin < all.begin) lowest = &band;
    if (highest == nullptr || band.end > all.end) highest = &band;
    all = all.empty() ? band : Range{std::min(all.begin, band.begin), std::max(all.end, band.end)};
  }
  if (lowest == nullptr) lowest = highest = &bands.front(), *lowest = {rows.begin, rows.begin};
  lowest->begin = rows.begin;
  highest->end = rows.end;
}

// True for a single device if it costs less to load all slabs for each batch, whose sums are kept there, than each slab
// once with the rows of these links, down and up again.
bool whole_views_cost_less(const Plan& plan, const std::vector<RayLink>& links) {
  const auto& r = plan.requirements;
  if (plan.batch == 0 || std::any_of(plan.slabs.begin(), plan.slabs.end(),
                                     [&](const SlabPlan& slab) { return slab.device != plan.slabs.front().device; }))
    return false;
  const double volume =
      static_cast<double>(r.size[0]) * static_cast<double>(r.size[1]) * static_cast<double>(r.size[2]);
  const double views = r.largest_part > 0 ? r.largest_part : static_cast<double>(r.stack[2]);
  double rows = 0;
  for (const RayLink& link : links) rows += static_cast<double>(link.rows.count());
  return (std::ceil(views / plan.batch) - 1) * volume < 2 * rows * static_cast<double>(r.stack[0]) * views;
}

}  // namespace

RayChain::RayChain(const Step& step, const Plan& plan) {
  if (step.over != Domain::ray_sums) return;
  const Range rows = plan.requirements.rows();
  for (const SlabPlan& slab : plan.slabs)
    bands_.push_back(step.rows && plan.slabs.size() > 1 ? step.rows(slab.interior) : rows);
  close_gaps(bands_, rows);
  link();
  if (whole_views_cost_less(plan, links_)) {
    bands_.assign(bands_.size(), rows);
    links_.clear();
    ends_.clear();
    link();
  }
  whole_ = std::all_of(bands_.begin(), bands_.end(), [&](Range band) { return band == rows; });
  cut(plan);
}

// Each row of a slab goes to the next slab with that row.
void RayChain::link() {
  ends_.resize(bands_.size());
  for (std::size_t from = 0; from < bands_.size(); ++from) {
    RangeSet linked;
    for (std::size_t to = from + 1; to < bands_.size() && !linked.contains(bands_[from]); ++to) {
      const Range both = common(bands_[from], bands_[to]);
      if (both.empty()) continue;
      for (const Range rows : linked.missing(both)) links_.push_back({from, to, rows});
      linked.add(both);
    }
    if (!bands_[from].empty()) ends_[from] = linked.missing(bands_[from]);
  }
}

void RayChain::cut(const Plan& plan) {
  for (std::size_t slab = 0; slab < bands_.size(); ++slab) {
    std::vector<Range> incoming, awaited;  // awaited: by other devices
    std::set<std::int64_t> cuts{bands_[slab].begin, bands_[slab].end};
    const auto keep = [&](std::vector<Range>& ranges, Range rows) {
      ranges.push_back(rows);
      cuts.insert({rows.begin, rows.end});
    };
    for (const RayLink& link : links_) {
      if (link.to == slab) keep(incoming, link.rows);
      if (link.from == slab && plan.slabs[link.to].device != plan.slabs[slab].device) keep(awaited, link.rows);
    }
    struct Part {
      Range rows;
      bool begins, is_awaited;
    };
    std::vector<Part> parts;
    for (auto begin = cuts.begin(); std::next(begin) != cuts.end(); ++begin) {
      const Range rows{*begin, *std::next(begin)};
      const bool begins = !within(rows, incoming), is_awaited = begins && within(rows, awaited);
      if (!parts.empty() && parts.back().begins == begins && parts.back().is_awaited == is_awaited)
        parts.back().rows.end = rows.end;
      else
        parts.push_back({rows, begins, is_awaited});
    }
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return std::tuple(!a.begins, !a.is_awaited) < std::tuple(!b.begins, !b.is_awaited);
    });
    auto& pieces = pieces_.emplace_back();
    if (bands_[slab].empty()) continue;
    for (const Part& part : parts) pieces.push_back({part.rows, part.begins, waits(plan, slab, part.rows)});
  }
}

// Asked after the pieces of the slabs before have been made.
bool RayChain::waits(const Plan& plan, std::size_t slab, Range rows) const {
  return std::any_of(links_.begin(), links_.end(), [&](const RayLink& link) {
    if (link.to != slab || common(link.rows, rows).empty()) return false;
    const auto& pieces = pieces_[link.from];
    return plan.slabs[link.from].device != plan.slabs[slab].device ||
           std::any_of(pieces.begin(), pieces.end(),
                       [&](const RayPiece& piece) { return piece.waits && !common(piece.rows, link.rows).empty(); });
  });
}

}  // namespace halocline
