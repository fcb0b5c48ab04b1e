#include "src/session/sweep_by_processes.h"

#include <memory>
#include <string>
#include <utility>

#include "src/base/log.h"

namespace ptbench {

SweepSurroundings sweep_by_processes(
    const SessionSurroundings& around,
    std::function<void(std::size_t side, const ResultFile& result)> save) {
  return {.make_session =
              [&around](const SessionSetup& setup) {
                return std::make_unique<RunSession>(setup, around);
              },
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
                around.progress.update(share);
              }};
}

}  // namespace ptbench
