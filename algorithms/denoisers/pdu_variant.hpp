// pdu and spdu with another regulariser than plain total variation.
#pragma once

#include "algorithms/denoisers/pdu.hpp"

namespace halocline {

/// The problem that Regulariser describes, by the iterations of Pdu and Spdu, with the same schedules and certificate:
/// ||u - u*||^2 <= 2 gap (weighted with 1 / w). Inputs "f", with weights "w", guided "reference"; result "u".
/// total_variation in the history is sum_i phi((P D u)_i). The registry makes it of "pdu" and "spdu" where the
/// regulariser is not plain.
class PduVariant : public Pdu {
 public:
  /// Uses what Pdu or Spdu use, and regulariser (huber_delta and reference_eta must be there where they count).
  PduVariant(const MethodParameters& parameters, bool weighted);

  Requirements requirements() const override;
  void reduce(Slab& slab, int done, Range interior) const override;

 protected:
  void dual(Slab& slab, const Steps& steps, Range slices) const override;
  void primal(Slab& slab, const Steps& steps, Range slices) const override;
  IterationRecord record(int done, std::span<const double> sums) const override;

  using Arguments = std::vector<SlabArgument>;
  std::string options() const;
  std::string unweighted_options() const;
  void push_inputs(Arguments& arguments) const;
  void push_reference(Arguments& arguments) const;
  void push_huber_delta(Arguments& arguments) const;
  void push_position(Arguments& arguments, const Slab& slab, Range slices) const;
  void push_box(Arguments& arguments) const;
};

}  // namespace halocline
