#include <sched.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "src/base/error.h"
#include "src/data/batch_loader.h"
#include "src/data/dataset.h"
#include "src/device/cpu_device.h"

using namespace ptbench;

namespace {

/// Sample i holds i, i + 1/elements, i + 2/elements, …; its label is i mod 100.
Dataset counting_dataset(Size samples, Size elements) {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  for (Size i = 0; i < samples; ++i) {
    for (Size e = 0; e < elements; ++e)
      values.push_back(static_cast<float>(i) +
                       static_cast<float>(e) / static_cast<float>(elements));
    labels.push_back(static_cast<std::int32_t>(i % 100));
  }
  return {{elements}, std::move(values), std::move(labels)};
}

}  // namespace

TEST_CASE("gather copies samples and labels in the order asked for", "[data]") {
  const Dataset dataset = counting_dataset(10, 4);
  const std::vector<Size> indices{7, 0, 7};
  std::vector<float> inputs(12);
  std::vector<std::int32_t> labels(3);
  dataset.gather(indices, inputs, labels);
  CHECK(labels == std::vector<std::int32_t>{7, 0, 7});
  CHECK(inputs ==
        std::vector<float>{7, 7.25F, 7.5F, 7.75F, 0, 0.25F, 0.5F, 0.75F, 7, 7.25F, 7.5F, 7.75F});
  CHECK_NOTHROW(dataset.gather({}, {}, {}));
}

TEST_CASE("bytes are gathered as if they had been normalised before", "[data]") {
  // 2 channels of 128 pixels; all levels in both.
  std::vector<std::uint8_t> pixels(512);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i % 256);
  std::ranges::rotate(pixels, pixels.begin() + 77);
  const ChannelStatistics statistics{.mean = {0.4914, 0.1}, .standard_deviation = {0.247, 0.03}};
  const Dataset dataset({2, 16, 8}, pixels, statistics, {5, 6});
  CHECK(dataset.sample_bytes() == 512);
  const std::vector<Size> indices{1, 0};
  std::vector<float> inputs(512);
  std::vector<std::int32_t> labels(2);
  dataset.gather(indices, inputs, labels);
  CHECK(labels == std::vector<std::int32_t>{6, 5});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t channel = i / 128 % 2;
    const double x = pixels[(i + 256) % 512] / 255.0;
    CHECK(inputs[i] == static_cast<float>((x - statistics.mean[channel]) /
                                          statistics.standard_deviation[channel]));
  }
  CHECK_THROWS_AS(Dataset({2, 16, 8}, pixels, statistics, {5}), Defect);
  CHECK_THROWS_AS(Dataset({2, 16, 8}, pixels, {}, {5, 6}), Defect);
  CHECK_THROWS_AS(Dataset({2, 16, 8}, pixels, {.mean = {0}, .standard_deviation = {0}}, {5, 6}),
                  Defect);
}

TEST_CASE("gather refuses what does not fit", "[data]") {
  const Dataset dataset = counting_dataset(10, 4);
  std::vector<float> inputs(4);
  std::vector<std::int32_t> labels(1);
  const auto gather = [&](Size index) { dataset.gather(std::vector<Size>{index}, inputs, labels); };
  CHECK_NOTHROW(gather(9));
  CHECK_THROWS_AS(gather(10), Defect);
  CHECK_THROWS_AS(gather(-1), Defect);
  inputs.resize(5);
  CHECK_THROWS_AS(gather(0), Defect);
  inputs.resize(4);
  labels.resize(2);
  CHECK_THROWS_AS(gather(0), Defect);
  CHECK_THROWS_AS(Dataset({4}, std::vector<float>(7), std::vector<std::int32_t>(2)), Defect);
}

TEST_CASE("the loader delivers what the sampler says", "[data]") {
  const Dataset dataset = counting_dataset(50, 3);
  const BatchShape shape{.micro_batch = 8, .accumulation_steps = 2, .replicas = 2, .replica = 1};
  Sampler expected(dataset.size(), shape, true, 9);
  std::vector<float> inputs(24);
  std::vector<std::int32_t> labels(8);
  BatchLoader loader(dataset, Sampler(dataset.size(), shape, true, 9));
  CHECK(loader.sampler().samples_left_out() == 18);
  for (int step = 0; step < 10; ++step) {
    CHECK(loader.sampler().epoch() == expected.epoch());
    const auto indices = expected.next();
    loader.next({.inputs = inputs, .labels = labels});
    for (std::size_t i = 0; i < labels.size(); ++i) {
      CHECK(labels[i] == indices[i]);
      CHECK(inputs[3 * i] == static_cast<float>(indices[i]));
    }
  }
}

TEST_CASE("the loader refuses room that does not fit the micro-batch", "[data]") {
  const Dataset dataset = counting_dataset(50, 3);
  std::vector<float> inputs(24);
  std::vector<std::byte> narrow(48);
  std::vector<std::int32_t> labels(8);
  BatchLoader loader(dataset, Sampler(50, {.micro_batch = 8}, true, 0));
  CHECK_NOTHROW(loader.next({.inputs = inputs, .labels = labels}));
  CHECK_THROWS_AS(loader.next({.inputs = {narrow, ElementType::bf16}, .labels = labels}), Defect);
  inputs.resize(23);
  CHECK_THROWS_AS(loader.next({.inputs = inputs, .labels = labels}), Defect);
}

TEST_CASE("a team loads the same batches as one thread", "[data]") {
  const int cpu = sched_getcpu();
  REQUIRE(cpu >= 0);
  CpuDevice device(discover_topology(), {cpu, cpu, cpu});
  const Dataset dataset = counting_dataset(200, 1000);
  // 1 and 64 samples: small enough for one thread, and large enough to be shared.
  for (const Size micro_batch : {Size{1}, Size{64}, Size{65}}) {
    const auto samples = static_cast<std::size_t>(micro_batch);
    std::vector<float> inputs(samples * 1000);
    std::vector<float> alone_inputs(inputs.size());
    std::vector<std::int32_t> labels(samples);
    std::vector<std::int32_t> alone_labels(samples);
    const Sampler sampler(dataset.size(), {.micro_batch = micro_batch}, true, 1);
    BatchLoader loader(dataset, sampler, {.device = &device});
    BatchLoader alone(dataset, sampler);
    for (int step = 0; step < 7; ++step) {
      loader.next({.inputs = inputs, .labels = labels});
      alone.next({.inputs = alone_inputs, .labels = alone_labels});
      CHECK(inputs == alone_inputs);
      CHECK(labels == alone_labels);
    }
  }
}
