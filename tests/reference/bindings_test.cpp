// The oracle checks what it is bound to, so that a test of another backend cannot pass on memory of
// the wrong length.
#include <catch2/catch.hpp>

#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "tests/support/operator_harness.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

}  // namespace

TEST_CASE("the reference refuses memory of the wrong length") {
  const LinearSpec spec{.batch = 2, .inputs = 3, .outputs = 4};
  const auto plan = ReferenceBackend().plan(spec, "reference");
  CHECK(plan->layout().elements == 16);
  std::vector<float> memory(16);
  const std::span<float> all(memory);
  const Bindings good{.input = all.first(6),
                      .output = all.first(8),
                      .output_gradient = all.first(8),
                      .input_gradient = all.first(6),
                      .parameters = all,
                      .gradients = all,
                      .labels = {},
                      .loss = {},
                      .workspace = {}};
  CHECK_NOTHROW(plan->bind(good));
  for (const auto member : {&Bindings::output, &Bindings::input_gradient, &Bindings::gradients}) {
    Bindings bad = good;
    bad.*member = all.first(5);
    CHECK_THROWS_AS(plan->bind(bad), Defect);
  }
  for (const auto member : {&Bindings::input, &Bindings::output_gradient, &Bindings::parameters}) {
    Bindings bad = good;
    bad.*member = all.first(5);
    CHECK_THROWS_AS(plan->bind(bad), Defect);
  }
}

TEST_CASE("the reference refuses a label outside the classes") {
  const SoftmaxCrossEntropySpec spec{.batch = 2, .classes = 3, .global_batch = 2};
  OperatorData data = make_data(spec, 1, Values::uniform);
  for (const std::int32_t wrong : {-1, 3}) {
    data.labels[1] = wrong;
    OperatorHarness harness(ReferenceBackend(), spec, "reference", data);
    CHECK_THROWS_AS(harness.run(), Defect);
  }
}

TEST_CASE("the reference refuses empty operators") {
  const ReferenceBackend backend;
  CHECK_THROWS_AS(backend.plan(LinearSpec{}, "reference"), Defect);
  CHECK_THROWS_AS(backend.plan(ReluSpec{}, "reference"), Defect);
  CHECK_THROWS_AS(backend.plan(SoftmaxCrossEntropySpec{}, "reference"), Defect);
  const SoftmaxCrossEntropySpec larger_part{.batch = 4, .classes = 2, .global_batch = 3};
  CHECK_THROWS_AS(backend.plan(larger_part, "reference"), Defect);
}
