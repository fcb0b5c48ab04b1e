// That the real cuDNN has plans for what the module asks of it: they are made for devices that are
// described, so that no GPU is needed. Nothing is computed.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "kernels/cuda/convolution.h"
#include "workloads/catalog.h"
#include "workloads/lower.h"

namespace ptbench::testing {
namespace {

using cuda::ConvolutionPass;
using cuda::Descriptor;

/// An A100 (8.0) or an H100 (9.0), as cuDNN wants a device described.
Descriptor properties_of(int capability) {
  const bool hopper = capability >= 90;
  const std::string json =
      R"({"cudaDeviceId": 0, "deviceName": "GPU", "driverVer": 13000, "isTccDriver": 0,
          "maxBlockSize": [1024, 1024, 64], "maxGridSize": [2147483647, 65535, 65535],
          "maxCtasPerSM": 32, "maxRegistersPerSM": 65536, "regsPerBlock": 65536,
          "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024,
          "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "warpSize": 32, "pciDeviceId": 0,
          "supportCoopLaunch": 1, "totalGlobalMem": 85000000000, "smClockRateKHz": 1410000,
          "memClockRateKHz": 1593000, "deviceVer": )" +
      std::to_string(10 * capability) + R"(, "l2CacheSize": )" +
      (hopper ? "52428800" : "41943040") + R"(, "multiProcessorCount": )" +
      (hopper ? "132" : "108") + R"(, "maxSharedMemoryPerBlockOptin": )" +
      (hopper ? "232448" : "166912") + "}";
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<const char>(json));
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
  const auto plans =
      cuda::plan_convolution({.properties = properties.get()}, cuda::packed(spec), pass, 2);
  REQUIRE(!plans.empty());
  for (const auto& plan : plans) CHECK_THAT(plan->description(), Catch::StartsWith("engine "));
  if (plans.size() > 1) CHECK(plans[0]->description() != plans[1]->description());
}

void check_all(const std::string& workload, ElementType type) {
  for (const int capability : {80, 90}) {
    CAPTURE(capability);
    const Descriptor properties = properties_of(capability);
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
  for (const int capability : {80, 90}) {
    const Descriptor properties = properties_of(capability);
    for (const ElementType type :
         {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::tf32})
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

}  // namespace ptbench::testing
