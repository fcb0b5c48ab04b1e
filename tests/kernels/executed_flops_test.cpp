#include <catch2/catch.hpp>

#include "kernels/backend.h"
#include "tests/support/backends.h"

namespace ptbench::testing {
namespace {

/// The share of a pass's products that its method, named in `candidate`, executes on 8×8 outputs.
double share_of(const std::string& candidate, const std::string& pass, ElementType type,
                Size stride) {
  if (candidate.find(pass + "=winograd") == std::string::npos) return 1;
  if (stride == 2) return 4.0 * 81 / (64 * 9);  // 4 tiles of 81 products, also of 16×16 gradients
  // F(4×4, 3×3): 4 tiles of 36 products; F(2×2, 3×3): 16 tiles of 16; directly 64 · 9.
  return type == ElementType::f32 ? 4.0 * 36 / (64 * 9) : 16.0 * 16 / (64 * 9);
}

}  // namespace

TEST_CASE("convolutions say how many operations they execute", "[kernels]") {
  const Size stride = GENERATE(1, 2);
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    const Conv2dSpec spec{
        .input = {.batch = 12, .channels = 32, .height = 8 * stride, .width = 8 * stride},
        .outputs = 48,
        .window = Window::square(3, stride, 1),
        .type = type};
    const double pass = flops_of(spec).forward;
    for_each_candidate(spec, [&](const KernelBackend& backend, int, const std::string& name) {
      const Flops executed = backend.plan(spec, name)->executed_flops().value_or(flops_of(spec));
      CHECK(executed.forward == Approx(pass * share_of(name, "forward", type, stride)));
      CHECK(executed.backward == Approx(pass * (share_of(name, "weights", type, stride) +
                                                share_of(name, "data", type, stride))));
    });
  }
}

}  // namespace ptbench::testing
