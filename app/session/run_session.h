#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/session/session_setup.h"
#include "app/session/sweep_session.h"
#include "src/base/error.h"
#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// One configuration, measured by fresh processes that plan from one choice of operators. What a
/// process did, a crash included, ends up in the record; what this one broke is thrown.
class RunSession final : public SweepSession {
 public:
  RunSession(SessionSetup setup, const SessionSurroundings& around);
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;
  /// Removes its temporary files.
  ~RunSession() override;

  /// Chooses operators and verifies, in a process of its own that is killed when it has said
  /// nothing for half an hour. False: the configuration failed, was interrupted, or has nothing to
  /// be measured, and the record says why.
  [[nodiscard]] bool prepare() override;
  /// Measures one repetition in a fresh process, after `prepare`. `label`, such as "repetition 3 of
  /// 5", stands before the progress that the process shows. False as for `prepare`.
  [[nodiscard]] bool repeat(const std::string& label) override;

  [[nodiscard]] TurnsBegin begin_turns(const std::string& label) override;
  [[nodiscard]] bool take_turn(const Turn& turn) override;
  [[nodiscard]] bool end_turns(const std::string& set) override;
  void abandon_turns() override;

  /// Repetitions that this session measured.
  [[nodiscard]] Size repetitions() const;
  /// What an earlier program measured of this configuration; at any time, once.
  void resume(RunRecord earlier) override;

  /// Everything so far, pooled.
  [[nodiscard]] RunRecord record() const override;
  /// Where the program that measured says it comes from and ran; empty before `prepare`.
  [[nodiscard]] const std::optional<ResultFile>& origin() const override;
  /// The usage or capability error (exit code 1 or 5) that a process ended with, which is the
  /// record's reason too.
  [[nodiscard]] const std::optional<Error>& refusal() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptbench
