// What every candidate of every backend promises, whatever the operator: the suite runs over all
// backends, so a new one has it for nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "kernels/cpu/image.h"
#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "src/device/isa.h"
#include "tests/support/backends.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tested_device.h"
#include "tests/support/tolerance.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

double largest(const std::vector<float>& values) {
  double result = 0;
  for (const float value : values) result = std::max(result, std::abs(double{value}));
  return result;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double result = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    result = std::max(result, std::abs(double{a[i]} - double{b[i]}));
  return result;
}

/// Operators whose every result is one rounded operation on one or two elements, so that values
/// that do round come out the same everywhere, too.
std::vector<OperatorSpec> once_rounded_specs() {
  std::vector<OperatorSpec> specs;
  for (const ReluSpec& spec : relu_specs()) specs.emplace_back(spec);
  for (const AddSpec& spec : add_specs()) specs.emplace_back(spec);
  for (const ReorderSpec& spec : reorder_specs()) specs.emplace_back(spec);
  for (const ForkSpec& spec : fork_specs())
    if (spec.gradient_terms == 2) specs.emplace_back(spec);
  return specs;
}

/// The first element of `sums` that is not the sum of the other two, or -1. Some products begin
/// with what is there: a sum of all terms in float, of values below 1.
Size first_beyond_sum(const OperatorSpec& spec, const Tensors& sums, const Tensors& terms,
                      const Tensors& before) {
  Size index = 0;
  for (std::size_t tensor = 0; tensor < sums.size(); ++tensor) {
    const Size outputs = parameters_of(spec)[tensor].shape[0];
    const Size count = 1 + tensors_of(spec).output->shape.elements() / outputs;
    for (std::size_t i = 0; i < sums[tensor].size(); ++i, ++index) {
      const double sum = double{terms[tensor][i]} + double{before[tensor][i]};
      const double tolerance = sum_tolerance(count, static_cast<double>(count) + std::abs(sum));
      if (!(std::abs(double{sums[tensor][i]} - sum) <= tolerance)) return index;
    }
  }
  return -1;
}

void check_equal_to_reference(const OperatorSpec& spec, const OperatorData& data) {
  const ReferenceBackend reference;
  const OperatorResult expected = OperatorHarness(reference, spec, "reference", data).run();
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        if (is_winograd(candidate)) return;  // multiplies by fractions
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(same_values(result.output, expected.output));
        CHECK(same_values(result.input_gradients, expected.input_gradients));
        CHECK(same_values(result.gradients, expected.gradients));
      });
}

}  // namespace

TEST_CASE("operators repeat every bit and stay within their memory") {
  for (const OperatorSpec& spec : contract_specs()) {
    const OperatorData data = make_data(spec, 1, Values::uniform);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          OperatorHarness harness(backend, spec, candidate, data);
          const OperatorResult first = harness.run();
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
  // Sums of small integers are exact in any order, so a wrong index cannot hide behind a tolerance.
  // Compared with ==, since a sum of nothing but zeros may be 0 or -0.
  for (const OperatorSpec& spec : exact_specs())
    check_equal_to_reference(spec, make_data(spec, 2, Values::integers));
}

TEST_CASE("operators that round once equal the reference on any values") {
  for (const OperatorSpec& spec : once_rounded_specs())
    check_equal_to_reference(spec, make_data(spec, 9, Values::uniform));
}

TEST_CASE("the suite has every kind of operator") {
  std::set<std::size_t> kinds;
  for (const OperatorSpec& spec : contract_specs()) kinds.insert(spec.index());
  CHECK(kinds.size() == std::variant_size_v<OperatorSpec>);
}

TEST_CASE("gradients are added to what is there, which exact arithmetic tells exactly") {
  for (const OperatorSpec& spec : exact_specs()) {
    if (parameters_of(spec).empty()) continue;
    const OperatorData data = make_data(spec, 2, Values::integers);
    const Tensors before = make_data(spec, 3, Values::integers).parameters;
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          if (is_winograd(candidate)) return;  // multiplies by fractions
          OperatorHarness harness(backend, spec, candidate, data);
          Tensors expected = harness.run().gradients;
          for (std::size_t i = 0; i < expected.size(); ++i)
            std::ranges::transform(expected[i], before[i], expected[i].begin(), std::plus<>());
          CHECK(same_values(harness.add_to(before).gradients, expected));
        });
  }
}

TEST_CASE("adding gradients repeats every bit, and changes nothing but gradients", "[long]") {
  for (const OperatorSpec& spec : contract_specs()) {
    if (parameters_of(spec).empty()) continue;
    const OperatorData data = make_data(spec, 1, Values::uniform);
    const Tensors before = make_data(spec, 8, Values::uniform).parameters;
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          OperatorHarness harness(backend, spec, candidate, data);
          const OperatorResult replaced = harness.run();
          const OperatorResult added = harness.add_to(before);
          CHECK(first_beyond_sum(spec, added.gradients, replaced.gradients, before) == -1);
          CHECK(same_bits(added.output, replaced.output));
          CHECK(same_bits(added.input_gradients, replaced.input_gradients));
          CHECK(same_bits(harness.add_to(before), added));
          CHECK(harness.memory_intact());
          CHECK(harness.padding_is_zero());
          // Replacing forgets what was there.
          CHECK(same_bits(harness.run(), replaced));
        });
  }
}

TEST_CASE("infinite gradients stay infinite when others are added") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const OperatorSpec& spec : contract_specs()) {
    if (parameters_of(spec).empty()) continue;
    const OperatorData data = make_data(spec, 1, Values::uniform);
    Tensors before = make_data(spec, 8, Values::uniform).parameters;
    for (std::vector<float>& tensor : before) tensor.back() = kInfinity;
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          OperatorHarness harness(backend, spec, candidate, data);
          for (const std::vector<float>& tensor : harness.add_to(before).gradients)
            CHECK(tensor.back() == kInfinity);
        });
  }
}

TEST_CASE("parameters come back from a layout as they went in") {
  for (const OperatorSpec& spec : contract_specs()) {
    const OperatorData data = make_data(spec, 3, Values::uniform);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorHarness harness(backend, spec, candidate, data);
          CHECK(same_bits(harness.exported_parameters(), data.parameters));
          CHECK(harness.padding_is_zero());
        });
  }
}

TEST_CASE("an operator computes with new parameters once it is told", "[long]") {
  for (const OperatorSpec& spec : contract_specs()) {
    if (parameters_of(spec).empty()) continue;
    const OperatorData data = make_data(spec, 3, Values::uniform);
    OperatorData changed = data;
    changed.parameters = make_data(spec, 4, Values::uniform).parameters;
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          OperatorHarness harness(backend, spec, candidate, data);
          (void)harness.run();
          harness.set_parameters(changed.parameters);
          const OperatorResult expected = OperatorHarness(backend, spec, candidate, changed).run();
          CHECK(same_bits(harness.run(), expected));
        });
  }
}

TEST_CASE("an update in the midst of a backward pass is that after it") {
  std::set<std::string> kinds;
  for (const OperatorSpec& spec : contract_specs()) {
    const OperatorData data = make_data(spec, 3, Values::uniform);
    for_each_candidate(spec, [&](const KernelBackend& backend, int /*threads*/,
                                 const std::string& candidate) {
      for (const bool keep : {true, false}) {
        OperatorHarness harness(backend, spec, candidate, data);
        if (!harness.updates_in_backward()) return;
        kinds.insert(candidate.substr(0, candidate.find(' ')));
        const OperatorResult expected = OperatorHarness(backend, spec, candidate, data).run();
        const OperatorResult result = harness.run_and_update(keep);
        CHECK(same_bits(result, expected));
        if (keep) CHECK(same_bits(harness.kept_gradients(), expected.gradients));
        CHECK(harness.memory_intact());
        CHECK(harness.padding_is_zero());

        OperatorData updated = data;
        for (std::size_t i = 0; i < updated.parameters.size(); ++i)
          std::ranges::transform(updated.parameters[i], expected.gradients[i],
                                 updated.parameters[i].begin(), std::minus<>());
        CHECK(same_bits(harness.exported_parameters(), updated.parameters));
        // The operator was not told of new parameters: it has made them itself.
        CHECK(same_bits(harness.run(), OperatorHarness(backend, spec, candidate, updated).run()));
      }
    });
  }
  for (const std::string kind : {"pairs", "widened"})
    CHECK(kinds.contains(kind) == (!tested_device() && has_bf16_products()));
  // ONEDNN_MAX_CPU_ISA may keep both from AMX.
  CHECK(kinds.contains("tiles") ==
        (!tested_device() && image_order(ElementType::bf16) == ImageOrder::channels_last));
}

TEST_CASE("only batch norm evaluates otherwise than it trains, and evaluation leaves no trace",
          "[long]") {
  for (const OperatorSpec& spec : contract_specs()) {
    const OperatorData data = make_data(spec, 6, Values::uniform);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          OperatorHarness harness(backend, spec, candidate, data);
          const OperatorResult trained = harness.run();
          const OperatorResult evaluated = harness.evaluate();
          CHECK(same_bits(evaluated.buffers, data.buffers));
          CHECK(same_bits(harness.evaluate(), evaluated));
          if (!std::holds_alternative<BatchNormSpec>(spec)) {
            CHECK(same_bits(evaluated.output, trained.output));
            CHECK(same_bits(evaluated.loss, trained.loss));
          }
          CHECK(same_bits(harness.run(), trained));
          CHECK(harness.memory_intact());
          CHECK(harness.padding_is_zero());
        });
  }
}

TEST_CASE("a gradient that nobody needs is left out, and the other stays what it was") {
  for (const OperatorSpec& spec : contract_specs()) {
    const OperatorTensors tensors = tensors_of(spec);
    if (tensors.inputs.size() < 2 || !tensors.input_gradient) continue;
    const OperatorData data = make_data(spec, 7, Values::uniform);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          OperatorResult expected = OperatorHarness(backend, spec, candidate, data).run();
          for (const std::size_t unneeded : {std::size_t{0}, std::size_t{1}}) {
            OperatorData less = data;
            less.unneeded = unneeded;
            OperatorHarness harness(backend, spec, candidate, less);
            const OperatorResult result = harness.run();
            CHECK(result.input_gradients[unneeded].empty());
            const std::vector<float>& other = result.input_gradients[1 - unneeded];
            const std::vector<float>& before = expected.input_gradients[1 - unneeded];
            // In narrow types a sum of gradients may be read back from the gradient that is needed.
            if (type_of(spec) == ElementType::f32 || tensors.gradient_terms == 1)
              CHECK(same_bits(other, before));
            else
              CHECK(largest_difference(other, before) <=
                    4 * roundoff_of(type_of(spec)) * largest(before));
            CHECK(same_bits(result.gradients, expected.gradients));
            CHECK(harness.memory_intact());
          }
        });
  }
}

TEST_CASE("layouts hand every element to one member, in order") {
  for (const OperatorSpec& spec : contract_specs()) {
    const Size parameters = elements_of(parameters_of(spec));
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
      if (!offers(backend, spec)) continue;
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
