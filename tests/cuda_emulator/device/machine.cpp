#include "tests/cuda_emulator/device/machine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_emulator/device/address_sanitizer.h"
#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/device/settings.h"

namespace ptbench::emulator {
namespace {

std::atomic<bool>& was_made() {
  static std::atomic<bool> made = false;
  return made;
}

void handle_fault(int /*signal*/, siginfo_t* info, void* /*context*/) {
  machine().explain_fault(info->si_addr);
  std::signal(SIGSEGV, SIG_DFL);  // not the emulation's: the access is tried again and kills
}

void catch_faults() {
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = &handle_fault;
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace

Machine::Machine()
    : devices_(settings().devices),
      memory_(devices_, settings().memory_bytes - settings().taken_bytes),
      scheduler_(settings().streams,
                 {.before_work = [this] { memory_.open(); },
                  .after = [this] { memory_.close(); },
                  .idle =
                      [this] {
                        memory_.close();
                        mutex_.pause();
                      },
                  .on_device = [this](int device) { use_variables_of(device); }}),
      streams_(devices_, scheduler_),
      grid_(settings().threads),
      kernels_(settings().kernels) {
  if (kernels_.checks()) marks_ = std::make_unique<Marks>(memory_, scheduler_);
  for (int device = 0; device < devices_; ++device)
    for (const auto& [name, variable] : kernels_.variables()) {
      const auto* at = static_cast<const U8*>(variable->address);
      variables_[device][name].assign(at, at + variable->bytes);
      if (marks_) marks_->add_region(device, at, variable->bytes);
    }
  catch_faults();
}

void MachineLock::pause() {
  constexpr auto kPause = std::chrono::microseconds(100);
  const int depth = std::exchange(depth_, 0);
  for (int level = 0; level < depth; ++level) mutex_.unlock();
  std::this_thread::sleep_for(kPause);
  for (int level = 0; level < depth; ++level) lock();
}

void Machine::use_variables_of(int device) {
  const int before = std::exchange(running_device_, device);
  if (before == device) return;
  auto& kept = variables_[before];
  for (const auto& [name, variable] : kernels_.variables()) {
    auto* at = static_cast<U8*>(variable->address);
    kept[name].assign(at, at + variable->bytes);
    const std::vector<U8>& now = variables_.at(device).at(name);
    std::memcpy(at, now.data(), now.size());
  }
  if (marks_) marks_->use_regions_of(device);
}

bool Machine::may_run(const std::string& kernel) {
  const std::string& breaking = settings().breaking_kernel;
  if (!breaking.empty() && kernel.find(breaking) != std::string::npos)
    is_broken_ = is_broken_ || ++launches_ == settings().breaking_launch;
  return !is_broken_;
}

bool Machine::must_fail(const std::string& call) {
  return call == settings().failing_call && ++calls_ == settings().failing_number;
}

void Machine::explain_fault(const void* address) {
  const Operation* running = scheduler_.running();
  if (running == nullptr) {
    if (memory_.spans(address))
      report(text("host access: the host touches ", memory_.describe(address)));
    return;
  }
  const auto* byte = static_cast<const U8*>(address);
  if (byte >= grid_.shared_window() && byte < grid_.shared_window() + (U64{1} << 32U))
    report(text("out of bounds: ", running->what, ": touches shared memory at ",
                byte - grid_.shared_window()));
  report(text("out of bounds: ", running->what, ": touches ", memory_.describe(address)));
}

void Machine::tell_traffic() const {
  if (settings().counts && marks_) marks_->traffic().tell(scheduler_);
}

void Machine::report_leaks() {
  constexpr std::size_t kListed = 10;
  std::vector<std::string> leaks;
  for (const auto& [at, allocation] : memory_.table().all())
    leaks.push_back(text(allocation.bytes, " bytes of device ", allocation.device, " (allocation ",
                         allocation.number, ")"));
  for (const auto& [at, allocation] : page_locked_.allocated().all())
    leaks.push_back(text(allocation.bytes, " bytes of page-locked memory (allocation ",
                         allocation.number, ")"));
  if (streams_.created() != 0) leaks.push_back(text("streams: ", streams_.created()));
  if (!events_.empty()) leaks.push_back(text("events: ", events_.size()));
  if (graphs_ != 0) leaks.push_back(text("graphs: ", graphs_));
  if (leaks.empty()) return;
  std::string list;
  for (std::size_t index = 0; index < std::min(kListed, leaks.size()); ++index)
    list += "\n  " + leaks[index];
  if (leaks.size() > kListed) list += text("\n  and ", leaks.size() - kListed, " more");
  report("leak: at the end of the process there are still" + list);
}

Machine& machine() {
  static auto* const only = new Machine;  // outlives all that is destroyed at the end
  was_made() = true;
  return *only;
}

bool has_machine() { return was_made(); }

}  // namespace ptbench::emulator
