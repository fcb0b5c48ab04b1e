// That the real cuDNN has plans for what the module asks of it: they are made for devices that are
// described, so that no GPU is needed. Nothing is computed.
#include "kernels/cuda/convolution_plans.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "workloads/lower.h"
#include "workloads/workload_catalog.h"

namespace ptbench::testing {
namespace {

using cuda::ConvolutionPass;
using cuda::Descriptor;
using cuda::PassPlans;

/// A device as cuDNN wants it described.
struct DescribedDevice {
  int capability;  ///< 75: 7.5
  int multiprocessors;
  int threads;           ///< of a multiprocessor
  int reserved_bytes;    ///< of shared memory, for the system, of each block
  int most_block_bytes;  ///< of shared memory
  int cache_bytes;
  std::int64_t memory_bytes;
};

constexpr DescribedDevice kT4{75, 40, 1024, 0, 65536, 4194304, 15800000000};
constexpr DescribedDevice kA100{80, 108, 2048, 1024, 166912, 41943040, 85000000000};
constexpr DescribedDevice kH100{90, 132, 2048, 1024, 232448, 52428800, 85000000000};

/// Those that multiply `type`.
std::vector<DescribedDevice> devices_for(ElementType type) {
  if (type == ElementType::bf16 || type == ElementType::tf32) return {kA100, kH100};
  return {kT4, kA100, kH100};
}

Descriptor properties_of(const DescribedDevice& device) {
  const nlohmann::json described{{"cudaDeviceId", 0},
                                 {"deviceName", "GPU"},
                                 {"driverVer", 13000},
                                 {"isTccDriver", 0},
                                 {"maxBlockSize", {1024, 1024, 64}},
                                 {"maxGridSize", {2147483647, 65535, 65535}},
                                 {"maxCtasPerSM", device.threads / 64},
                                 {"maxRegistersPerSM", 65536},
                                 {"regsPerBlock", 65536},
                                 {"maxSharedMemoryPerBlock", 49152},
                                 {"reservedSharedMemoryPerBlock", device.reserved_bytes},
                                 {"maxThreadsPerBlock", 1024},
                                 {"maxThreadsPerSM", device.threads},
                                 {"warpSize", 32},
                                 {"pciDeviceId", 0},
                                 {"supportCoopLaunch", 1},
                                 {"totalGlobalMem", device.memory_bytes},
                                 {"smClockRateKHz", 1410000},
                                 {"memClockRateKHz", 1593000},
                                 {"deviceVer", 10 * device.capability},
                                 {"l2CacheSize", device.cache_bytes},
                                 {"multiProcessorCount", device.multiprocessors},
                                 {"maxSharedMemoryPerBlockOptin", device.most_block_bytes}};
  const std::string text = described.dump();
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<const char>(text));
  properties.finalize();
  return properties;
}

/// The convolutions of a workload, each once.
std::vector<Conv2dSpec> convolutions_of(const std::string& name, Size batch, ElementType type) {
  const Workload workload = find_workload(name);
  const LoweredGraph graph = lower(workload.build(workload.input_shape),
                                   {.batch = batch, .global_batch = batch, .type = type});
  std::vector<Conv2dSpec> specs;
  std::set<std::string> known;
  for (const LoweredOperator& one : graph.operators)
    if (const auto* spec = std::get_if<Conv2dSpec>(&one.spec))
      if (known.insert(key_of(*spec)).second) specs.push_back(*spec);
  return specs;
}

void check_plans(const Descriptor& properties, const Conv2dSpec& spec, ConvolutionPass pass) {
  CAPTURE(key_of(spec), static_cast<int>(pass));
  const auto plans = PassPlans({.properties = properties.get()}, cuda::packed(spec), pass).first(2);
  REQUIRE(!plans.empty());
  if (plans.size() > 1) CHECK(plans[0]->name() != plans[1]->name());
}

void check_all(const std::string& workload, ElementType type) {
  for (const DescribedDevice& device : devices_for(type)) {
    CAPTURE(device.capability);
    const Descriptor properties = properties_of(device);
    for (const Conv2dSpec& spec : convolutions_of(workload, 32, type)) {
      check_plans(properties, spec, ConvolutionPass::forward);
      if (spec.input_gradient) check_plans(properties, spec, ConvolutionPass::data);
      // From narrow types to f32, engines are compiled when they are planned, which takes a driver.
      if (kept_type(type) == ElementType::f32)
        check_plans(properties, spec, ConvolutionPass::weights);
    }
  }
}

}  // namespace

TEST_CASE("cuDNN has plans for every convolution of resnet18 in fp32") {
  check_all("resnet18", ElementType::f32);
}

TEST_CASE("cuDNN has plans for every convolution of resnet18 in bf16") {
  check_all("resnet18", ElementType::bf16);
}

TEST_CASE("cuDNN has plans for every convolution of resnet18 in fp16") {
  check_all("resnet18", ElementType::f16);
}

TEST_CASE("cuDNN has plans for every convolution of resnet18 in tf32") {
  check_all("resnet18", ElementType::tf32);
}

TEST_CASE("cuDNN has plans for odd channels, and for all that may follow in the same pass") {
  const Conv2dSpec odd{.input = {.batch = 2, .channels = 5, .height = 9, .width = 7},
                       .outputs = 3,
                       .window = Window::square(3, 2, 1),
                       .bias = true};
  const Conv2dSpec even{.input = {.batch = 32, .channels = 64, .height = 14, .width = 14},
                        .outputs = 128,
                        .window = Window::square(3, 1, 1),
                        .bias = true};
  for (const ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::tf32})
    for (const DescribedDevice& device : devices_for(type)) {
      const Descriptor properties = properties_of(device);
      for (Conv2dSpec spec : {odd, even})
        for (const bool add : {false, true})
          for (const bool relu : {false, true}) {
            spec.type = type;
            spec.add = add;
            spec.relu = relu;
            check_plans(properties, spec, ConvolutionPass::forward);
          }
    }
}

namespace {

Conv2dSpec some_convolution() {
  return {.input = {.batch = 32, .channels = 64, .height = 14, .width = 14},
          .outputs = 128,
          .window = Window::square(3, 1, 1),
          .type = ElementType::bf16};
}

}  // namespace

TEST_CASE("a plan of cuDNN is found by its name alone") {
  const Descriptor properties = properties_of(kH100);
  const cuda::CudnnTarget target{.properties = properties.get()};
  for (const ConvolutionPass pass : {ConvolutionPass::forward, ConvolutionPass::data}) {
    for (const PassPlans::Plan& plan : PassPlans(target, some_convolution(), pass).first(2)) {
      CAPTURE(plan->name());
      PassPlans others(target, some_convolution(), pass);
      const PassPlans::Plan found = others.named(plan->name());
      REQUIRE(found != nullptr);
      CHECK(found->name() == plan->name());
      CHECK(found->workspace() == plan->workspace());
      CHECK(others.named(plan->name()) == found);
      CHECK(std::ranges::count(others.first(2), found) == 1);
    }
    CHECK(PassPlans(target, some_convolution(), pass).named("no engine") == nullptr);
  }
}

TEST_CASE("a plan of cuDNN is restored from its text, on a device like the one of its making") {
  const Descriptor properties = properties_of(kH100);
  const cuda::CudnnTarget target{.properties = properties.get()};
  const auto plans = PassPlans(target, some_convolution(), ConvolutionPass::forward).first(1);
  REQUIRE(plans.size() == 1);
  const std::optional<std::string> text = plans[0]->text();
  REQUIRE(text.has_value());
  const auto restored = cuda::restored_plan(target, *text, "same");
  REQUIRE(restored != nullptr);
  CHECK(restored->name() == "same");
  CHECK(restored->workspace() == plans[0]->workspace());
  CHECK(restored->text() == text);
  CHECK(cuda::restored_plan(target, text->substr(0, text->size() / 2), "half") == nullptr);
  CHECK(cuda::restored_plan(target, "no plan", "none") == nullptr);
  const Descriptor others = properties_of(kA100);
  CHECK(cuda::restored_plan({.properties = others.get()}, *text, "of another") == nullptr);
}

}  // namespace ptbench::testing
