#include "strategies/replica_devices.h"

#include <functional>

#include "kernels/cpu/cpu_backend.h"
#include "src/base/error.h"
#include "src/device/device.h"
#include "src/device/driver_thread.h"

namespace ptbench {

/// A device whose team belongs to the driver, who therefore makes and destroys it.
class ReplicaDevices::Seat {
 public:
  Seat(const Topology& topology, int threads, int first_core, DriverThread::Waiting waiting)
      : driver_(waiting) {
    run([&] {
      auto device = std::make_unique<CpuDevice>(topology, threads, first_core);
      backend_ = std::make_unique<CpuBackend>(*device);
      device_ = std::move(device);
    });
  }
  ~Seat() {
    run([this] {
      backend_.reset();
      device_.reset();
    });
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  [[nodiscard]] DrivenReplica build(const Graph& graph, const Lowering& lowering,
                                    const ProgramPlan& plan) {
    DrivenReplica replica{.program = nullptr, .driver = &driver_, .team = &device_->team()};
    run([&] {
      auto own = std::make_shared<const ProgramPlan>(graph, lowering, *backend_, plan.choices());
      ensure(own->hash() == plan.hash(), "replicas are planned alike");
      replica.program =
          std::make_unique<Program>(std::move(own), device_->memory(), device_->memory());
    });
    return replica;
  }

  [[nodiscard]] DriverThread& driver() { return driver_; }
  /// Begins `job`, which outlives it, on each member of the team.
  void start_on_team(const FunctionRef<void()>& job) {
    team_job_.job = &job;
    team_job_.team = &device_->team();
    driver_.start(team_job_);
  }
  [[nodiscard]] const std::vector<int>& cpus() const { return device_->team().cpus(); }

  /// The process's own time is counted by replica 0's team.
  [[nodiscard]] TeamConditions look() {
    TeamConditions conditions;
    run([&] { conditions = look_at(device_->team()); });
    conditions.cpu_seconds = 0;
    return conditions;
  }

 private:
  void run(DriverThread::Job job) {
    driver_.start(job);
    driver_.wait();
  }

  struct TeamJob {
    const FunctionRef<void()>* job = nullptr;
    Team* team = nullptr;
    void operator()() const {
      team->run([this](int) { (*job)(); });
    }
  };

  DriverThread driver_;
  TeamJob team_job_;  ///< that was begun last
  std::unique_ptr<CpuDevice> device_;
  std::unique_ptr<CpuBackend> backend_;
};

ReplicaDevices::ReplicaDevices(const Topology& topology, int threads, Size replicas)
    : shares_cores_(threads * replicas > static_cast<Size>(topology.cores.size())) {
  const auto waiting = shares_cores_ ? DriverThread::Waiting::sleep : DriverThread::Waiting::spin;
  for (int replica = 1; replica < static_cast<int>(replicas); ++replica)
    seats_.push_back(std::make_unique<Seat>(topology, threads, threads * replica, waiting));
}

ReplicaDevices::~ReplicaDevices() = default;

std::vector<DrivenReplica> ReplicaDevices::build(const Graph& graph, const Lowering& lowering,
                                                 const ProgramPlan& plan) {
  std::vector<DrivenReplica> built;
  for (const auto& seat : seats_) built.push_back(seat->build(graph, lowering, plan));
  return built;
}

void ReplicaDevices::run_on_all(Team& first, FunctionRef<void()> job) {
  for (const auto& seat : seats_) seat->start_on_team(job);
  first.run([&](int) { job(); });
  for (const auto& seat : seats_) seat->driver().wait();
}

std::vector<int> ReplicaDevices::cpus() const {
  std::vector<int> all;
  for (const auto& seat : seats_) all.insert(all.end(), seat->cpus().begin(), seat->cpus().end());
  return all;
}

std::vector<TeamConditions> ReplicaDevices::look() {
  std::vector<TeamConditions> all;
  for (const auto& seat : seats_) all.push_back(seat->look());
  if (shares_cores_ || all.empty()) return all;
  all.push_back({.has_latency = true,
                 .latency = latency_between(),
                 .frequency_hertz = all.back().frequency_hertz});
  return all;
}

/// Of the replicas' first cores.
CoreLatency ReplicaDevices::latency_between() {
  LatencyRing ring(static_cast<int>(replicas()));
  std::vector<std::function<void()>> parts;
  for (int position = 1; position < static_cast<int>(replicas()); ++position)
    parts.emplace_back([&ring, position] { ring.take_part(position); });
  for (std::size_t i = 0; i < seats_.size(); ++i) seats_[i]->driver().start(parts[i]);
  ring.take_part(0);
  for (const auto& seat : seats_) seat->driver().wait();
  return ring.worst();
}

}  // namespace ptbench
