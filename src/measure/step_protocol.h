#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/measure/turns.h"
#include "src/process/descriptor.h"

namespace ptbench {

// How a program that trains gets its steps granted: over a local socket (AF_UNIX, SOCK_SEQPACKET,
// an abstract name), each message one JSON object. Fields that a reader does not know are skipped.
//
//   program  {"protocol": "ptbench.steps/1"}                  it is warm, and sleeps
//   ptbench  {"turn": 7, "seconds": 0.03, "steps": 3}         it may train, at least so much
//   program  {"turn": 7, "seconds": 0.0342, "steps": 7}       it has, and sleeps again
//   ptbench  closes the connection                            there are no more turns

inline constexpr std::string_view kStepsProtocol = "ptbench.steps/1";

/// The program's end.
class TurnClient final : public TurnSource {
 public:
  struct Setup {
    std::string name;                   ///< of the socket at which turns are granted
    std::function<bool()> interrupted;  ///< asked now and then while it waits
    std::function<void()> rest;         ///< before it sleeps: brings all threads and ranks to rest
    std::function<void()> wake;         ///< when it has slept
  };

  /// Throws a run error where nobody grants turns at that name.
  explicit TurnClient(Setup setup);

  [[nodiscard]] std::optional<Turn> next() override;
  void end(const TurnTaken& taken) override;

 private:
  std::optional<Turn> wait();

  Setup setup_;
  Descriptor socket_;
  bool has_greeted_ = false;
  Size turn_ = 0;  ///< number of the one that it has
};

/// The other end: grants one program its turns.
class TurnGrants {
 public:
  /// Throws a run error where the system has no socket left.
  TurnGrants();

  /// What the program is told to connect to.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// For poll(2): readable when `look` has something to find.
  [[nodiscard]] int descriptor() const;
  /// Takes in what the program has said. Throws a run error where that is no ptbench.steps/1.
  void look();
  /// Whether the program sleeps and waits for a turn.
  [[nodiscard]] bool is_waited_for() const { return is_waited_for_; }
  /// What it did in its last turn.
  [[nodiscard]] const TurnTaken& taken() const { return taken_; }

  /// To a program that waits.
  void grant(const Turn& turn);
  /// There are no more turns.
  void close();

 private:
  std::string name_;
  Descriptor listener_;
  Descriptor socket_;  ///< closed before the program has come
  bool is_waited_for_ = false;
  TurnTaken taken_;
};

}  // namespace ptbench
