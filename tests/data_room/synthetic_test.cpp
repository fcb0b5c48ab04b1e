#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "src/data/source.h"
#include "tests/data_room/data_files.h"

using namespace ptbench;
using test::usage_message;

namespace {

struct SyntheticSamples {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  friend bool operator==(const SyntheticSamples&, const SyntheticSamples&) = default;
};

SyntheticSamples first_samples(const Dataset& dataset, Size count) {
  std::vector<Size> indices(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<Size>(i);
  SyntheticSamples samples{
      std::vector<float>(static_cast<std::size_t>(count * dataset.sample_shape().elements())),
      std::vector<std::int32_t>(indices.size())};
  dataset.gather(indices, samples.values, samples.labels);
  return samples;
}

/// Mean input of each class: classes × elements.
std::vector<std::vector<double>> class_means(const SyntheticSamples& samples, std::size_t elements,
                                             std::size_t classes) {
  std::vector<std::vector<double>> means(classes, std::vector<double>(elements));
  std::vector<double> counts(classes);
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(samples.labels[i]);
    ++counts[label];
    for (std::size_t e = 0; e < elements; ++e) means[label][e] += samples.values[i * elements + e];
  }
  for (std::size_t label = 0; label < classes; ++label)
    for (double& mean : means[label]) mean /= counts[label];
  return means;
}

/// Share of the samples whose nearest class mean is their label's.
double nearest_mean_accuracy(const SyntheticSamples& samples, std::size_t elements,
                             std::size_t classes) {
  const auto means = class_means(samples, elements, classes);
  std::size_t right = 0;
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    std::vector<double> distances(classes);
    for (std::size_t label = 0; label < classes; ++label)
      for (std::size_t e = 0; e < elements; ++e)
        distances[label] += std::pow(samples.values[i * elements + e] - means[label][e], 2);
    const auto nearest = std::ranges::min_element(distances) - distances.begin();
    if (nearest == samples.labels[i]) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(samples.labels.size());
}

}  // namespace

TEST_CASE("synthetic data are a function of seed and index alone", "[data]") {
  const SyntheticSpec spec{.sample_shape = {3, 5, 7}, .classes = 10, .samples = 50, .seed = 4};
  const DataSource data = synthetic_data(spec);
  CHECK(data.source == "synthetic");
  CHECK(data.train.size() == 50);
  CHECK(data.train.sample_shape() == Shape{3, 5, 7});
  CHECK(data.test.size() == 0);
  CHECK(data.mean.empty());
  CHECK(data.standard_deviation.empty());

  const SyntheticSamples samples = first_samples(data.train, 50);
  CHECK(samples == first_samples(synthetic_data(spec).train, 50));
  SyntheticSpec more = spec;
  more.samples = 80;
  CHECK(samples == first_samples(synthetic_data(more).train, 50));
  SyntheticSpec other = spec;
  other.seed = 5;
  CHECK_FALSE(samples == first_samples(synthetic_data(other).train, 50));
}

TEST_CASE("synthetic inputs and labels have the distributions they claim", "[data]") {
  const DataSource data =
      synthetic_data({.sample_shape = {100}, .classes = 4, .samples = 4000, .seed = 1});
  const SyntheticSamples samples = first_samples(data.train, data.train.size());
  double sum = 0;
  double squares = 0;
  for (const float value : samples.values) {
    REQUIRE(std::isfinite(value));
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(samples.values.size());
  CHECK(std::abs(sum / count) < 0.1);
  CHECK(squares / count == Approx(1.25).epsilon(0.02));  // noise 1, pattern 0.5²
  for (std::int32_t label = 0; label < 4; ++label)
    CHECK(std::abs(static_cast<double>(std::ranges::count(samples.labels, label)) - 1000) < 120);
}

TEST_CASE("synthetic classes can be told apart", "[data]") {
  const DataSource wide =
      synthetic_data({.sample_shape = {784}, .classes = 10, .samples = 1000, .seed = 0});
  CHECK(nearest_mean_accuracy(first_samples(wide.train, 1000), 784, 10) > 0.99);
  const DataSource narrow =
      synthetic_data({.sample_shape = {10}, .classes = 2, .samples = 1000, .seed = 0});
  const double accuracy = nearest_mean_accuracy(first_samples(narrow.train, 1000), 10, 2);
  CHECK(accuracy > 0.7);
  CHECK(accuracy < 0.999);
}

TEST_CASE("synthetic data that cannot be are refused", "[data]") {
  const auto message = [](Size samples) {
    return usage_message([&] {
      (void)synthetic_data({.sample_shape = {784}, .classes = 10, .samples = samples, .seed = 0});
    });
  };
  CHECK_THAT(message(0), Catch::Contains("--samples"));
  CHECK_THAT(message(-5), Catch::Contains("--samples"));
  CHECK_THAT(message(Size{1} << 45), Catch::Contains("memory") && Catch::Contains("--samples"));
  CHECK_THAT(message(Size{1} << 62), Catch::Contains("memory"));
}

TEST_CASE("a label outside the classes is refused with its place", "[data]") {
  const auto source = [](std::vector<std::int32_t> train, std::vector<std::int32_t> test) {
    const auto make = [](std::vector<std::int32_t> labels) {
      std::vector<float> values(labels.size());
      return Dataset({1}, std::move(values), std::move(labels));
    };
    return DataSource{
        .source = "there", .train = make(std::move(train)), .test = make(std::move(test))};
  };
  CHECK_NOTHROW(check_labels(source({0, 1, 2}, {2, 1}), 3));
  CHECK_THAT(usage_message([&] { check_labels(source({0, 1, 3, 9}, {}), 3); }),
             Catch::Contains("label 3 of training sample 2 in 'there'"));
  CHECK_THAT(usage_message([&] { check_labels(source({0}, {0, -1}), 3); }),
             Catch::Contains("label -1 of test sample 1"));
}
