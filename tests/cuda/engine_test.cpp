// What crosses the border between the program and the engine's module: objects, errors of both
// kinds, and memory that outlives who provided it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "kernels/cuda_module.h"
#include "src/base/error.h"
#include "src/device/host_mirror.h"
#include "src/device/immediate_queue.h"
#include "tests/cuda/device.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

Site open() {
  require_cuda_device();
  return open_cuda_site();
}

const LinearSpec kLinear{.batch = 1, .inputs = 2, .outputs = 3};

/// Scratch memory of an operator's candidates, ascending.
std::vector<Bytes> scratch_of(const KernelBackend& backend, const OperatorSpec& spec) {
  std::vector<Bytes> bytes;
  for (const std::string& candidate : backend.candidates(spec))
    bytes.push_back(backend.plan(spec, candidate)->scratch_bytes());
  std::ranges::sort(bytes);
  return bytes;
}

}  // namespace

TEST_CASE("errors that the module throws are caught by the program as what they are") {
  const Site site = open();
  try {
    (void)site.backend->plan(kLinear, "by hand");
    FAIL("there is no such way");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_THAT(error.what(), Contains("linear b1 2->3") && Contains("cannot be computed as"));
    CHECK_THAT(error.remedy(), Contains("remove the plan file"));
  }
  const Buffer some = site.device->memory().allocate(64, "a test");
  const std::span<std::byte> bytes = some.as<std::byte>();
  CHECK_THROWS_AS(site.device->compute().copy(bytes, bytes.first(8)), Defect);
}

TEST_CASE("events of another kind of device are no events of a CUDA queue") {
  const Site site = open();
  const Site cpu = open_site({.topology = discover_topology()});
  const auto foreign = cpu.device->compute().make_event();
  CHECK_THROWS_AS(site.device->compute().record(*foreign), std::bad_cast);
}

TEST_CASE("memory that a device does not have is refused in words of the user") {
  const Site site = open();
  constexpr Bytes kTooMuch = Bytes{1} << 50U;
  try {
    (void)site.device->memory().allocate(kTooMuch, "a test");
    FAIL("no device has that much");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::failed);
    CHECK_THAT(error.what(), Contains("cuda:0: no memory for a test: 1.00 PiB asked for"));
    CHECK_THAT(error.remedy(), Contains("--batch-size"));
  }
  // The device works on.
  CHECK(site.device->memory().allocate(64, "a test").bytes() == 64);
}

TEST_CASE("a device counts the memory of its buffers") {
  const Site site = open();
  const Bytes before = site.device->own_memory()->now;
  {
    const Buffer one = site.device->memory().allocate(1000, "a test");
    const Buffer other = site.device->memory().allocate(512, "a test");
    CHECK(site.device->own_memory()->now == before + 1024 + 512);
  }
  CHECK(site.device->own_memory()->now == before);
  CHECK(site.device->own_memory()->peak == before + 1024 + 512);
  site.device->reset_peak_memory();
  CHECK(site.device->own_memory()->peak == before);
}

TEST_CASE("workspaces lie behind open gradients, at multiples of 256 bytes") {
  const Site site = open();
  if (!has_emulated_devices()) skip("which candidates have workspace is up to a real device");
  const auto check = [&](const OperatorSpec& spec, Bytes open_gradient) {
    CAPTURE(key_of(spec), open_gradient);
    const std::vector<Bytes> scratch = scratch_of(*site.backend, spec);
    CHECK(scratch.front() == round_up(open_gradient, 256));
    CHECK(scratch.back() > scratch.front());
  };
  check(LinearSpec{.batch = 7, .inputs = 17, .outputs = 32, .relu = true}, Bytes{7} * 32 * 4);
  check(Conv2dSpec{.input = {.batch = 1, .channels = 3, .height = 5, .width = 5},
                   .outputs = 7,
                   .window = Window::square(3, 1, 1),
                   .bias = true,
                   .relu = true},
        Bytes{7} * 25 * 4);
}

TEST_CASE("buffers may outlive their device") {
  Buffer kept;
  {
    const Site site = open();
    kept = site.device->page_locked_memory().allocate(4096, "a test");
  }
  kept.as<std::byte>().front() = std::byte{1};
  CHECK(kept.bytes() == 4096);
}

TEST_CASE("the engine tells what it computes without a device in use") {
  require_cuda_device();
  const CudaModule engine("cuda", PTBENCH_BUILT_MODULES);
  CHECK(engine.device().id == "cuda:0");
  CHECK(engine.computes(kLinear));
  CHECK(engine.computes(SoftmaxCrossEntropySpec{.batch = 1, .classes = 2, .global_batch = 1}));
  CHECK(engine.computes(ReluSpec{.tensor = {.shape = {1, 2}}}));
  for (const OperatorSpec& spec : contract_specs()) {
    INFO(key_of(spec));
    CHECK(engine.computes(spec));
  }
}

TEST_CASE("devices that are not there are named beside those that are") {
  require_cuda_device();
  const auto message_of = [](const std::string& device) -> std::string {
    try {
      (void)CudaModule(device, PTBENCH_BUILT_MODULES);
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK_THAT(message_of("cuda:99"), Contains("--device cuda:99: there is no such device, only "
                                             "cuda:0"));
  CHECK_THAT(message_of("cuda:0+1"), Contains("one replica trains on one device"));
}

}  // namespace ptbench::testing
