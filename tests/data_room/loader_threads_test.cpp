#include <sched.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/data/batch_loader.h"
#include "src/device/cpu_device.h"

using namespace ptbench;
using namespace std::chrono_literals;

namespace {

/// Sample i of 5 elements holds 8·i + element, its label is i. Gathering the sample `bad` throws.
class Counting : public SampleSource {
 public:
  explicit Counting(Size bad = -1) : bad_(bad) {}

  [[nodiscard]] const Shape& sample_shape() const override { return shape_; }

  void gather(std::span<const Size> indices, SampleValues values,
              std::span<std::int32_t> labels) const override {
    ++gathers_;
    const std::span<float> inputs = values.as<float>();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == bad_) throw usage_error("this sample is bad", "leave it out");
      labels[i] = static_cast<std::int32_t>(indices[i]);
      for (std::size_t e = 0; e < 5; ++e)
        inputs[5 * i + e] = static_cast<float>(8 * indices[i] + static_cast<Size>(e));
    }
  }

  [[nodiscard]] int gathers() const { return gathers_; }

 private:
  Shape shape_{5};
  Size bad_;
  mutable std::atomic<int> gathers_{0};
};

/// Gathers nothing before it is opened.
class Gate : public Counting {
 public:
  void gather(std::span<const Size> indices, SampleValues inputs,
              std::span<std::int32_t> labels) const override {
    {
      std::unique_lock lock(mutex_);
      opened_.wait(lock, [&] { return open_; });
    }
    Counting::gather(indices, inputs, labels);
  }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable opened_;
  bool open_ = false;
};

/// A loader with buffers of its own.
class Loading {
 public:
  Loading(const SampleSource& source, const BatchShape& shape, bool shuffle, int workers,
          std::chrono::milliseconds deadline = 60s, Device* device = nullptr)
      : inputs_(static_cast<std::size_t>(shape.micro_batch * 5)),
        labels_(static_cast<std::size_t>(shape.micro_batch)),
        loader_(source, Sampler(103, shape, shuffle, 3),
                {.device = device, .workers = workers, .deadline = deadline}) {}

  [[nodiscard]] const Sampler& sampler() const { return loader_.sampler(); }
  void next() { loader_.next({.inputs = inputs_, .labels = labels_}); }
  [[nodiscard]] const std::vector<float>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<std::int32_t>& labels() const { return labels_; }

 private:
  std::vector<float> inputs_;
  std::vector<std::int32_t> labels_;
  BatchLoader loader_;
};

void check_same_batches(const SampleSource& source, const BatchShape& shape, bool shuffle,
                        int workers, Device* device = nullptr) {
  Loading expected(source, shape, shuffle, 0);
  Loading threaded(source, shape, shuffle, workers, 60s, device);
  CHECK(threaded.sampler().samples_left_out() == expected.sampler().samples_left_out());
  for (int step = 0; step < 60; ++step) {
    REQUIRE(threaded.sampler().epoch() == expected.sampler().epoch());
    expected.next();
    threaded.next();
    REQUIRE(threaded.inputs() == expected.inputs());
    REQUIRE(threaded.labels() == expected.labels());
  }
  CHECK(expected.sampler().epoch() > 0);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("loader threads deliver the same batches in the same order", "[data]") {
  const int workers = GENERATE(1, 2, 3, 7);
  const bool shuffle = GENERATE(true, false);
  const Counting source;
  check_same_batches(source, {.micro_batch = 4}, shuffle, workers);
  check_same_batches(source,
                     {.micro_batch = 3, .accumulation_steps = 3, .replicas = 2, .replica = 1},
                     shuffle, workers);
}

TEST_CASE("a team copies what loader threads gathered", "[data]") {
  const int cpu = sched_getcpu();
  REQUIRE(cpu >= 0);
  CpuDevice device(discover_topology(), {cpu, cpu, cpu});
  const Shape shape{30000};
  std::vector<std::uint8_t> pixels(std::size_t{30000} * 9);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(i * i % 251);
  const Dataset dataset(shape, std::move(pixels), {.mean = {0.5}, .standard_deviation = {0.3}},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8});
  for (const Size micro_batch : {Size{1}, Size{2}, Size{4}}) {
    const auto samples = static_cast<std::size_t>(micro_batch);
    std::vector<float> inputs(samples * 30000);
    std::vector<float> alone_inputs(inputs.size());
    std::vector<std::int32_t> labels(samples);
    std::vector<std::int32_t> alone_labels(samples);
    const Sampler sampler(9, {.micro_batch = micro_batch}, true, 1);
    BatchLoader loader(dataset, sampler, {.device = &device, .workers = 2});
    BatchLoader alone(dataset, sampler);
    for (int step = 0; step < 7; ++step) {
      loader.next({.inputs = inputs, .labels = labels});
      alone.next({.inputs = alone_inputs, .labels = alone_labels});
      CHECK(inputs == alone_inputs);
      CHECK(labels == alone_labels);
    }
  }
}

TEST_CASE("loader threads work ahead as far as the ring reaches", "[data]") {
  const int workers = GENERATE(1, 3);
  const Counting source;
  Loading loading(source, {.micro_batch = 2}, true, workers);
  const auto gathers = [&](int expected) {
    for (int wait = 0; wait < 5000 && source.gathers() < expected; ++wait)
      std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(10ms);
    return source.gathers();
  };
  CHECK(gathers(workers + 1) == workers + 1);
  loading.next();
  CHECK(gathers(workers + 2) == workers + 2);
}

TEST_CASE("what a loader thread throws comes out of next, behind the batches before it", "[data]") {
  const int workers = GENERATE(1, 2, 5);
  const Counting source(21);  // in index order, batches of 4: the sixth
  Loading loading(source, {.micro_batch = 4}, false, workers);
  for (std::int32_t step = 0; step < 5; ++step) {
    loading.next();
    CHECK(loading.labels().front() == 4 * step);
  }
  for (int again = 0; again < 3; ++again) {
    try {
      loading.next();
      FAIL("no error was thrown");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      CHECK(std::string(error.what()) == "this sample is bad");
      CHECK(error.remedy() == "leave it out");
    }
  }
  CHECK(loading.labels().front() == 16);
  CHECK(source.gathers() <= 6 + workers);
}

TEST_CASE("a loader whose threads failed can be left alone", "[data]") {
  const Counting source(0);
  const Loading loading(source, {.micro_batch = 1}, false, 3);
  std::this_thread::sleep_for(5ms);
}

TEST_CASE("buffers that do not fit the sampler are a defect with threads too", "[data]") {
  const Dataset dataset({1}, std::vector<float>(50), std::vector<std::int32_t>(50));
  std::vector<float> inputs(7);
  std::vector<std::int32_t> labels(7);
  BatchLoader loader(dataset, Sampler(50, {.micro_batch = 8}, true, 0), {.workers = 2});
  CHECK_THROWS_AS(loader.next({.inputs = inputs, .labels = labels}), Defect);
}

TEST_CASE("loader threads that deliver nothing are a run error after the deadline", "[data]") {
  Gate gate;
  Loading loading(gate, {.micro_batch = 4}, true, 2, 30ms);
  const auto begin = std::chrono::steady_clock::now();
  try {
    loading.next();
    FAIL("no error was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::failed);
    CHECK_THAT(error.what(), Catch::Contains("--data-workers 2") && Catch::Contains("30.0 ms"));
    CHECK_THAT(error.remedy(), Catch::Contains("--data-workers 0"));
  }
  CHECK(seconds_since(begin) >= 0.03);
  gate.open();
  CHECK_NOTHROW(loading.next());
}

TEST_CASE("loader threads end at once", "[data]") {
  const Counting source;
  for (const int workers : {1, 8}) {
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < 20; ++round) {
      Loading loading(source, {.micro_batch = 4}, true, workers);
      if (round % 2 == 0) loading.next();
    }
    CHECK(seconds_since(begin) / 20 < 0.1);
  }
}

TEST_CASE("loader threads may run on all of the team's processors", "[data]") {
  /// Notes where it is gathered.
  class Where : public Counting {
   public:
    void gather(std::span<const Size> indices, SampleValues inputs,
                std::span<std::int32_t> labels) const override {
      cpu_set_t set;
      CPU_ZERO(&set);
      if (sched_getaffinity(0, sizeof set, &set) == 0) processors_ = CPU_COUNT(&set);
      Counting::gather(indices, inputs, labels);
    }
    [[nodiscard]] int processors() const { return processors_; }

   private:
    mutable std::atomic<int> processors_{0};
  };
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu)
    if (CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) cpus.push_back(cpu);
  CpuDevice device(discover_topology(), cpus);
  const Where source;
  Loading loading(source, {.micro_batch = 4}, true, 1, 60s, &device);
  loading.next();
  CHECK(source.processors() == static_cast<int>(cpus.size()));
}
