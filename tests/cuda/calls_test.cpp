// What steps ask of NVIDIA's libraries, counted by a library that is preloaded.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cuda/device.h"
#include "tests/cuda/models.h"
#include "tests/cuda/run_record.h"
#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

struct LibraryCalls {
  std::uint64_t products = 0;      ///< of cuBLASLt
  std::uint64_t convolutions = 0;  ///< passes of cuDNN
  std::uint64_t waits = 0;         ///< by which the host waits for a device, or asks it
  std::uint64_t allocations = 0;   ///< memory, events, streams, graphs: made and released
  std::uint64_t profile_begins = 0;
  std::uint64_t profile_ends = 0;
  std::uint64_t profiled_graphs = 0;  ///< launched between the two
  std::uint64_t recorded_work = 0;    ///< kernels, copies and calls of libraries in the last graph
  std::uint64_t pageable_copies = 0;  ///< for which the host waits, asynchronous as they are
  std::uint64_t bytes_to_devices = 0;
  std::uint64_t collectives = 0;        ///< that NCCL is asked for
  std::uint64_t reductions_to_one = 0;  ///< of them, those to one rank
  std::uint64_t plans = 0;              ///< that cuDNN is asked to finalize
  std::uint64_t restored_plans = 0;     ///< out of their text
};

/// Of one of several runs, which share a cache. Of several ranks, those of one of them.
LibraryCalls calls_in(const RunCommand& run, const Words& words) {
  Words command{PTBENCH_EXECUTABLE, "run", "--warmup", "1"};
  if (std::ranges::find(words, "--device") == words.end())
    command = command + Words{"--device", "cuda:0"};
  command.insert(command.end(), words.begin(), words.end());
  const ProgramResult result =
      run_program(command, {.folder = run.path("."),
                            .environment = {"LD_PRELOAD=" PTBENCH_COUNT_CALLS,
                                            "PTBENCH_LIBRARY_CALLS=" + run.path("calls").string(),
                                            "XDG_CACHE_HOME=" + run.path("cache").string()}});
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  std::istringstream text(run.text("calls"));
  LibraryCalls calls;
  text >> calls.products >> calls.convolutions >> calls.waits >> calls.allocations >>
      calls.profile_begins >> calls.profile_ends >> calls.profiled_graphs >> calls.recorded_work >>
      calls.pageable_copies >> calls.bytes_to_devices >> calls.collectives >>
      calls.reductions_to_one >> calls.plans >> calls.restored_plans;
  REQUIRE(text);
  return calls;
}

LibraryCalls calls_of(const Words& words, int steps, const std::string& graph,
                      const std::string& verify = "off") {
  return calls_in(RunCommand(), words + Words{"--graph", graph, "--verify", verify, "--steps",
                                              std::to_string(steps)});
}

/// Of one step.
LibraryCalls calls_of_a_step(const Words& words) {
  const LibraryCalls fewer = calls_of(words, 2, "off");
  const LibraryCalls more = calls_of(words, 3, "off");
  return {more.products - fewer.products, more.convolutions - fewer.convolutions};
}

TEST_CASE("a step that is a graph asks nothing of the libraries", "[cuda]") {
  require_cuda_device();
  const auto products = [](int steps) {
    return calls_of({"-w", "mlp", "-b", "4"}, steps, "on").products;
  };
  CHECK(products(2) == products(5));
}

TEST_CASE("the graph that is timed is verified", "[cuda]") {
  require_cuda_device();
  const auto verification = [](const std::string& graph) {
    const Words words{"-w", "mlp", "-b", "4"};
    return calls_of(words, 2, graph, "on").products - calls_of(words, 2, graph).products;
  };
  constexpr std::uint64_t kStep = 8;
  CHECK(verification("off") >= 5 * kStep);
  CHECK(verification("on") <= 3 * kStep);  // the first step, and its recording
}

TEST_CASE("profilers are told of the counted steps, and of no others", "[cuda]") {
  require_cuda_device();
  if (!is_emulated(probe_cuda(PTBENCH_BUILT_MODULES).devices.front().name))
    skip("how many steps are counted depends on how long a real device's steps last");
  // A step is the launch of a graph. Its phases and the peak are measured without graphs.
  for (const int steps : {2, 5}) {
    CAPTURE(steps);
    const LibraryCalls calls = calls_of({"-w", "linear"}, steps, "on");
    CHECK(calls.profile_begins == 1);
    CHECK(calls.profile_ends == 1);
    CHECK(calls.profiled_graphs == static_cast<std::uint64_t>(steps));
  }
}

TEST_CASE("the graph of linear's step is one kernel", "[cuda]") {
  require_cuda_device();
  if (!has_emulated_devices()) skip("a real device may choose cuBLASLt's products");
  for (const Words& more : {Words{}, Words{"--optimizer", "sgd"}, Words{"-s", "ddp", "-n", "1"}}) {
    Words words{"-w", "linear"};
    words.insert(words.end(), more.begin(), more.end());
    CAPTURE(words);
    CHECK(calls_of(words, 3, "on").recorded_work == 1);
  }
}

TEST_CASE("larger passes are kernels of their own in a graph", "[cuda]") {
  require_cuda_device();
  if (!has_emulated_devices()) skip("a real device may choose cuBLASLt's products");
  // Forward and both of the loss; gradients and the update of few parameters are one.
  CHECK(calls_of({"-w", "linear", "-b", "256"}, 3, "on").recorded_work == 4);
  // The host has rounded the input.
  CHECK(calls_of({"-w", "linear", "--precision", "bf16"}, 3, "on").recorded_work == 1);
}

/// Of each rank in `steps` further steps.
LibraryCalls calls_of_ranks(const RunCommand& run, const Words& words, std::uint64_t steps) {
  constexpr std::uint64_t kFirst = 3;
  const auto calls = [&](std::uint64_t count) {
    return calls_in(run, words + Words{"--device", "cuda", "--verify", "off", "--steps",
                                       std::to_string(count)});
  };
  const LibraryCalls fewer = calls(kFirst);
  const LibraryCalls more = calls(kFirst + steps);
  LibraryCalls further;
  further.collectives = more.collectives - fewer.collectives;
  further.reductions_to_one = more.reductions_to_one - fewer.reductions_to_one;
  return further;
}

TEST_CASE("steps of several ranks that are graphs ask NCCL for nothing", "[cuda][ranks]") {
  require_cuda_devices(2);
  if (!has_emulated_devices()) skip("a real device's phases take as many steps as there is time");
  const RunCommand run;
  run.write("m.json", model_of_images("batch_norm"));  // has running statistics, which ranks share
  for (const char* strategy : {"ddp", "ddp-flat", "ddp-central"})
    for (const Words& more : {Words{}, Words{"--accumulate", "3"}, Words{"--precision", "fp16"}}) {
      const Words words{"-w", "m.json", "-s", strategy, "-n", "2", "--graph", "on"};
      CAPTURE(strategy, more);
      CHECK(calls_of_ranks(run, words + more, 3).collectives == 0);
    }
}

TEST_CASE("a bucket is one collective of NCCL each way", "[cuda][ranks]") {
  require_cuda_devices(3);
  if (!has_emulated_devices()) skip("a real device's phases take as many steps as there is time");
  constexpr std::uint64_t kSteps = 2;
  const RunCommand run;
  run.write("m.json", model_of_images("batch_norm"));
  for (const std::uint64_t ranks : {2U, 3U}) {
    CAPTURE(ranks);
    const LibraryCalls calls =
        calls_of_ranks(run,
                       {"-w", "m.json", "-s", "ddp", "-n", std::to_string(ranks), "--graph", "off",
                        "--first-bucket-mb", "0.001", "--bucket-mb", "0.002"},
                       kSteps);
    CHECK(calls.collectives >= kSteps * 7);  // of two buckets and more, the loss and statistics
    CHECK(calls.reductions_to_one <= kSteps * (ranks - 1));  // of lines that are left over
  }
}

TEST_CASE("every product of a step is cuBLASLt's, and every convolution cuDNN's", "[cuda]") {
  require_cuda_device();
  // Forward and weights of each layer, and the data of all but the first.
  CHECK(calls_of_a_step({"-w", "mlp", "-b", "4"}).products == 8);
  CHECK(calls_of_a_step({"-w", "linear"}).products == 0);
  CHECK(calls_of_a_step({"-w", "linear", "--accumulate", "3"}).products == 0);
  for (const std::string precision : {"fp32", "bf16"}) {
    const LibraryCalls calls =
        calls_of_a_step({"-w", "resnet18", "-b", "1", "--precision", precision});
    CHECK(calls.products == 3);
    CHECK(calls.convolutions == 20 + 20 + 19);
  }
}

TEST_CASE("whatever is copied to a device and from it lies in page-locked memory", "[cuda]") {
  require_cuda_device();
  for (const Words& words : {Words{"-w", "linear", "--accumulate", "3"},
                             Words{"-w", "mlp", "-b", "4", "--precision", "fp16"},
                             Words{"-w", "linear", "-s", "dp", "-n", "1"}}) {
    CAPTURE(words);
    CHECK(calls_of(words, 3, "auto").pageable_copies == 0);
  }
}

TEST_CASE("a batch travels to a CUDA device in the type of the model", "[cuda]") {
  require_cuda_device();
  if (!has_emulated_devices())
    skip("how many steps are made depends on how long a real device's steps last");
  constexpr std::uint64_t kBatch = 4;
  constexpr std::uint64_t kValues = 784;
  constexpr std::uint64_t kLabel = 4;
  struct Sent {
    const char* precision;
    std::uint64_t bytes;  ///< a value
  };
  for (const Sent& sent : {Sent{"fp32", 4}, Sent{"tf32", 4}, Sent{"bf16", 2}}) {
    CAPTURE(sent.precision);
    const Words words{"-w", "mlp", "-b", "4", "--precision", sent.precision};
    const auto bytes = [&](int steps) { return calls_of(words, steps, "on").bytes_to_devices; };
    CHECK(bytes(7) - bytes(3) == 4 * kBatch * (kValues * sent.bytes + kLabel));
  }
}

TEST_CASE("a run plans each convolution once, and the next one only what was chosen", "[cuda]") {
  require_cuda_device();
  struct Planned {
    std::string precision;
    std::uint64_t plans;     ///< of the first run, with those that are refused
    std::uint64_t restored;  ///< by the second run, since the first one has compiled them
  };
  // Two convolutions: forward and weights of both, and the data of the second. Emulated heuristics
  // name an engine first that has no plans, and to f32 from bf16 only one that compiles.
  constexpr std::uint64_t kPasses = 5;
  for (const Planned& planned :
       {Planned{"fp32", 2 * kPasses, 0}, Planned{"bf16", 2 * (kPasses - 2) + 2, 2}}) {
    CAPTURE(planned.precision);
    const RunCommand run;
    run.write("m.json", model_of_images("gelu"));
    const Words words{"-w",       "m.json", "--precision", planned.precision,
                      "--verify", "on",     "--steps",     "2"};
    const LibraryCalls first = calls_in(run, words);
    const LibraryCalls second = calls_in(run, words);
    CHECK(second.plans + second.restored_plans == kPasses);
    if (!has_emulated_devices()) continue;  // what a real cuDNN refuses and compiles is its own
    CHECK(first.plans == planned.plans);
    CHECK(first.restored_plans == 0);
    CHECK(second.restored_plans == planned.restored);
  }
}

/// That each further step waits `waits` times and makes and releases nothing, as graph and not. An
/// emulated device's steps are samples each, so that the host reads every loss; a real one's
/// samples are longer.
void check_steps(const Words& words, std::uint64_t waits) {
  CAPTURE(words);
  for (const std::string graph : {"on", "off"}) {
    CAPTURE(graph);
    const LibraryCalls fewer = calls_of(words, 3, graph);
    const LibraryCalls more = calls_of(words, 6, graph);
    CHECK(more.waits - fewer.waits == 3 * waits);
    CHECK(more.allocations == fewer.allocations);
  }
}

TEST_CASE("steps neither allocate nor wait, but for what the host reads", "[cuda]") {
  require_cuda_device();
  if (!has_emulated_devices())
    skip("how often the host reads a loss depends on how long a real device's steps last");
  constexpr std::uint64_t kBatch = 1;    // that page-locked memory is free for the next
  constexpr std::uint64_t kLoss = 1;     // of each step
  constexpr std::uint64_t kScaling = 1;  // whether gradients were finite
  check_steps({"-w", "linear"}, kBatch + kLoss);
  check_steps({"-w", "linear", "--accumulate", "3"}, 3 * kBatch + kLoss);
  check_steps({"-w", "mlp", "-b", "4", "--precision", "bf16"}, kBatch + kLoss);
  check_steps({"-w", "linear", "--precision", "fp16"}, kBatch + kLoss + kScaling);
  for (const char* strategy : {"ddp", "ddp-flat", "ddp-central"})
    check_steps({"-w", "linear", "-s", strategy, "-n", "1"}, kBatch + kLoss);
}

}  // namespace
}  // namespace ptbench::testing
