// NVTX ranges as a tool sees them: the recorder listens to this program itself.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>
#include <thread>

#include "kernels/reference/reference_backend.h"
#include "src/measure/nvtx_ranges.h"
#include "tests/strategies/training.h"
#include "tests/support/nvtx_events.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

/// NVTX looks for a tool once a process, so all tests of this program share a file.
class Recording {
 public:
  static const Recording& instance() {
    static const Recording recording;
    return recording;
  }

  [[nodiscard]] std::vector<NvtxEvent> events() const { return read_nvtx_events(file()); }

 private:
  Recording() {
    setenv("NVTX_INJECTION64_PATH", nvtx_recorder().c_str(), 1);
    setenv("PTBENCH_TEST_NVTX_FILE", file().c_str(), 1);
  }

  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "events"; }

  TemporaryDirectory folder_;
};

void require_nvtx() {
  if (!has_nvtx()) skip("this build has no NVTX ranges");
}

/// What `action` makes the tool see.
template <class Action>
std::vector<NvtxEvent> events_of(const Action& action) {
  const Recording& recording = Recording::instance();
  push_nvtx_step(0);  // domain and names, if they are not there yet
  pop_nvtx();
  const std::size_t before = recording.events().size();
  action();
  std::vector<NvtxEvent> events = recording.events();
  events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(before));
  return events;
}

std::string ranges_of(Strategy& strategy) {
  return text_of(nested_ranges(events_of([&] { (void)strategy.step(); })));
}

TEST_CASE("a tool learns of one domain and of every name, once", "[nvtx]") {
  require_nvtx();
  (void)events_of([] { push_nvtx_step(1), pop_nvtx(); });
  std::multiset<std::string> names;
  int domains = 0;
  for (const NvtxEvent& event : Recording::instance().events()) {
    CHECK(event.domain == "ptbench");
    if (event.kind == "domain") ++domains;
    if (event.kind == "string") names.insert(event.name);
  }
  CHECK(domains == 1);
  CHECK(names == std::multiset<std::string>{"step", "data", "scatter", "replicate", "forward",
                                            "gather", "backward", "reduce", "communication",
                                            "optimizer", "bucket"});
}

TEST_CASE("ranges nest as scopes do and carry their payloads", "[nvtx]") {
  require_nvtx();
  const auto events = events_of([] {
    const StepScope step(nullptr, 7);
    const PhaseScope backward(nullptr, StepPhase::backward, 2);
    push_nvtx_bucket(std::uint64_t{1} << 40U);
    pop_nvtx();
  });
  CHECK(text_of(nested_ranges(events)) ==
        "step=7 step/backward=2 step/backward/bucket=1099511627776");
}

TEST_CASE("another thread may end a span, and every span ends once", "[nvtx]") {
  require_nvtx();
  const auto events = events_of([] {
    NvtxSpan first(StepPhase::communication, 64);
    NvtxSpan second(StepPhase::communication, 128);
    std::thread([span = std::move(first)]() mutable { span.end(); }).join();
    second = NvtxSpan(StepPhase::reduce, 256);
    second.end();
  });
  REQUIRE(events.size() == 6);
  CHECK(events[0].payload == 64);
  CHECK(events[2].kind == "end");
  CHECK(events[2].range == events[0].range);
  CHECK(events[2].thread != events[0].thread);
  CHECK(events[3].name == "reduce");
  CHECK(events[4].range == events[1].range);  // assigned over
  CHECK(events[5].range == events[3].range);
}

TEST_CASE("serial training shows its phases, the update within backward", "[nvtx]") {
  require_nvtx();
  const ReferenceBackend backend;
  const Workload workload = find_workload("linear");
  Training training(backend, workload,
                    {.micro_batch = 8, .step = {.optimizer = workload.optimizer}});
  const std::string bytes = std::to_string(training.program().parameters().size_bytes());
  for (const char* step : {"1", "2"})
    CHECK(ranges_of(training.strategy()) == std::string("step=") + step +
                                                " step/data=0 step/forward=0 step/backward=0" +
                                                " step/backward/optimizer=" + bytes);
}

TEST_CASE("micro-batches show their indices, and only the last one updates", "[nvtx]") {
  require_nvtx();
  const ReferenceBackend backend;
  const Workload workload = find_workload("linear");
  Training training(backend, workload,
                    {.micro_batch = 4,
                     .step = {.optimizer = workload.optimizer, .accumulation_steps = 2},
                     .strategy = "grad-accum"});
  const std::string bytes = std::to_string(training.program().parameters().size_bytes());
  CHECK(ranges_of(training.strategy()) ==
        "step=1 step/data=0 step/forward=0 step/backward=0 step/data=1 step/forward=1 "
        "step/backward=1 step/backward/optimizer=" +
            bytes);
}

}  // namespace
}  // namespace ptbench::testing
