// Kernels on tensors of more elements than 32 bits count, of which only the end is there: emulated
// devices that run the last blocks of a grid alone (PTBENCH_EMULATOR_LAST_BLOCKS) touch nothing
// else. An index that is too narrow leads elsewhere, where no memory is.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/device/host_mirror.h"
#include "tests/cuda/device.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {
namespace {

constexpr std::size_t kBlocks = 2;       // that run of each grid
constexpr std::size_t kThreads = 256;    // of a block
constexpr std::size_t kThere = 1 << 16;  // elements of a tensor's end that are there

void require_last_blocks() {
  require_emulated_device();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it
  const char* blocks = std::getenv("PTBENCH_EMULATOR_LAST_BLOCKS");
  if (blocks == nullptr || std::string(blocks) != std::to_string(kBlocks))
    skip("this device runs all blocks");
}

/// More packs of `lanes` elements than 32 bits count, and a part of one more; a few blocks behind
/// 2³², so that indices without their upper bits are near 0.
constexpr Size long_count(Size lanes) { return lanes * ((Size{1} << 32U) + 4096) + lanes - 1; }

/// A tensor whose last elements are there, each with a value of its own; the others have addresses
/// alone.
template <class T>
class LongTensor {
 public:
  LongTensor(Device& device, Size elements)
      : device_(device),
        elements_(static_cast<std::size_t>(elements)),
        // So that the whole begins at a multiple of 64 elements.
        there_(kThere + elements_ % 64),
        buffer_(device.memory().allocate(there_ * sizeof(T), "a test")),
        mirror_(device, buffer_.as<T>()) {
    for (std::size_t i = 0; i < there_; ++i)
      mirror_.values()[i] = from_float<T>(value_at(static_cast<Size>(i)));
    write_back(device_, mirror_);
  }

  /// Small whole numbers of either sign, and halves.
  [[nodiscard]] static float value_at(Size index) {
    return static_cast<float>(index * 37 % 101 - 50) / 2;
  }

  [[nodiscard]] std::span<T> whole() const {
    return {buffer_.as<T>().data() + there_ - elements_, elements_};
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return std::as_writable_bytes(whole()); }
  /// The last `count` elements, as they are on the device now.
  [[nodiscard]] std::vector<float> last(std::size_t count) const {
    const auto read = read_back(device_, buffer_.as<T>());
    std::vector<float> values;
    for (const T value : read.values().last(count)) values.push_back(to_float(value));
    return values;
  }
  /// As they were at first.
  [[nodiscard]] std::vector<float> first_values(std::size_t count) const {
    std::vector<float> values;
    for (const T value : mirror_.values().last(count)) values.push_back(to_float(value));
    return values;
  }

 private:
  Device& device_;
  std::size_t elements_;
  std::size_t there_;
  Buffer buffer_;
  HostMirror<T> mirror_;
};

/// How many elements at the end the last blocks have for sure, and the tail.
template <class T>
constexpr std::size_t kSeen = (kBlocks - 1) * kThreads * (16 / sizeof(T)) + 16 / sizeof(T) - 1;

/// What `change` makes of each value.
template <class Change>
std::vector<float> changed(std::vector<float> values, const Change& change) {
  std::ranges::transform(values, values.begin(), change);
  return values;
}

std::unique_ptr<Operator> bound(const Site& site, const OperatorSpec& spec,
                                const Bindings& bindings) {
  return site.backend->plan(spec, site.backend->candidates(spec).front())->bind(bindings);
}

template <class T>
void check_element_wise(const Site& site, ElementType type) {
  CAPTURE(name_of(type));
  const Size count = long_count(static_cast<Size>(16 / sizeof(T)));
  const TensorSpec tensor{.shape = {count}, .type = type};
  const LongTensor<T> input(*site.device, count);
  const LongTensor<T> output(*site.device, count);
  const LongTensor<T> gradient(*site.device, count);
  const std::vector<float> values = input.first_values(kSeen<T>);
  Bindings bindings;
  bindings.inputs = {input.bytes()};
  bindings.output = output.bytes();
  bindings.output_gradients = {input.bytes()};
  bindings.input_gradients = {gradient.bytes()};
  const auto relu = bound(site, ReluSpec{.tensor = tensor}, bindings);
  relu->forward();
  const auto rectified = changed(values, [](float value) { return std::max(value, 0.0F); });
  CHECK(output.last(kSeen<T>) == rectified);
  relu->backward(GradientMode::replace);
  CHECK(gradient.last(kSeen<T>) == rectified);  // where it was open the gradient is the value
  bindings.inputs = {input.bytes(), input.bytes()};
  bindings.input_gradients = {gradient.bytes(), {}};
  bound(site, AddSpec{.tensor = tensor}, bindings)->forward();
  CHECK(output.last(kSeen<T>) == changed(values, [](float value) { return 2 * value; }));
}

TEST_CASE("element-wise kernels reach elements behind 32 bits", "[cuda]") {
  require_last_blocks();
  const Site site = open_cuda_site();
  check_element_wise<float>(site, ElementType::f32);
  check_element_wise<Bf16>(site, ElementType::bf16);
  check_element_wise<F16>(site, ElementType::f16);
}

TEST_CASE("GELU and casts reach elements behind 32 bits", "[cuda]") {
  require_last_blocks();
  const Site site = open_cuda_site();
  const Size count = long_count(4);
  const TensorSpec wide{.shape = {count}};
  const LongTensor<float> input(*site.device, count);
  const LongTensor<float> output(*site.device, count);
  const LongTensor<Bf16> narrow(*site.device, count);
  const std::vector<float> values = input.first_values(kSeen<float>);
  Bindings bindings;
  bindings.inputs = {input.bytes()};
  bindings.output = output.bytes();
  bound(site, GeluSpec{.tensor = wide, .input_gradient = false}, bindings)->forward();
  const std::vector<float> activated = output.last(kSeen<float>);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 6) CHECK(activated[i] == values[i]);
    if (values[i] <= -15) CHECK(activated[i] == 0);
  }
  bindings.output = narrow.bytes();
  const TensorSpec rounded{.shape = {count}, .type = ElementType::bf16};
  bound(site, ReorderSpec{.from = wide, .to = rounded, .input_gradient = false}, bindings)
      ->forward();
  CHECK(narrow.last(kSeen<float>) == values);  // which bf16 holds
}

TEST_CASE("passes over arenas reach elements behind 32 bits", "[cuda]") {
  require_last_blocks();
  const Site site = open_cuda_site();
  const Size count = long_count(4);
  const LongTensor<float> arena(*site.device, count);
  const LongTensor<float> terms(*site.device, count);
  const std::vector<float> values = arena.first_values(kSeen<float>);
  const auto passes = site.backend->plan_arena_passes(arena.whole(), {});
  const std::span<const float> term = terms.whole();
  passes->add({0, count}, std::span(&term, 1));
  CHECK(arena.last(kSeen<float>) == changed(values, [](float value) { return 2 * value; }));
  const Buffer cell = site.device->memory().allocate(sizeof(float), "a test");
  const Range all{0, count};
  const auto is_finite = [&] {
    passes->find_non_finite(std::span(&all, 1), cell.as<float>());
    return read_back(*site.device, cell.as<float>()).values().front() == 0;
  };
  CHECK(is_finite());
  for (const std::size_t from_end : {std::size_t{1}, std::size_t{100}}) {
    const auto place = arena.whole().last(from_end).first(1);
    const HostMirror<float> value = read_back(*site.device, place);
    const float before = value.values().front();
    value.values().front() = std::numeric_limits<float>::infinity();
    write_back(*site.device, value);
    CHECK_FALSE(is_finite());
    value.values().front() = before;
    write_back(*site.device, value);
  }
}

TEST_CASE("optimizers reach parameters behind 32 bits", "[cuda]") {
  require_last_blocks();
  const Site site = open_cuda_site();
  const Size count = long_count(4);
  for (const OptimizerSpec& spec :
       {OptimizerSpec{.lr = 0.5}, OptimizerSpec{.lr = 0.5, .momentum = 0.5},
        OptimizerSpec{.kind = OptimizerKind::adam, .lr = 0.5}}) {
    CAPTURE(name_of(spec.kind), spec.momentum);
    const LongTensor<float> parameters(*site.device, count);
    const LongTensor<float> gradients(*site.device, count);
    std::vector<std::unique_ptr<LongTensor<float>>> state;
    OptimizerArenas arenas{
        .parameters = parameters.whole(), .gradients = gradients.whole(), .state = {}};
    for (int i = 0; i < spec.state_arenas(); ++i) {
      state.push_back(std::make_unique<LongTensor<float>>(*site.device, count));
      arenas.state.push_back(state.back()->whole());
    }
    const std::vector<float> values = parameters.first_values(kSeen<float>);
    const auto optimizer = site.backend->plan_optimizer(spec, arenas, {});
    optimizer->step({0, count}, 1);
    const std::vector<float> updated = parameters.last(kSeen<float>);
    if (spec.kind == OptimizerKind::sgd) {  // v ← m·v + g, p ← p − v / 2, of equal p, g and v
      const float kept = 1 - (1 + static_cast<float>(spec.momentum)) / 2;
      CHECK(updated == changed(values, [kept](float value) { return kept * value; }));
    } else {
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] > 0) CHECK(updated[i] < values[i]);
    }
  }
}

TEST_CASE("images are reordered and pooled behind 32 bits", "[cuda]") {
  require_last_blocks();
  const Site site = open_cuda_site();
  constexpr Size kBatch = 400'000'000;
  constexpr std::size_t kChannels = 4;
  constexpr std::size_t kEdge = 4;
  constexpr std::size_t kPixels = kEdge * kEdge;
  constexpr std::size_t kImage = kChannels * kPixels;  // elements
  const ImageShape shape{.batch = kBatch, .channels = kChannels, .height = kEdge, .width = kEdge};
  const LongTensor<float> images(*site.device, shape.elements());
  const LongTensor<float> native(*site.device, shape.elements());
  const LongTensor<float> pooled(*site.device, kBatch * static_cast<Size>(kChannels));
  const std::vector<float> last = images.first_values(kImage);
  Bindings bindings;
  bindings.inputs = {images.bytes()};
  bindings.output = native.bytes();
  bound(site,
        ReorderSpec{.from = {.shape = shape.shape()},
                    .to = {.shape = shape.shape(), .format = TensorFormat::native},
                    .input_gradient = false},
        bindings)
      ->forward();
  const std::vector<float> turned = native.last(kImage);
  for (std::size_t channel = 0; channel < kChannels; ++channel)
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel)
      CHECK(turned[pixel * kChannels + channel] == last[channel * kPixels + pixel]);

  // One window an image, without the last row and the last column.
  bindings.output = pooled.bytes();
  bound(site, PoolSpec{.input = shape, .window = Window::square(3, 3), .input_gradient = false},
        bindings)
      ->forward();
  const std::vector<float> largest = pooled.last(kChannels);
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    float expected = last[channel];  // of the image as a native one
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 3; ++column)
        expected = std::max(expected, last[(row * kEdge + column) * kChannels + channel]);
    CHECK(largest[channel] == expected);
  }
}

}  // namespace
}  // namespace ptbench::testing
