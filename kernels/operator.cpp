#include "kernels/operator.h"

#include <fmt/format.h>

#include <cmath>

#include "src/base/error.h"

namespace ptbench {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

}  // namespace

std::string key_of(const OperatorSpec& spec) {
  return std::visit(
      Overloaded{
          [](const LinearSpec& s) {
            return fmt::format("linear b{} {}->{}{}{}", s.batch, s.inputs, s.outputs,
                               s.relu ? " relu" : "", s.input_gradient ? "" : " first");
          },
          [](const ReluSpec& s) {
            return fmt::format("relu {}{}", s.elements, s.input_gradient ? "" : " first");
          },
          [](const SoftmaxCrossEntropySpec& s) {
            return fmt::format("softmax_cross_entropy b{} {}", s.batch, s.classes);
          },
      },
      spec);
}

Flops flops_of(const OperatorSpec& spec) {
  if (const auto* s = std::get_if<LinearSpec>(&spec)) {
    const double pass = 2.0 * static_cast<double>(s->batch) * static_cast<double>(s->inputs) *
                        static_cast<double>(s->outputs);
    return {pass, s->input_gradient ? 2 * pass : pass};
  }
  return {};
}

TensorElements elements_of(const OperatorSpec& spec) {
  return std::visit(
      Overloaded{
          [](const LinearSpec& s) {
            return TensorElements{
                .input = s.batch * s.inputs, .output = s.batch * s.outputs, .labels = 0};
          },
          [](const ReluSpec& s) {
            return TensorElements{.input = s.elements, .output = s.elements, .labels = 0};
          },
          [](const SoftmaxCrossEntropySpec& s) {
            return TensorElements{.input = s.batch * s.classes, .output = 0, .labels = s.batch};
          },
      },
      spec);
}

std::vector<ParameterSpec> parameters_of(const OperatorSpec& spec) {
  if (const auto* s = std::get_if<LinearSpec>(&spec)) {
    // nn.Linear: kaiming_uniform(a = √5) is U(±1/√inputs), and so is the bias.
    const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s->inputs)));
    return {{"weight", Shape{s->outputs, s->inputs}, bound}, {"bias", Shape{s->outputs}, bound}};
  }
  return {};
}

void OperatorPlan::import_parameters(std::span<const std::span<const float>> tensors,
                                     std::span<float> /*arena*/) const {
  ensure(tensors.empty(), "this operator has no parameters");
}

void OperatorPlan::export_parameters(std::span<const float> /*arena*/,
                                     std::span<const std::span<float>> tensors) const {
  ensure(tensors.empty(), "this operator has no parameters");
}

}  // namespace ptbench
