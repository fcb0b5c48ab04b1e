// Batches that the host rounds to the narrow type of a model, so that half of the bytes travel:
// what a device made of floats before, bit by bit.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/data/rounding.h"
#include "src/device/host_mirror.h"
#include "tests/cuda/trainings.h"
#include "tests/support/operator_harness.h"

namespace ptbench::testing {
namespace {

/// Every upper half of a float with some lower halves: all kinds of NaN, denormal numbers, ties.
std::vector<float> floats_of_every_kind() {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x1000U, 0x7fffU, 0x8000U, 0xf000U})
      values.push_back(std::bit_cast<float>(upper << 16U | lower));
  return values;
}

/// How many floats the device rounds otherwise than the host does.
template <class T>
std::size_t rounded_otherwise(const Site& site, ElementType type) {
  const std::vector<float> values = floats_of_every_kind();
  Device& device = *site.device;
  const Buffer from = device.memory().allocate(values.size() * sizeof(float), "a test");
  const Buffer to = device.memory().allocate(values.size() * sizeof(T), "a test");
  const HostMirror<float> mirror(device, from.as<float>());
  std::ranges::copy(values, mirror.values().begin());
  write_back(device, mirror);
  const Shape shape{static_cast<Size>(values.size())};
  const ReorderSpec cast{.from = {.shape = shape}, .to = {.shape = shape, .type = type}};
  Bindings bindings;
  bindings.inputs = {from.as<std::byte>()};
  bindings.output = to.as<std::byte>();
  bindings.input_gradients = {std::span<std::byte>()};
  bindings.output_gradients = {std::span<std::byte>()};
  site.backend->plan(cast, site.backend->safest_candidate(cast))->bind(bindings)->forward();
  const auto rounded = read_back(device, to.as<T>());
  std::size_t otherwise = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (rounded.values()[i] != rounded_as_on_gpus<T>(values[i])) ++otherwise;
  return otherwise;
}

TEST_CASE("the host rounds every float as a CUDA device does", "[cuda]") {
  require_cuda_device();
  const Site site = open_cuda_site("cuda:0");
  CHECK(rounded_otherwise<Bf16>(site, ElementType::bf16) == 0);
  CHECK(rounded_otherwise<F16>(site, ElementType::f16) == 0);
}

TEST_CASE("a training on a CUDA device is the same when the host rounds its data", "[cuda]") {
  require_cuda_device();
  const Site site = open_cuda_site("cuda:0");
  for (const ElementType type : {ElementType::bf16, ElementType::f16})
    for (const Graph& graph : {mlp_graph(), conv_graph()}) {
      CAPTURE(name_of(type));
      TrainingSpec spec{.micro_batch = 6, .step = {.optimizer = sgd()}, .type = type};
      const auto trained = [&](bool wide) {
        spec.wide_data = wide;
        Training training(*site.backend, graph, spec);
        return train(training.strategy(), 3);
      };
      const Trained narrow = trained(false);
      const Trained wide = trained(true);
      CHECK(same_bits(narrow.losses, wide.losses));
      CHECK(same_bits(narrow.arena, wide.arena));
      CHECK(same_bits(narrow.statistics, wide.statistics));
    }
}

}  // namespace
}  // namespace ptbench::testing
