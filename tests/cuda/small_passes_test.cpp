// Small passes that a recording gathers into one launch of one block, where there are more results
// than the block has threads: none is left out, and each is what the pass computes by itself.
#include <catch2/catch.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "src/base/random.h"
#include "tests/cuda/trainings.h"
#include "tests/support/operator_harness.h"

namespace ptbench::testing {
namespace {

/// The arenas of an optimizer, in a device's memory: parameters, gradients and two of state.
class DeviceArenas {
 public:
  DeviceArenas(Device& device, Size elements)
      : device_(device),
        elements_(static_cast<std::size_t>(elements)),
        buffer_(device.memory().allocate(kArenas * elements_ * sizeof(float), "a test")),
        mirror_(device, buffer_.as<float>()) {
    const CounterRandom random(1, 1);
    for (std::size_t i = 0; i < mirror_.values().size(); ++i)
      mirror_.values()[i] = random.uniform(i, 0.5F, 1);
    write_back(device_, mirror_);
  }

  [[nodiscard]] OptimizerArenas arenas_for(const OptimizerSpec& spec) const {
    OptimizerArenas arenas{.parameters = part(0), .gradients = part(1), .state = {}};
    for (int state = 0; state < spec.state_arenas(); ++state)
      arenas.state.push_back(part(2 + static_cast<std::size_t>(state)));
    return arenas;
  }
  /// As they are on the device.
  [[nodiscard]] std::vector<float> values() const {
    const auto read = read_back(device_, buffer_.as<float>());
    return {read.values().begin(), read.values().end()};
  }
  /// How many parameters have changed.
  [[nodiscard]] std::size_t updated() const {
    const std::vector<float> now = values();
    std::size_t count = 0;
    for (std::size_t i = 0; i < elements_; ++i)
      if (now[i] != mirror_.values()[i]) ++count;
    return count;
  }

 private:
  static constexpr std::size_t kArenas = 4;
  [[nodiscard]] std::span<float> part(std::size_t arena) const {
    return buffer_.as<float>().subspan(arena * elements_, elements_);
  }

  Device& device_;
  std::size_t elements_;
  Buffer buffer_;
  HostMirror<float> mirror_;  ///< what they were at first
};

/// Two updates of so many elements, recorded as one launch and given as one each.
void check_updates(const Site& site, const OptimizerSpec& spec, Size elements) {
  CAPTURE(name_of(spec.kind), spec.momentum, elements);
  const Range all{0, elements};
  const DeviceArenas one(*site.device, elements);
  const DeviceArenas other(*site.device, elements);
  const DeviceArenas alone(*site.device, elements);
  const auto planned = [&](const DeviceArenas& arenas) {
    return site.backend->plan_optimizer(spec, arenas.arenas_for(spec), {});
  };
  const auto first = planned(one);
  const auto second = planned(other);
  for (Optimizer* optimizer : {first.get(), second.get()}) optimizer->prepare(1);
  const auto recording = site.device->compute().keep([&] {
    first->step(all, 1);
    second->step(all, 1);
  });
  recording->replay();
  const auto third = planned(alone);
  third->step(all, 1);
  const std::vector<float> expected = alone.values();
  CHECK(alone.updated() == static_cast<std::size_t>(elements));
  CHECK(same_bits(one.values(), expected));
  CHECK(same_bits(other.values(), expected));
}

TEST_CASE("updates in one launch reach all elements, as those in launches of their own", "[cuda]") {
  require_cuda_device();
  const Site site = open_cuda_site("cuda:0");
  for (const OptimizerSpec& spec : {OptimizerSpec{}, sgd(), adam()})
    for (const Size elements : {1, 255, 256, 257, 258, 259, 512})
      check_updates(site, spec, elements);
}

/// Layers of 258 results forward, and 279 backward, of which no pass is large.
Graph wide_batches_graph() {
  return {.input_shape = {6},
          .classes = 3,
          .nodes = {{.name = "fc1", .layer = LinearLayer{6}, .inputs = {-1}},
                    {.name = "relu1", .layer = ReluLayer{}, .inputs = {0}},
                    {.name = "fc2", .layer = LinearLayer{3}, .inputs = {1}}}};
}

TEST_CASE("layers in one launch compute all results, as in launches of their own", "[cuda]") {
  require_cuda_device();
  const Site site = open_cuda_site("cuda:0");
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    CAPTURE(name_of(type));
    const auto trained = [&](bool records) {
      Training training(
          *site.backend, wide_batches_graph(),
          {.micro_batch = 43, .step = {.optimizer = sgd()}, .type = type, .candidate = "direct"});
      record_if(training.strategy(), records);
      return train(training.strategy(), 3);
    };
    const Trained recorded = trained(true);
    const Trained given = trained(false);
    CHECK(same_bits(recorded.losses, given.losses));
    CHECK(same_bits(recorded.arena, given.arena));
  }
}

}  // namespace
}  // namespace ptbench::testing
