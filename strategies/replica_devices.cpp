#include "strategies/replica_devices.h"

#include <functional>

#include "src/base/error.h"
#include "src/device/driver_thread.h"

namespace ptbench {

/// A site that belongs to its driver's thread, which therefore opens and closes it.
class ReplicaDevices::DrivenSite {
 public:
  DrivenSite(const SiteChoice& choice, const std::vector<SiteRow>& catalog,
             DriverThread::Waiting waiting)
      : driver_(waiting) {
    run([&] { site_ = open_site(choice, catalog); });
  }
  ~DrivenSite() {
    run([this] { site_ = Site(); });
  }
  DrivenSite(const DrivenSite&) = delete;
  DrivenSite& operator=(const DrivenSite&) = delete;

  [[nodiscard]] DrivenReplica build(const Graph& graph, const Lowering& lowering,
                                    const ProgramPlan& plan) {
    DrivenReplica replica{.program = nullptr, .driver = &driver_};
    run([&] {
      auto own =
          std::make_shared<const ProgramPlan>(graph, lowering, *site_.backend, plan.choices());
      ensure(own->hash() == plan.hash(), "replicas are planned alike");
      replica.program = std::make_unique<Program>(std::move(own), site_.device->memory());
    });
    return replica;
  }

  [[nodiscard]] DriverThread& driver() { return driver_; }
  /// Begins `job`, which outlives it, on each host thread of the device.
  void start_on_all_threads(const FunctionRef<void()>& job) {
    job_.job = &job;
    job_.device = site_.device.get();
    driver_.start(job_);
  }
  [[nodiscard]] std::span<const int> cpus() const { return site_.device->cpus(); }

  /// The process's own time is counted by replica 0's device.
  [[nodiscard]] DeviceConditions look() {
    DeviceConditions conditions;
    run([&] { conditions = site_.device->look(); });
    conditions.cpu_seconds = 0;
    return conditions;
  }

 private:
  void run(DriverThread::Job job) {
    driver_.start(job);
    driver_.wait();
  }

  struct JobOnAllThreads {
    const FunctionRef<void()>* job = nullptr;
    Device* device = nullptr;
    void operator()() const {
      device->run_on_host(device->host_threads(), [this](int) { (*job)(); });
    }
  };

  DriverThread driver_;
  JobOnAllThreads job_;  ///< that was begun last
  Site site_;
};

ReplicaDevices::ReplicaDevices(const SiteChoice& first, Size replicas,
                               const std::vector<SiteRow>& catalog,
                               std::span<const std::string> devices)
    : shares_cores_(first.threads * replicas > std::ssize(first.topology.cores)) {
  const auto waiting = shares_cores_ ? DriverThread::Waiting::sleep : DriverThread::Waiting::spin;
  SiteChoice choice = first;
  for (Size replica = 1; replica < replicas; ++replica) {
    choice.first_core += choice.threads;
    if (!devices.empty()) {
      choice.device = devices[static_cast<std::size_t>(replica)];
      choice.peers = {first.device};
    }
    driven_.push_back(std::make_unique<DrivenSite>(choice, catalog, waiting));
  }
}

ReplicaDevices::~ReplicaDevices() = default;

std::vector<DrivenReplica> ReplicaDevices::build(const Graph& graph, const Lowering& lowering,
                                                 const ProgramPlan& plan) {
  std::vector<DrivenReplica> built;
  for (const auto& site : driven_) built.push_back(site->build(graph, lowering, plan));
  return built;
}

void ReplicaDevices::run_on_all(Device& first, FunctionRef<void()> job) {
  for (const auto& site : driven_) site->start_on_all_threads(job);
  first.run_on_host(first.host_threads(), [&](int) { job(); });
  for (const auto& site : driven_) site->driver().wait();
}

std::vector<int> ReplicaDevices::cpus() const {
  std::vector<int> all;
  for (const auto& site : driven_) all.insert(all.end(), site->cpus().begin(), site->cpus().end());
  return all;
}

std::vector<DeviceConditions> ReplicaDevices::look() {
  std::vector<DeviceConditions> all;
  for (const auto& site : driven_) all.push_back(site->look());
  if (shares_cores_ || all.empty()) return all;
  all.push_back({.has_latency = true, .latency = latency_between()});
  return all;
}

/// Of the replicas' first cores.
CoreLatency ReplicaDevices::latency_between() {
  LatencyRing ring(static_cast<int>(replicas()));
  std::vector<std::function<void()>> parts;
  for (int position = 1; position < static_cast<int>(replicas()); ++position)
    parts.emplace_back([&ring, position] { ring.take_part(position); });
  for (std::size_t i = 0; i < driven_.size(); ++i) driven_[i]->driver().start(parts[i]);
  ring.take_part(0);
  for (const auto& site : driven_) site->driver().wait();
  return ring.worst();
}

}  // namespace ptbench
