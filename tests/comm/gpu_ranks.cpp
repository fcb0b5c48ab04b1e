#include "tests/comm/gpu_ranks.h"

#include <fmt/format.h>

#include <utility>

#include "src/comm/nccl_module.h"
#include "src/comm/shm/shared_region.h"
#include "src/device/driver_thread.h"
#include "tests/comm/host_values.h"
#include "tests/comm/meeting.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {

/// A GPU, with the thread that it belongs to.
class GpuRanks::Driven {
 public:
  explicit Driven(Size rank) {
    run([&] { site_ = open_cuda_site(fmt::format("cuda:{}", rank)); });
  }
  ~Driven() {
    run([this] { site_ = Site(); });
  }
  Driven(const Driven&) = delete;
  Driven& operator=(const Driven&) = delete;

  [[nodiscard]] const Site& site() const { return site_; }
  /// `job` outlives it.
  void start(const std::function<void()>& job) { driver_.start(job); }
  void wait() { driver_.wait(); }

 private:
  void run(const std::function<void()>& job) {
    start(job);
    wait();
  }

  DriverThread driver_{DriverThread::Waiting::sleep};
  Site site_;
};

GpuRanks::GpuRanks() = default;
GpuRanks::~GpuRanks() = default;

std::vector<std::exception_ptr> GpuRanks::failures_on_devices(
    Size world_size, const std::function<void(GpuRank)>& body) {
  while (std::ssize(driven_) < world_size)
    driven_.push_back(std::make_unique<Driven>(std::ssize(driven_)));
  const SharedRegion region = SharedRegion::create(world_size, Bytes{1} << 20U);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(world_size));
  std::vector<std::function<void()>> jobs;
  for (std::size_t rank = 0; rank < thrown.size(); ++rank)
    jobs.emplace_back([&, rank] {
      try {
        const Site& site = driven_[rank]->site();
        Device& device = *site.device;
        RankCommunicators made = make_nccl({.memory = device.memory(),
                                            .region = &region,
                                            .rank = static_cast<Size>(rank),
                                            .device = &device,
                                            .timeout = kTimeout},
                                           PTBENCH_BUILT_MODULES);
        ControlChannel control(std::move(made.control));
        body({.device = device,
              .backend = *site.backend,
              .communicator = *made.data,
              .control = control});
      } catch (...) {
        thrown[rank] = std::current_exception();
      }
    });
  for (std::size_t rank = 0; rank < thrown.size(); ++rank) driven_[rank]->start(jobs[rank]);
  for (std::size_t rank = 0; rank < thrown.size(); ++rank) driven_[rank]->wait();
  return thrown;
}

std::vector<std::exception_ptr> GpuRanks::failures(Size world_size,
                                                   const std::function<void(Communicator&)>& body) {
  return failures_on_devices(world_size, [&](GpuRank rank) {
    HostValues values(rank.communicator, rank.device);
    body(values);
  });
}

}  // namespace ptbench::testing
