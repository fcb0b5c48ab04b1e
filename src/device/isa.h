#pragma once

#include <string>
#include <vector>

namespace ptbench {

/// Instruction-set levels for which ptbench carries its own vector loops, in one binary; x86-64's
/// micro-architecture levels.
enum class Isa { x86_64, x86_64_v3, x86_64_v4 };

/// The best level of this CPU (cpuid, and that the kernel saves its registers). The environment
/// variable PTBENCH_ISA (x86-64, x86-64-v3, x86-64-v4) lowers it, for tests; oneDNN and bf16
/// products go with it.
[[nodiscard]] Isa detect_isa();

[[nodiscard]] std::string name_of(Isa isa);

/// How this CPU multiplies bf16 in hardware.
enum class Bf16Products { none, avx512, amx };

/// The best way of this CPU. For AMX the kernel is asked to let this process use it, which holds
/// until the process ends; where it refuses, AVX512_BF16 or nothing remains.
[[nodiscard]] Bf16Products detect_bf16_products();

/// Whether bf16 is multiplied in hardware at all.
[[nodiscard]] inline bool has_bf16_products() {
  return detect_bf16_products() != Bf16Products::none;
}

/// Extensions worth naming in a record: "avx2", "avx512f", "avx512_bf16", "amx_bf16", …
[[nodiscard]] std::vector<std::string> cpu_extensions();

}  // namespace ptbench
