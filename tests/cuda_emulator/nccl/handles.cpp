#include "tests/cuda_emulator/nccl/handles.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator::nccl {

ncclComm_t Handles::add(std::shared_ptr<Communicator> communicator) {
  const std::lock_guard lock(mutex_);
  all_.push_back(std::make_unique<ncclComm>(std::move(communicator)));
  live_.insert(all_.back().get());
  return all_.back().get();
}

std::shared_ptr<Communicator> Handles::find(ncclComm_t handle, const char* call) {
  if (handle == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!live_.contains(handle))
    ptbench_emulator_report(
        text("use after destroy: ", call, " of a communicator that does not exist").c_str());
  return handle->communicator;
}

void Handles::remove(ncclComm_t handle, bool may_remain) {
  const std::lock_guard lock(mutex_);
  const std::size_t left = std::erase_if(
      registrations_, [=](const auto& registration) { return registration.second == handle; });
  if (left != 0 && !may_remain)
    ptbench_emulator_report(
        text("leak: a communicator is destroyed with ", left, " buffers registered").c_str());
  live_.erase(handle);
  handle->communicator = nullptr;
}

void* Handles::add_registration(ncclComm_t handle) {
  const std::lock_guard lock(mutex_);
  void* registration = reinterpret_cast<void*>(++last_registration_);
  registrations_.emplace(registration, handle);
  return registration;
}

bool Handles::remove_registration(ncclComm_t handle, void* registration) {
  const std::lock_guard lock(mutex_);
  const auto found = registrations_.find(registration);
  if (found == registrations_.end() || found->second != handle) return false;
  registrations_.erase(found);
  return true;
}

void Handles::start_progress() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { progress(); });
}

void Handles::progress() {
  constexpr auto kPatience = std::chrono::milliseconds(10);
  bool was_pending = false;
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kPatience, [this] { return stops_; })) {
    const bool is_pending = std::ranges::any_of(
        live_, [](const ncclComm* handle) { return handle->communicator->is_pending(); });
    lock.unlock();
    constexpr int kSteps = 64;
    if (is_pending && was_pending)
      for (int step = 0; step < kSteps; ++step) ptbench_emulator_advance();
    was_pending = is_pending;
    lock.lock();
  }
}

void Handles::stop_progress() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Handles::report_leaks() {
  const std::lock_guard lock(mutex_);
  if (!live_.empty())
    ptbench_emulator_report(
        text("leak: at the end of the process there are still\n  communicators: ", live_.size())
            .c_str());
}

Handles& handles() {
  static auto* const only = new Handles;  // outlives all that is destroyed at the end
  return *only;
}

}  // namespace ptbench::emulator::nccl
