// What every candidate of every backend promises, whatever the operator: the suite runs over all
// backends, so a new one has it for nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "tests/support/backends.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

using Bits = std::span<const float>;

bool equal(Bits a, Bits b) { return std::ranges::equal(a, b); }

}  // namespace

TEST_CASE("operators repeat every bit and stay within their memory") {
  for (const OperatorSpec& spec : contract_specs()) {
    const OperatorData data = make_data(spec, 1, Values::uniform);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          OperatorHarness harness(backend, spec, candidate, data);
          const OperatorResult first = harness.run();
          CHECK(same_bits(harness.run(), first));
          CHECK(same_bits(harness.run(), first));
          CHECK(harness.memory_intact());
          CHECK(harness.padding_is_zero());

          // A plan is a function of its arguments: one made anew computes the same.
          OperatorHarness again(backend, spec, candidate, data);
          CHECK(again.plan().description() == harness.plan().description());
          CHECK(again.plan().layout().owned == harness.plan().layout().owned);
          CHECK(same_bits(again.run(), first));
        });
  }
}

TEST_CASE("exact arithmetic leaves nothing to rounding: operators equal the reference") {
  // Sums of small integers are exact in float in any order, so a wrong index cannot hide behind a
  // tolerance. Compared with ==, since a sum of nothing but zeros may be 0 or -0.
  for (const OperatorSpec& spec : exact_specs()) {
    const OperatorData data = make_data(spec, 2, Values::integers);
    const OperatorResult expected =
        OperatorHarness(ReferenceBackend{}, spec, "reference", data).run();
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          CHECK(equal(result.output, expected.output));
          CHECK(equal(result.input_gradient, expected.input_gradient));
          CHECK(std::ranges::equal(result.gradients, expected.gradients, equal));
        });
  }
}

TEST_CASE("parameters come back from a layout as they went in") {
  for (const OperatorSpec& spec : contract_specs()) {
    const OperatorData data = make_data(spec, 3, Values::uniform);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorHarness harness(backend, spec, candidate, data);
          CHECK(std::ranges::equal(harness.exported_parameters(), data.parameters,
                                   [](Bits a, Bits b) { return same_bits(a, b); }));
          CHECK(harness.padding_is_zero());
        });
  }
}

TEST_CASE("layouts hand every element to one member, in order") {
  for (const OperatorSpec& spec : contract_specs()) {
    Size parameters = 0;
    for (const ParameterSpec& parameter : parameters_of(spec))
      parameters += parameter.shape.elements();
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int threads, const std::string& candidate) {
          const ParameterLayout layout = backend.plan(spec, candidate)->layout();
          CHECK(layout.elements >= parameters);
          CHECK(layout.elements % 16 == 0);
          Size covered = 0;
          for (const OwnedRange& owned : layout.owned) {
            CHECK(owned.range.begin == covered);
            CHECK_FALSE(owned.range.empty());
            CHECK(owned.member >= 0);
            CHECK(owned.member < threads);
            covered = owned.range.end;
          }
          CHECK(covered == layout.elements);
        });
  }
}

TEST_CASE("a backend has candidates, each once, and refuses all others") {
  for_each_backend([](const KernelBackend& backend, int /*threads*/) {
    for (const OperatorSpec& spec : contract_specs()) {
      INFO(key_of(spec));
      const std::vector<std::string> candidates = backend.candidates(spec);
      REQUIRE_FALSE(candidates.empty());
      CHECK(std::set(candidates.begin(), candidates.end()).size() == candidates.size());
      for (const std::string& wrong : {std::string(), std::string("no such candidate"),
                                       candidates.front() + " ", " " + candidates.front()}) {
        INFO("candidate '" << wrong << "'");
        CHECK_THROWS_AS(backend.plan(spec, wrong), Error);
      }
    }
  });
}
