#include "algorithms/calibration/self_check.hpp"

#include "algorithms/denoisers/fused_pass.hpp"
#include "algorithms/denoisers/fused_variants.hpp"
#include "algorithms/fdk/row_filter_variants.hpp"
#include "algorithms/projectors/scan_forms.hpp"

namespace halocline {

const std::vector<Variant>& all_variants() {
  static const std::vector<Variant> all = [] {
    std::vector<Variant> result;
    for (const bool weighted : {false, true})
      for (int stages = 1; stages <= most_stages; ++stages) result.push_back(fused_variant(weighted, stages));
    for (const ScanForm& form : scan_forms())
      if (!form.name.empty()) result.push_back(variant_of(form));
    for (Variant (*variant)() : {local_rows_variant, clfft_variant, vkfft_variant}) result.push_back(variant());
    return result;
  }();
  return all;
}

}  // namespace halocline
