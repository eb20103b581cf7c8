// The methods of iterative reconstruction, in the order in which lists show them: a line each. The file that describes
// one defines it.
#pragma once

#include "algorithms/solvers/methods.hpp"

// clang-format off
#define HALOCLINE_SOLVER_METHODS(METHOD) \
  METHOD(spdhg_method) \
  METHOD(fista_method) \
  METHOD(os_fista_method) \
  METHOD(cgls_method) \
  METHOD(lsqr_method) \
  METHOD(ba_gmres_method) \
  METHOD(fdk_method) \
  METHOD(sirt_method) \
  METHOD(sart_method) \
  METHOD(os_sart_method) \
  METHOD(asd_pocs_method) \
  METHOD(nesterov_method) \
  METHOD(mlem_method) \
  METHOD(osem_method)
// clang-format on

namespace halocline {

#define HALOCLINE_DECLARE_METHOD(name) extern const SolverMethod name;
HALOCLINE_SOLVER_METHODS(HALOCLINE_DECLARE_METHOD)
#undef HALOCLINE_DECLARE_METHOD

}  // namespace halocline
