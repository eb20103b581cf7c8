// Matrix units of GPUs that are not here, for kernels on any device: OpenCL C that stands for the compilers' functions.
// Lanes lay their numbers into local memory at the rows and columns that the vendors' documents give them, and take
// their sums from there. A work-group is one wave, so that barriers are met by all.
//
// AMD: the matrix instruction calculator, for MFMA and WMMA; the programming guides of RDNA 3 and 4. Intel: the text of
// cl_intel_subgroup_matrix_multiply_accumulate.
#pragma once

#include <regex>
#include <string>

#include "cl/sources.hpp"
#include "host/opencl/program_cache.hpp"
#include "tests/support/kernel_folder.hpp"

namespace halocline::emulated_units {

/// The product of 16 x 16 numbers, A and B in `wave`, with the element (i, j).
inline const char* const common = R"(
#define A(i, k) wave[(i) * 16 + (k)]
#define B(k, j) wave[256 + (k) * 16 + (j)]
float number_of(const void* operand, int e) {
  return vload_half(e, (const half*)operand);
}
float element_of_product(__local const float* wave, int i, int j) {
  float sum = 0.0f;
  for (int k = 0; k < 16; ++k) sum += A(i, k) * B(k, j);
  return sum;
}
#define __builtin_amdgcn_readfirstlane(x) (x)
#undef as_half4
#undef as_half8
#undef as_half16
#define as_half4(x) (x)
#define as_half8(x) (x)
#define as_half16(x) (x)
)";

/// v_mfma_f32_16x16x16_f16, a wave of 64: A[i][k] and B[k][j] in lanes 16 (k / 4) + i and 16 (k / 4) + j, D[i][j] in
/// register i % 4 of lane 16 (i / 4) + j.
inline const char* const mfma = R"(
float4 emulated_product(__local float* wave, uint2 a, uint2 b, float4 c) {
  const int l = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 16; ++k)
    if (l / 16 == k / 4) {
      A(l % 16, k) = number_of(&a, k % 4);
      B(k, l % 16) = number_of(&b, k % 4);
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  float d[4];
  for (int i = 0; i < 16; ++i)
    if (l / 16 == i / 4) d[i % 4] = element_of_product(wave, i, l % 16);
  return c + vload4(0, d);
}
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, cbsz, abid, blgp) emulated_product(wave, a, b, c)
)";

/// MFMA of CDNA 2, which takes subnormal halves for 0.
inline std::string mfma_without_subnormals() {
  return "float normal(float x) {\n  return fabs(x) < 0x1p-14f ? 0.0f : x;\n}\n" +
         std::regex_replace(mfma, std::regex("= (number_of\\(.*\\));"), "= normal($1);");
}

/// v_wmma_f32_16x16x16_f16 of RDNA 3, a wave of 32: rows of A and columns of B in lanes l and l + 16, which agree;
/// D[i][j] in register i / 2 of lane 16 (i % 2) + j.
inline const char* const wmma_of_rdna3 = R"(
float8 emulated_product(__local float* wave, uint8 a, uint8 b, float8 c) {
  const int l = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 16; ++k)
    if (l < 16) {
      A(l, k) = number_of(&a, k);
      B(k, l) = number_of(&b, k);
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  bool agree = true;
  for (int k = 0; k < 16; ++k)
    agree = agree && A(l % 16, k) == number_of(&a, k) && B(k, l % 16) == number_of(&b, k);
  float d[8];
  for (int i = 0; i < 16; ++i)
    if (l / 16 == i % 2) d[i / 2] = agree ? element_of_product(wave, i, l % 16) : NAN;
  return c + vload8(0, d);
}
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) emulated_product(wave, a, b, c)
)";

/// v_wmma_f32_16x16x16_f16 of RDNA 4: A[i][k] and B[k][j] in lanes 16 (k / 8) + i and 16 (k / 8) + j, D[i][j] in
/// register i % 8 of lane 16 (i / 8) + j.
inline const char* const wmma_of_rdna4 = R"(
#define __GFX12__
float8 emulated_product(__local float* wave, uint4 a, uint4 b, float8 c) {
  const int l = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 16; ++k)
    if (l / 16 == k / 8) {
      A(l % 16, k) = number_of(&a, k % 8);
      B(k, l % 16) = number_of(&b, k % 8);
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  float d[8];
  for (int i = 0; i < 16; ++i)
    if (l / 16 == i / 8) d[i % 8] = element_of_product(wave, i, l % 16);
  return c + vload8(0, d);
}
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) emulated_product(wave, a, b, c)
)";

/// intel_sub_group_f16_f16_matrix_mad_k16 with 8 rows. Sub-groups of 16: A[i][k] in component i of work-item k, a
/// short; of 8: in that of work-item k / 2, an int of two. B[k][j] in component k / 2 of work-item j, sums (i, j) in
/// component i of work-item j.
inline const char* const matrix_mad = R"(
#define cl_intel_subgroup_matrix_multiply_accumulate
#define intel_reqd_sub_group_size(lanes)
#if LANES == 16
#define ROWS short8
#else
#define ROWS int8
#endif
float8 emulated_product(__local float* wave, ROWS a, int8 b, float8 c) {
  const int l = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 16; ++k) {
    for (int i = 0; i < 8; ++i)
      if (l == k * LANES / 16) A(i, k) = number_of(&a, i * 16 / LANES + k % (16 / LANES));
    B(k, l) = number_of(&b, k);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float d[8];
  for (int i = 0; i < 8; ++i) d[i] = element_of_product(wave, i, l);
  return c + vload8(0, d);
}
#define intel_sub_group_f16_f16_matrix_mad_k16(a, b, c) emulated_product(wave, a, b, c)
)";

/// Kernels with the emulated functions, which get the wave's local memory: an argument of functions that call them.
/// Loops are not unrolled, so that PoCL has few barriers to compile.
inline std::string with_wave(const std::string& file) {
  const std::string functions = "(add_rays|add_pixels|product_with)";
  std::string text = std::regex_replace(embedded_sources().at(file), std::regex(functions + "\\("), "$1(wave, ");
  text = std::regex_replace(text, std::regex("(INLINE \\w+ \\w+)\\(wave, "), "$1(__local float* wave, ");
  text = std::regex_replace(text, std::regex("#pragma unroll\n"), "");
  return std::regex_replace(text, std::regex("  __local Sums shared"),
                            "  __local float wave[512];\n  __local Sums shared");
}

/// While it lives, products of tiles are those of tile_file with the emulated functions.
class Emulation {
 public:
  Emulation(const std::string& tile_file, const std::string& units)
      : kernels_("matrix.cl", text(tile_file, units).c_str()) {}

 private:
  static std::string text(const std::string& tile_file, const std::string& units) {
    std::string result = with_wave("matrix.cl");
    const std::string include = "#include \"" + tile_file + "\"\n";
    result.replace(result.find(include), include.size(), common + units + with_wave(tile_file));
    return "#define KERNELS_VERSION " + std::to_string(kernels_version) + "\n" + result;
  }
  KernelFolder kernels_;
};

}  // namespace halocline::emulated_units
