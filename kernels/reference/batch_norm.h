#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "kernels/reference/arithmetic.h"

namespace ptbench::reference {

constexpr double kBatchNormEpsilon = 1e-5;
/// How far the running statistics move towards those of a micro-batch.
constexpr double kBatchNormMomentum = 0.1;

/// What a channel's values are normalised with: x̂ = (x - mean) · inverse_deviation. One element a
/// channel; U is ParameterOf the activations, or const.
template <class U>
struct BatchNormStatistics {
  std::span<U> mean;
  std::span<U> inverse_deviation;  ///< 1 / √(variance + ε)
};

/// The buffers of a layer, one element a channel.
template <class U>
struct RunningStatistics {
  std::span<U> mean;
  std::span<U> variance;
};

/// γ and β, one element a channel.
template <class U>
struct BatchNormParameters {
  std::span<U> weight;
  std::span<U> bias;
};

/// Mean and biased variance of every channel over batch and pixels, and the step of the buffers
/// towards them. The variance of a single value is 0, and so is what its unbiased one is taken for.
template <class T>
void batch_norm_statistics(const BatchNormSpec& spec, std::span<const T> input,
                           const BatchNormStatistics<ParameterOf<T>>& statistics,
                           const RunningStatistics<ParameterOf<T>>& running) {
  using Parameter = ParameterOf<T>;
  const Images x(input, spec.input);
  const auto count = static_cast<double>(spec.input.batch * spec.input.pixels());
  const double unbiased = count > 1 ? count / (count - 1) : 1.0;
  for (Size channel = 0; channel < spec.input.channels; ++channel) {
    const auto sum_of = [&](auto term) {
      double sum = 0;
      for (Size sample = 0; sample < spec.input.batch; ++sample)
        for (const T& value : x.plane(sample, channel)) sum += term(widened(value));
      return sum;
    };
    const double mean = sum_of([](double value) { return value; }) / count;
    const double variance =
        sum_of([&](double value) { return (value - mean) * (value - mean); }) / count;
    const auto c = static_cast<std::size_t>(channel);
    const auto move = [](Parameter& kept, double towards) {
      kept = narrowed<Parameter>((1 - kBatchNormMomentum) * kept + kBatchNormMomentum * towards);
    };
    statistics.mean[c] = narrowed<Parameter>(mean);
    statistics.inverse_deviation[c] =
        narrowed<Parameter>(1 / std::sqrt(variance + kBatchNormEpsilon));
    move(running.mean[c], mean);
    move(running.variance[c], variance * unbiased);
  }
}

/// The statistics of a trained model: its buffers.
template <class U>
void statistics_of_buffers(const RunningStatistics<const U>& running,
                           const BatchNormStatistics<U>& statistics) {
  for (std::size_t channel = 0; channel < running.mean.size(); ++channel) {
    statistics.mean[channel] = running.mean[channel];
    statistics.inverse_deviation[channel] =
        narrowed<U>(1 / std::sqrt(running.variance[channel] + kBatchNormEpsilon));
  }
}

/// `second` is empty unless spec.add.
template <class T>
void batch_norm_forward(const BatchNormSpec& spec, std::span<const T> input,
                        std::span<const T> second,
                        const BatchNormParameters<const ParameterOf<T>>& parameters,
                        const BatchNormStatistics<const ParameterOf<T>>& statistics,
                        std::span<T> output) {
  const auto pixels = static_cast<std::size_t>(spec.input.pixels());
  const auto channels = static_cast<std::size_t>(spec.input.channels);
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::size_t channel = i / pixels % channels;
    const double normal = (widened(input[i]) - statistics.mean[channel]) *
                          double{statistics.inverse_deviation[channel]};
    double value = parameters.weight[channel] * normal + parameters.bias[channel];
    if (spec.add) value += widened(second[i]);
    output[i] = narrowed<T>(spec.relu ? rectify(value) : value);
  }
}

/// The results of `batch_norm_backward`; shapes of weight, bias and the two inputs.
template <class T>
struct BatchNormGradients {
  std::span<ParameterOf<T>> weight;
  std::span<ParameterOf<T>> bias;
  std::span<T> input;                         ///< empty where nobody needs it
  std::span<T> second;                        ///< empty where nobody needs it
  GradientMode mode = GradientMode::replace;  ///< of weight and bias
};

/// What batch_norm_backward reads. `output` is what forward wrote: it says where the rectifier was
/// open.
template <class T>
struct BatchNormBackward {
  std::span<const T> input;
  std::span<const ParameterOf<T>> weight;
  BatchNormStatistics<const ParameterOf<T>> statistics;
  std::span<const T> output;
  std::vector<std::span<const T>> output_gradients;  ///< one or two, whose sum counts
};

/// With g the gradient before the rectifier and n values a channel (Ioffe and Szegedy 2015,
/// "Batch Normalization", section 3): dβ = Σg, dγ = Σg·x̂,
/// dx = γ/√(variance + ε) · (g - dβ/n - x̂·dγ/n).
template <class T>
void batch_norm_backward(const BatchNormSpec& spec, const BatchNormBackward<T>& from,
                         const BatchNormGradients<T>& gradients) {
  const auto pixels = static_cast<std::size_t>(spec.input.pixels());
  const auto channels = static_cast<std::size_t>(spec.input.channels);
  const auto count = static_cast<double>(spec.input.batch * spec.input.pixels());
  const auto gradient_at = [&](std::size_t i) {
    double sum = 0;
    for (const std::span<const T> term : from.output_gradients) sum += widened(term[i]);
    return spec.relu ? rectify_gradient(widened(from.output[i]), sum) : sum;
  };
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const double inverse = from.statistics.inverse_deviation[channel];
    const auto normal_at = [&](std::size_t i) {
      return (widened(from.input[i]) - from.statistics.mean[channel]) * inverse;
    };
    const auto for_each_element = [&](auto use) {
      for (std::size_t plane = channel; plane * pixels < from.input.size(); plane += channels)
        for (std::size_t i = plane * pixels; i < (plane + 1) * pixels; ++i) use(i);
    };
    double sum = 0;
    double product = 0;
    for_each_element([&](std::size_t i) {
      sum += gradient_at(i);
      product += gradient_at(i) * normal_at(i);
    });
    put_gradient(gradients.mode, sum, gradients.bias[channel]);
    put_gradient(gradients.mode, product, gradients.weight[channel]);
    const double scale = from.weight[channel] * inverse;
    for_each_element([&](std::size_t i) {
      const double gradient = gradient_at(i);
      if (!gradients.second.empty()) gradients.second[i] = narrowed<T>(gradient);
      if (!gradients.input.empty())
        gradients.input[i] =
            narrowed<T>(scale * (gradient - sum / count - normal_at(i) * product / count));
    });
  }
}

}  // namespace ptbench::reference
