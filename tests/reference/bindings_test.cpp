// The oracle checks what it is bound to, so that a test of another backend cannot pass on memory of
// the wrong length.
#include <array>
#include <catch2/catch.hpp>

#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "tests/support/operator_harness.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

/// Bindings of a batch norm of 2 × 3 values with a second input, all of the right length.
struct BoundBatchNorm {
  static constexpr BatchNormSpec kSpec{
      .input = {.batch = 2, .channels = 3, .height = 1, .width = 1}, .add = true};

  BoundBatchNorm() {
    const std::span<std::byte> tensor = std::as_writable_bytes(std::span(floats)).first(24);
    bindings.inputs = {tensor, tensor};
    bindings.output = tensor;
    bindings.output_gradients = {tensor};
    bindings.input_gradients = {tensor, tensor};
    bindings.parameters = floats;
    bindings.gradients = floats;
    bindings.buffers = std::span(floats).first(6);
    bindings.saved = tensor;
  }
  BoundBatchNorm(const BoundBatchNorm&) = delete;
  BoundBatchNorm& operator=(const BoundBatchNorm&) = delete;
  BoundBatchNorm(BoundBatchNorm&&) = delete;
  BoundBatchNorm& operator=(BoundBatchNorm&&) = delete;
  ~BoundBatchNorm() = default;

  std::array<float, 16> floats{};
  Bindings bindings;
};

/// Whether bindings that `spoil` changed are refused.
template <class Spoil>
bool refused(Spoil spoil) {
  BoundBatchNorm bound;
  spoil(bound.bindings);
  try {
    (void)ReferenceBackend().plan(BoundBatchNorm::kSpec, "reference")->bind(bound.bindings);
    return false;
  } catch (const Defect&) {
    return true;
  }
}

}  // namespace

TEST_CASE("the reference refuses memory of the wrong length") {
  CHECK_FALSE(refused([](Bindings&) {}));
  CHECK_FALSE(refused([](Bindings& bound) { bound.input_gradients[1] = {}; }));
  const auto shorten = [](auto& span) { span = span.first(span.size() - 1); };
  CHECK(refused([&](Bindings& bound) { shorten(bound.inputs[0]); }));
  CHECK(refused([&](Bindings& bound) { shorten(bound.inputs[1]); }));
  CHECK(refused([&](Bindings& bound) { bound.inputs.pop_back(); }));
  CHECK(refused([&](Bindings& bound) { shorten(bound.output); }));
  CHECK(refused([&](Bindings& bound) { shorten(bound.output_gradients[0]); }));
  CHECK(refused([&](Bindings& bound) { bound.output_gradients.emplace_back(bound.output); }));
  CHECK(refused([&](Bindings& bound) { shorten(bound.input_gradients[1]); }));
  CHECK(refused([&](Bindings& bound) { bound.input_gradients.pop_back(); }));
  CHECK(refused([&](Bindings& bound) { shorten(bound.parameters); }));
  CHECK(refused([&](Bindings& bound) { shorten(bound.gradients); }));
  CHECK(refused([&](Bindings& bound) { shorten(bound.buffers); }));
  CHECK(refused([&](Bindings& bound) { shorten(bound.saved); }));
  CHECK(refused([&](Bindings& bound) { bound.loss_scale = bound.parameters.first(1); }));
}

TEST_CASE("the reference refuses a gradient of data that has none") {
  BatchNormSpec first = BoundBatchNorm::kSpec;
  first.input_gradient = false;
  BoundBatchNorm bound;
  const auto plan = ReferenceBackend().plan(first, "reference");
  CHECK_THROWS_AS(plan->bind(bound.bindings), Defect);
  bound.bindings.input_gradients = {{}, {}};
  CHECK_NOTHROW(plan->bind(bound.bindings));
}

TEST_CASE("the reference refuses a label outside the classes") {
  const ReferenceBackend backend;
  const SoftmaxCrossEntropySpec spec{.batch = 2, .classes = 3, .global_batch = 2};
  OperatorData data = make_data(spec, 1, Values::uniform);
  for (const std::int32_t wrong : {-1, 3}) {
    data.labels[1] = wrong;
    OperatorHarness harness(backend, spec, "reference", data);
    CHECK_THROWS_AS(harness.run(), Defect);
  }
}

TEST_CASE("the reference refuses operators that are empty or contradict themselves") {
  const auto refuses = [](const OperatorSpec& spec) {
    INFO(key_of(spec));
    CHECK_THROWS_AS(ReferenceBackend().plan(spec, "reference"), Defect);
  };
  const ImageShape image{.batch = 1, .channels = 2, .height = 3, .width = 3};
  const Window too_large{.kernel_height = 4, .kernel_width = 1};
  const TensorSpec row{.shape = {2, 3}};
  refuses(LinearSpec{});
  refuses(ReluSpec{});
  refuses(GeluSpec{.tensor = {.shape = {2, 0}}});
  refuses(AddSpec{.tensor = {.shape = {2, 3, 4}, .format = TensorFormat::native}});
  refuses(Conv2dSpec{.input = image, .outputs = 0});
  refuses(Conv2dSpec{.input = image, .outputs = 1, .window = too_large});
  refuses(PoolSpec{.input = image, .window = too_large});
  refuses(BatchNormSpec{});
  refuses(BatchNormSpec{.input = image, .gradient_terms = 0});
  refuses(BatchNormSpec{.input = image, .gradient_terms = 3});
  refuses(ForkSpec{.tensor = row, .gradient_terms = 0});
  refuses(ReorderSpec{.from = row, .to = {.shape = {2, 4}}});
  refuses(SoftmaxCrossEntropySpec{});
  refuses(SoftmaxCrossEntropySpec{.batch = 4, .classes = 2, .global_batch = 3});
}
