// Methods that improve a volume by iterations of a stencil (PDU, S-PDU, TV-GD, filters).
#pragma once

#include "scheduling/planning/program.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

class IterativeMethod : public StencilLoop, public Reduction {
 public:
  virtual Requirements requirements() const = 0;
  /// Program for run_program(): inputs and the output by the names of requirements(). The method outlives it, and has
  /// the results of reduced() afterwards.
  Program program() { return stencil_program(requirements(), *this, *this); }
};

}  // namespace halocline
