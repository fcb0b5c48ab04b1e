#include "tests/support/backends.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "src/device/device.h"
#include "src/device/isa.h"
#include "tests/support/mirrored_backend.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {
namespace {

/// Sets PTBENCH_ISA, and puts back what it was.
class IsaOverride {
 public:
  explicit IsaOverride(const std::string& isa) {
    if (const char* before = std::getenv(kName)) before_ = before;  // NOLINT(concurrency-mt-unsafe)
    setenv(kName, isa.c_str(), 1);                                  // NOLINT(concurrency-mt-unsafe)
  }
  ~IsaOverride() {
    if (before_)
      setenv(kName, before_->c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    else
      unsetenv(kName);  // NOLINT(concurrency-mt-unsafe)
  }
  IsaOverride(const IsaOverride&) = delete;
  IsaOverride& operator=(const IsaOverride&) = delete;

 private:
  static constexpr const char* kName = "PTBENCH_ISA";
  std::optional<std::string> before_;
};

using Check = std::function<void(const KernelBackend&, int threads)>;

void check_cpu(int threads, const Check& check) {
  static const Topology topology = discover_topology();
  CpuDevice device(topology, threads);
  const CpuBackend backend(device);
  INFO(backend.fingerprint());
  check(backend, threads);
}

}  // namespace

bool offers(const KernelBackend& backend, const OperatorSpec& spec) {
  if (tested_device() ||
      (products_of(spec) == ElementType::f32 &&
       (!tensors_of(spec).output || tensors_of(spec).output->type == ElementType::f32)))
    return true;
  try {
    (void)backend.plan(spec, backend.candidates(spec).at(0));
    return true;
  } catch (const Error& error) {
    if (error.code() != ExitCode::capability) throw;
    return false;
  }
}

void for_each_backend(const Check& check) {
  if (tested_device()) {
    const Site site = open_tested_site();
    const MirroredBackend backend(*site.backend);
    INFO(backend.fingerprint());
    check(backend, 1);
    return;
  }
  {
    const ReferenceBackend reference;
    INFO(reference.fingerprint());
    check(reference, 1);
  }
  for (const int threads : {1, 2, 3}) check_cpu(threads, check);
  const Isa best = detect_isa();
  for (const Isa lower : {Isa::x86_64, Isa::x86_64_v3}) {
    if (lower >= best) continue;
    const IsaOverride isa(name_of(lower));
    check_cpu(2, check);
  }
}

void for_each_candidate(const OperatorSpec& spec,
                        const std::function<void(const KernelBackend&, int threads,
                                                 const std::string& candidate)>& check) {
  INFO(key_of(spec));
  for_each_backend([&](const KernelBackend& backend, int threads) {
    if (!offers(backend, spec)) return;
    for (const std::string& candidate : backend.candidates(spec)) {
      INFO("candidate " << candidate);
      check(backend, threads, candidate);
    }
  });
}

}  // namespace ptbench::testing
