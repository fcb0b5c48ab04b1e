#include "src/data/gather_threads.h"

#include <cstddef>
#include <system_error>
#include <utility>

#include "src/base/error.h"

namespace ptbench {

GatherThreads::GatherThreads(int threads) {
  ensure(threads >= 1, "the caller gathers too");
  failures_.resize(static_cast<std::size_t>(threads));
  helpers_.reserve(failures_.size() - 1);
  try {
    for (int part = 1; part < threads; ++part) helpers_.emplace_back([this, part] { help(part); });
  } catch (const std::system_error&) {
    return;  // those that there are do it all, only later
  }
}

GatherThreads::~GatherThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void GatherThreads::run(Job job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    working_ = size() - 1;
    ++jobs_;
  }
  begun_.notify_all();
  do_part(job, 0);
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return working_ == 0; });
  }
  std::exception_ptr first;
  for (std::exception_ptr& failure : failures_) {
    std::exception_ptr thrown = std::exchange(failure, nullptr);
    if (thrown != nullptr && first == nullptr) first = std::move(thrown);
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void GatherThreads::help(int part) {
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return stopping_ || jobs_ != done; });
    if (stopping_) return;
    done = jobs_;
    const Job* const job = job_;
    lock.unlock();
    do_part(*job, part);
    lock.lock();
    if (--working_ == 0) ended_.notify_one();
  }
}

void GatherThreads::do_part(const Job& job, int part) {
  try {
    job(part);
  } catch (...) {
    failures_[static_cast<std::size_t>(part)] = std::current_exception();
  }
}

}  // namespace ptbench
