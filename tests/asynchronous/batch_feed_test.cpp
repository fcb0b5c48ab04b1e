// The way of batches to a device that works later than it is asked to.
#include "workloads/batch_feed.h"

#include <catch2/catch.hpp>
#include <vector>

#include "src/device/topology.h"
#include "tests/asynchronous/sites.h"

namespace ptbench::testing {
namespace {

constexpr std::size_t kValues = 6;
constexpr std::size_t kSamples = 2;

/// A feed, and where a program would read its batches.
class Fed {
 public:
  explicit Fed(Eagerness eagerness, ElementType type = ElementType::f32)
      : world_(eagerness),
        device_(world_, {.topology = discover_topology()}),
        inputs_(device_.memory().allocate(kValues * bytes_of(type), "a test")),
        labels_(device_.memory().allocate(kSamples * sizeof(std::int32_t), "a test")),
        feed_(device_, inputs_.as<std::byte>(), type, labels_.as<std::int32_t>()) {}

  [[nodiscard]] DeferredWorld& world() { return world_; }
  [[nodiscard]] BatchFeed& feed() { return feed_; }
  /// What the passes would read when all that was given is done.
  [[nodiscard]] float read() { return read_back(device_, inputs_.as<float>()).values().front(); }
  /// Gives the queue for computing a copy of what its passes would read now.
  [[nodiscard]] Buffer keep() {
    Buffer kept = device_.memory().allocate(inputs_.bytes(), "a test");
    device_.compute().copy(inputs_.as<std::byte>(), kept.as<std::byte>());
    return kept;
  }
  [[nodiscard]] float kept(const Buffer& copy) {
    return read_back(device_, copy.as<float>()).values().front();
  }

 private:
  DeferredWorld world_;
  DeferredDevice device_;
  Buffer inputs_;
  Buffer labels_;
  BatchFeed feed_;
};

void fill(const BatchRoom& room, float value) {
  for (float& each : room.inputs.as<float>()) each = value;
}

}  // namespace

TEST_CASE("the host fills one room while the other is copied") {
  Fed fed(Eagerness::none);
  const BatchRoom first = fed.feed().await_room();
  fill(first, 1);
  fed.feed().send();
  REQUIRE(fed.world().pending() > 0);
  const std::size_t pending = fed.world().pending();
  const BatchRoom second = fed.feed().await_room();
  CHECK(fed.world().pending() == pending);  // nothing was waited for
  CHECK(second.inputs.bytes().data() != first.inputs.bytes().data());
  CHECK(second.labels.data() != first.labels.data());
  fill(second, 2);
  fed.feed().send();
  const BatchRoom third = fed.feed().await_room();
  CHECK(third.inputs.bytes().data() == first.inputs.bytes().data());
  CHECK(fed.world().pending() < 2 * pending);  // for what lay there was
  fill(third, 3);
  CHECK(fed.read() == 2);
}

TEST_CASE("each pass reads the batch that was sent before it") {
  const auto kept_values = [](Eagerness eagerness, Fault fault) {
    Fed fed(eagerness);
    fed.world().plant(fault);
    std::vector<Buffer> copies;
    for (int batch = 0; batch < 7; ++batch) {
      fill(fed.feed().await_room(), static_cast<float>(batch));
      fed.feed().send();
      copies.push_back(fed.keep());
    }
    std::vector<float> values;
    values.reserve(copies.size());
    for (const Buffer& copy : copies) values.push_back(fed.kept(copy));
    fed.world().plant(Fault::none);
    return values;
  };
  const std::vector<float> expected{0, 1, 2, 3, 4, 5, 6};
  for (const Eagerness eagerness : kEveryEagerness)
    CHECK(kept_values(eagerness, Fault::none) == expected);
  for (const Fault fault : {Fault::host_waits_for_no_transfer, Fault::transfer_waits_for_nobody,
                            Fault::compute_waits_for_no_transfer}) {
    bool shows = false;
    for (const Eagerness eagerness : kEveryEagerness)
      shows = shows || kept_values(eagerness, fault) != expected;
    CHECK(shows);
  }
}

TEST_CASE("rooms are of the type of the data") {
  Fed fed(Eagerness::none, ElementType::f16);
  const BatchRoom room = fed.feed().await_room();
  CHECK(room.inputs.type() == ElementType::f16);
  CHECK(room.inputs.size() == kValues);
  CHECK(room.labels.size() == kSamples);
}

}  // namespace ptbench::testing
