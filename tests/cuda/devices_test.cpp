// Several devices on one thread: what is done with one of them is done there, whichever the thread
// used last.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <span>
#include <string>

#include "src/device/host_mirror.h"
#include "tests/cuda/device.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {
namespace {

/// The function of the CUDA runtime that the module has opened.
template <class Function>
Function of_runtime(const char* name) {
  for (const char* file : {"libcudart.so.13", "libcudart.so.12"})
    if (void* library = dlopen(file, RTLD_NOW | RTLD_NOLOAD); library != nullptr)
      return reinterpret_cast<Function>(dlsym(library, name));
  FAIL("the module has opened no runtime");
  return nullptr;
}

/// In whose memory it lies, as the runtime says.
int device_of(const void* memory) {
  const auto attributes_of =
      of_runtime<decltype(&cudaPointerGetAttributes)>("cudaPointerGetAttributes");
  cudaPointerAttributes attributes{};
  REQUIRE(attributes_of(&attributes, memory) == cudaSuccess);
  REQUIRE(attributes.type == cudaMemoryTypeDevice);
  return attributes.device;
}

/// The device of the thread's next calls.
int current_device_of_thread() {
  const auto get = of_runtime<decltype(&cudaGetDevice)>("cudaGetDevice");
  int device = -1;
  REQUIRE(get(&device) == cudaSuccess);
  return device;
}

TEST_CASE("memory is allocated on the device that is asked for it", "[cuda]") {
  require_cuda_devices(2);
  const Site first = open_cuda_site("cuda:0");
  const Site second = open_cuda_site("cuda:1");
  const std::array<const Site*, 3> in_turn{&first, &second, &first};
  for (const Site* site : in_turn) {
    CAPTURE(site->device->id());
    const Buffer buffer = site->device->memory().allocate(64, "a test");
    CHECK("cuda:" + std::to_string(device_of(buffer.data())) == site->device->id());
  }
}

TEST_CASE("a device that is finished is the one that was asked", "[cuda]") {
  require_cuda_devices(2);
  const Site first = open_cuda_site("cuda:0");
  const Buffer buffer = first.device->memory().allocate(4096, "a test");
  const HostMirror<float> sent(*first.device, buffer.as<float>());
  const HostMirror<float> seen(*first.device, buffer.as<float>());
  std::ranges::fill(sent.values(), 7.0F);
  const Site second = open_cuda_site("cuda:1");
  REQUIRE(current_device_of_thread() == 1);
  sent.send(first.device->compute());
  seen.fetch(first.device->compute());
  first.device->finish();
  CHECK(std::ranges::count(seen.values(), 7.0F) == 1024);
}

TEST_CASE("an operator is chosen and computes on its own device", "[cuda]") {
  require_cuda_devices(2);
  const Site first = open_cuda_site("cuda:0");
  constexpr LinearSpec kLayer{.batch = 2, .inputs = 3, .outputs = 1, .input_gradient = false};
  constexpr std::size_t kArena = 32;  // the weight, and the bias behind 16 elements
  const Buffer memory = first.device->memory().allocate(4096, "a test");
  const HostMirror<float> all(*first.device, memory.as<float>());
  const std::span<float> values = all.values();
  std::ranges::copy(std::array{1.0F, 2.0F, 3.0F}, values.begin());
  values[16] = 0.5F;
  std::ranges::copy(std::array{1.0F, 1.0F, 1.0F, 2.0F, 0.0F, 1.0F}, values.begin() + 2 * kArena);
  write_back(*first.device, all);
  const auto at = [&](std::size_t begin, std::size_t count) {
    return memory.as<float>().subspan(begin, count);
  };
  const Site second = open_cuda_site("cuda:1");
  REQUIRE(current_device_of_thread() == 1);
  CHECK_FALSE(first.backend->candidates(kLayer).empty());
  CHECK(current_device_of_thread() == 0);
  Bindings bindings;
  bindings.inputs = {std::as_bytes(at(2 * kArena, 6))};
  bindings.output = std::as_writable_bytes(at(3 * kArena, 2));
  bindings.parameters = at(0, kArena);
  bindings.gradients = at(kArena, kArena);
  const auto layer = first.backend->plan(kLayer, "direct")->bind(bindings);
  layer->forward();
  first.device->finish();
  all.fetch(first.device->compute());
  first.device->compute().finish();
  CHECK(values[3 * kArena] == 6.5F);
  CHECK(values[3 * kArena + 1] == 5.5F);
}

}  // namespace
}  // namespace ptbench::testing
