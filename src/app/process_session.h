#pragma once

#include <optional>
#include <string>
#include <utility>

#include "src/app/run_session.h"
#include "src/app/sweep.h"

namespace ptbench {

/// A sweep's session that measures in processes.
class ProcessSession final : public SweepSession {
 public:
  ProcessSession(const SessionSetup& setup, const SessionSurroundings& around)
      : session_(setup, around) {}

  [[nodiscard]] bool prepare() override { return session_.prepare(); }
  [[nodiscard]] bool repeat(const std::string& label) override { return session_.repeat(label); }
  [[nodiscard]] TurnsBegin begin_turns(const std::string& label) override {
    return session_.begin_turns(label);
  }
  [[nodiscard]] bool take_turn(const Turn& turn) override { return session_.take_turn(turn); }
  [[nodiscard]] bool end_turns(const std::string& set) override { return session_.end_turns(set); }
  void abandon_turns() override { session_.abandon_turns(); }
  void resume(RunRecord earlier) override { session_.resume(std::move(earlier)); }
  [[nodiscard]] RunRecord record() const override { return session_.record(); }
  [[nodiscard]] const std::optional<ResultFile>& origin() const override {
    return session_.origin();
  }
  [[nodiscard]] const std::optional<Error>& refusal() const override { return session_.refusal(); }

 private:
  RunSession session_;
};

}  // namespace ptbench
