#include "app/session/sweep_by_processes.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/base/log.h"

namespace ptbench {

SweepSurroundings sweep_by_processes(
    const SessionSurroundings& around,
    std::function<void(std::size_t side, const ResultFile& result)> save,
    std::function<double(double rounds)> share_of) {
  return {
      .make_session = [&around](const SessionSetup& setup) { return open_session(setup, around); },
      .interrupted = [&around] { return around.interrupt.requested(); },
      .save = std::move(save),
      .warn =
          [&around](const std::string& message) {
            around.progress.clear();
            log_warning(printable(message));
          },
      .clock = around.clock,
      .prior = around.prior,
      .show =
          [&around, shown = std::string()](const std::string& phase, double share) mutable {
            if (phase != shown) around.progress.announce(phase);
            shown = phase;
            const auto left = around.whole == nullptr ? std::nullopt : around.whole->seconds_left();
            if (left)
              around.progress.show_all(around.whole->share(), *left);
            else
              around.progress.update(share);
          },
      .reach =
          [&around, share_of = std::move(share_of)](double rounds, const std::string& place) {
            if (around.whole != nullptr) around.whole->reach(share_of(rounds), place);
          }};
}

}  // namespace ptbench
