#include "algorithms/calibration/self_check.hpp"

#include "algorithms/denoisers/fused_variants.hpp"
#include "algorithms/fdk/row_filter_variants.hpp"
#include "algorithms/matrix/matrix_variants.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"

namespace halocline {

const std::vector<Variant>& all_variants() {
  static const std::vector<Variant> all = [] {
    std::vector<Variant> result = fused_variants();
    for (const ScanForm& form : scan_forms())
      if (!form.name.empty()) result.push_back(variant_of(form));
    for (Variant& variant : row_filter_variants()) result.push_back(std::move(variant));
    result.push_back(matrix_units_variant());
    return result;
  }();
  return all;
}

Finding finding_on(const Device& device, const Variant& variant, bool again) {
  try {
    return check_variant(variant, device, again);
  } catch (const ClError& error) {
    return {exceeds_group_limits(error) ? Verdict::not_taken : Verdict::wrong, error.what()};
  }
}

}  // namespace halocline
