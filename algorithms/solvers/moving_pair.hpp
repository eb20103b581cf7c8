// A projector whose geometry is replaced between steps.
#pragma once

#include <memory>

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

class MovingPair {
 public:
  explicit MovingPair(const ProjectorPair& first);
  /// A pair that does what the present one does, whenever its steps run. It has no fast projection.
  const ProjectorPair& pair() const { return pair_; }
  /// Replaces the present pair. Tables have to be filled again (BackprojectionMethod::start()). Throws InputError, and
  /// replaces nothing, if the other one needs other arrays.
  void move_to(const ProjectorPair& next);

  struct Present;

 private:
  std::shared_ptr<Present> present_;
  ProjectorPair pair_;
};

}  // namespace halocline
