#include "src/device/isa.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "src/base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ptbench {
namespace {

constexpr std::array<std::pair<Isa, std::string_view>, 3> kNames{
    {{Isa::x86_64, "x86-64"}, {Isa::x86_64_v3, "x86-64-v3"}, {Isa::x86_64_v4, "x86-64-v4"}}};

Isa hardware_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) return Isa::x86_64_v4;
  if (v3) return Isa::x86_64_v3;
#endif
  return Isa::x86_64;
}

#if defined(__x86_64__)
// arch_prctl operations and the number of AMX's tile data among the kernel's register components.
constexpr int kGetSupportedComponents = 0x1021;
constexpr int kRequestComponent = 0x1023;
constexpr unsigned long kTileData = 18;

struct Cpuid {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
};
Cpuid cpuid(unsigned leaf, unsigned subleaf) {
  Cpuid r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}
#endif

/// AMX with bf16: cpuid leaf 7 (EDX bits 22 and 24), and the kernel's word that it may be used.
bool has_amx_bf16() {
#if defined(__x86_64__)
  const unsigned features = cpuid(7, 0).d;
  if ((features & (1U << 22U)) == 0 || (features & (1U << 24U)) == 0) return false;
  std::uint64_t components = 0;
  return syscall(SYS_arch_prctl, kGetSupportedComponents, &components) == 0 &&
         (components & (1UL << kTileData)) != 0;
#else
  return false;
#endif
}

/// AVX512_BF16: cpuid leaf 7, subleaf 1, EAX bit 5; and that 512-bit registers are saved.
bool has_avx512_bf16() {
#if defined(__x86_64__)
  return hardware_isa() == Isa::x86_64_v4 && (cpuid(7, 1).a & (1U << 5U)) != 0;
#else
  return false;
#endif
}

}  // namespace

Isa detect_isa() {
  const Isa best = hardware_isa();
  const char* wanted = std::getenv("PTBENCH_ISA");  // NOLINT(concurrency-mt-unsafe): read only
  if (wanted == nullptr) return best;
  const auto* row = std::ranges::find(kNames, std::string_view(wanted),
                                      &std::pair<Isa, std::string_view>::second);
  if (row == kNames.end())
    throw usage_error(fmt::format("PTBENCH_ISA is '{}'", wanted),
                      "use x86-64, x86-64-v3 or x86-64-v4");
  if (row->first > best)
    throw capability_error(
        fmt::format("PTBENCH_ISA asks for {}, this CPU has {}", wanted, name_of(best)),
        "unset PTBENCH_ISA");
  return row->first;
}

std::string name_of(Isa isa) {
  for (const auto& [value, name] : kNames)
    if (value == isa) return std::string(name);
  return "unknown";
}

Bf16Products detect_bf16_products() {
  if (detect_isa() != Isa::x86_64_v4) return Bf16Products::none;
#if defined(__x86_64__)
  if (has_amx_bf16() && syscall(SYS_arch_prctl, kRequestComponent, kTileData) == 0)
    return Bf16Products::amx;
#endif
  return has_avx512_bf16() ? Bf16Products::avx512 : Bf16Products::none;
}

std::vector<std::string> cpu_extensions() {
  std::vector<std::string> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) found.emplace_back("avx2");
  if (__builtin_cpu_supports("fma")) found.emplace_back("fma");
  if (__builtin_cpu_supports("avx512f")) found.emplace_back("avx512f");
  if (__builtin_cpu_supports("avx512vnni")) found.emplace_back("avx512_vnni");
  if (has_avx512_bf16()) found.emplace_back("avx512_bf16");
#endif
  if (has_amx_bf16()) found.emplace_back("amx_bf16");
  return found;
}

}  // namespace ptbench
