// Way of ray sums from slab to slab, in ascending order of slices: each slab has a band of detector rows, and passes on
// those alone that a later slab adds to. Pure C++.
#pragma once

#include <vector>

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Rows whose sums go from a slab to the next one that adds to them.
struct RayLink {
  std::size_t from = 0, to = 0;
  Range rows;
};

/// Rows of a slab that are one task for each batch.
struct RayPiece {
  Range rows;
  bool begins = false;  ///< no slab before adds to them
  bool waits = false;   ///< they go on with sums of another device, perhaps by way of further slabs
};

class RayChain {
 public:
  /// The chain of a step over ray sums; of other steps, one without slabs. Bands are Step::rows, wider where they would
  /// leave gaps, so that together they are the detector; without Step::rows, for a single slab, and where whole views
  /// that are kept on the only device move fewer bytes, all rows.
  RayChain(const Step& step, const Plan& plan);

  /// Pieces in the order in which a device works on them: those that other devices wait for, those of this slab alone,
  /// those that wait for others. A piece that begins is not more than what goes on to other devices, or none of it;
  /// another one has the rows of whole links.
  const std::vector<RayPiece>& pieces(std::size_t slab) const { return pieces_[slab]; }
  /// All links, in ascending order of the slabs that they come from.
  const std::vector<RayLink>& links() const { return links_; }
  /// Rows of a slab to which no later one adds.
  const std::vector<Range>& ends(std::size_t slab) const { return ends_[slab]; }
  /// True where a slab has all rows, and each is linked to the next.
  bool whole() const { return whole_; }

 private:
  void link();
  void cut(const Plan& plan);
  bool waits(const Plan& plan, std::size_t slab, Range rows) const;

  bool whole_ = true;
  std::vector<Range> bands_;
  std::vector<RayLink> links_;
  std::vector<std::vector<Range>> ends_;
  std::vector<std::vector<RayPiece>> pieces_;
};

}  // namespace halocline
