#include "src/comm/library/surrender_watch.h"

#include <chrono>
#include <utility>

#include "src/device/affinity.h"

namespace ptbench {
namespace {

/// How long it takes at most to learn that a rank gave up.
constexpr std::chrono::milliseconds kLook{20};
/// After so many looks without a new wait the thread sleeps until there is one.
constexpr int kIdleLooks = 50;

}  // namespace

SurrenderWatch::SurrenderWatch(SharedRegion region, const cpu_set_t& cpus)
    : region_(std::move(region)), cpus_(cpus) {}

SurrenderWatch::~SurrenderWatch() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SurrenderWatch::begin(GroupLibrary& library) {
  const std::scoped_lock lock(mutex_);
  library_ = &library;
  ++waits_;
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  if (is_asleep_) changed_.notify_all();
}

void SurrenderWatch::end() noexcept {
  const std::scoped_lock lock(mutex_);
  library_ = nullptr;
}

void SurrenderWatch::watch() {
  spread_this_thread(cpus_);
  std::unique_lock lock(mutex_);
  std::uint64_t seen = 0;
  for (int idle = 0; !is_stopping_;) {
    if (library_ != nullptr && region_.given_up()) library_->abort();
    idle = library_ == nullptr && waits_ == seen ? idle + 1 : 0;
    seen = waits_;
    is_asleep_ = idle >= kIdleLooks;
    const auto has_work = [&] { return is_stopping_ || (is_asleep_ && waits_ != seen); };
    if (is_asleep_)
      changed_.wait(lock, has_work);
    else
      changed_.wait_for(lock, kLook, has_work);
    is_asleep_ = false;
  }
}

}  // namespace ptbench
