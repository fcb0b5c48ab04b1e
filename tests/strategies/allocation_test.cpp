// That a training step allocates nothing. Every malloc of the process passes through this file;
// calls that come out of oneDNN's own library are told apart by their return address.
#include <dlfcn.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>

#include "kernels/cpu/cpu_backend.h"
#include "src/device/isa.h"
#include "tests/strategies/training.h"
#include "tests/support/skip.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PTBENCH_COUNTS_ALLOCATIONS 0  // the sanitizers have their own malloc
#else
#define PTBENCH_COUNTS_ALLOCATIONS 1
#endif

namespace {

struct Counter {
  std::atomic<bool> on{false};
  std::atomic<int> ours{0};
  std::atomic<int> onednn{0};
};

Counter& counter() {
  static Counter instance;
  return instance;
}

#if PTBENCH_COUNTS_ALLOCATIONS
/// Whether `address` is code of oneDNN's library.
bool is_onednn(void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

void count(void* caller) {
  Counter& c = counter();
  if (!c.on.load(std::memory_order_relaxed)) return;
  if (is_onednn(caller))
    ++c.onednn;
  else
    ++c.ours;
}
#endif

}  // namespace

#if PTBENCH_COUNTS_ALLOCATIONS
// The names are the C library's.
// NOLINTBEGIN(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  count(__builtin_return_address(0));
  return __libc_calloc(number, size);
}
void* realloc(void* memory, std::size_t size) {
  count(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count(__builtin_return_address(0));
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? 12 : 0;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
}
// NOLINTEND(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)

/// Without this, what oneDNN takes by `new` would seem to come from the C++ library.
void* operator new(std::size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
#endif

namespace ptbench::testing {
namespace {

struct Counts {
  int ours = 0;
  int onednn = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

Counts count_step(Strategy& strategy) {
  Counter& c = counter();
  c.ours = 0;
  c.onednn = 0;
  c.on = true;
  (void)strategy.step();
  c.on = false;
  return {c.ours, c.onednn};
}

void require_counting() {
  if (PTBENCH_COUNTS_ALLOCATIONS == 0) skip("the sanitizer owns malloc");
  counter().on = true;
  auto* probe = new int(1);
  counter().on = false;
  delete probe;
  REQUIRE(counter().ours > 0);  // the hooks are in place
}

TEST_CASE("a step allocates nothing outside oneDNN, and there a constant handful", "[strategies]") {
  require_counting();
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  for (const StrategyRow& row : strategy_catalog())
    for (const Workload& workload : workload_catalog())
      for (const char* candidate : {"direct", "onednn blocked 1x2", "onednn io 2x1"}) {
        if (row.mixed_precision && !has_bf16_products()) continue;
        const bool large = workload.name.starts_with("resnet");
        if (workload.name == "resnet50" || (large && candidate != std::string("direct"))) continue;
        CAPTURE(row.name, workload.name, candidate);
        Training training(cpu, workload,
                          {.micro_batch = large ? 2 : workload.batch,
                           .step = {.optimizer = workload.optimizer,
                                    .accumulation_steps = row.accumulation_steps},
                           .type = row.mixed_precision ? ElementType::bf16 : ElementType::f32,
                           .strategy = row.name,
                           .candidate = candidate,
                           .replicas = row.one_process ? 2 : 1,
                           .threads = 2});
        (void)training.losses(2);
        const Counts first = count_step(training.strategy());
        CHECK(first.ours == 0);
        // Calls × passes × members × layers × micro-batches, with a cast of weights for each pass.
        const int layers = large ? 22 : 3;
        CHECK(first.onednn <= 6 * 6 * 2 * layers * static_cast<int>(row.accumulation_steps));
        // Past the end of an epoch too, which comes after three steps.
        for (int step = 0; step < 8; ++step) CHECK(count_step(training.strategy()) == first);
      }
}

TEST_CASE("own kernels allocate nothing at all", "[strategies]") {
  require_counting();
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  const Workload workload = find_workload("linear");
  Training training(cpu, workload,
                    {.micro_batch = workload.batch,
                     .step = {.optimizer = workload.optimizer},
                     .strategy = "serial",
                     .candidate = "direct"});
  (void)training.losses(2);
  for (int step = 0; step < 8; ++step) CHECK(count_step(training.strategy()) == Counts{});
}

}  // namespace
}  // namespace ptbench::testing
