#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/exit_code.h"
#include "src/judge/scaling.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"
#include "src/session/lockstep.h"
#include "src/session/run_session.h"
#include "src/session/sweep_grid.h"
#include "src/session/sweep_session.h"

namespace ptbench {

/// A program that measures the grid, and the result that it gets.
struct SweepSide {
  std::filesystem::path program;
  ResultFile header;  ///< generator, environment, command: until the program tells its own; no runs
  std::optional<ResultFile> earlier;   ///< what --resume goes on from
  std::vector<std::string> arguments;  ///< of its processes alone, beside the row's
};

/// How long and how often rows are measured.
struct SweepLength {
  Size rounds = 5;
  bool rounds_are_asked = false;  ///< by the user, so that no row gets fewer for want of time
  double min_time_seconds = 2;    ///< of a row, over all rounds
  /// Of a row, over all rounds: starting and warming up processes included, choosing and verifying
  /// not. Where a row is measured on one side, no round begins that would not fit, unless rounds
  /// are asked.
  double max_time_seconds = 30;
  bool is_fixed = false;  ///< by --steps or --epochs
  /// How the sides of a row take turns, or the rows of a workload where there is one side (as long
  /// as rows last); empty: whole processes follow each other.
  std::optional<LockstepPlan> lockstep = std::nullopt;
  Size most_rounds = 12;  ///< that rows of several sides may have, the added ones included
  /// Beside `rounds`: whether the sides' records of a row call for another round; never where one
  /// side has failed. Empty: where some side lacks clean repetitions.
  std::function<bool(std::span<const RunRecord* const> sides)> needs_more = nullptr;
  double last_begin_seconds = 1e9;  ///< no round begins later, counted from the sweep's begin
  std::chrono::milliseconds longest_stop = SessionSetup().longest_stop;
  std::optional<std::string> plan_file = std::nullopt;
  bool extends_plan = false;  ///< what the file lacks for a row is added to it, not refused
  /// Without `plan_file`: where there is a plan file for each row, which all of its sides plan
  /// from.
  std::optional<std::filesystem::path> plan_folder = std::nullopt;
};

/// What a sweep works with; all of it outlives the sweep.
struct SweepSurroundings {
  std::function<std::unique_ptr<SweepSession>(const SessionSetup&)> make_session;
  std::function<bool()> interrupted;
  /// Keeps what was measured on that side so far.
  std::function<void(std::size_t side, const ResultFile& result)> save;
  std::function<void(const std::string& message)> warn;
  const Clock& clock;
  const PriorNoise& prior;
  /// Shows people a phase, and which share of it is over; empty: nobody looks.
  std::function<void(const std::string& phase, double share)> show = nullptr;
  /// Told how many rounds are through, on average over all rows, and what goes on, such as "row 2
  /// of 6, round 1 of 5"; empty: nobody looks.
  std::function<void(double rounds, const std::string& place)> reach = nullptr;
};

/// A grid of rows, measured in rounds: one repetition of each row, on each side. A row goes on from
/// its whole repetitions in an earlier result, unless it is measured with another plan or slowdown
/// now: then it begins anew. What a row's
/// processes do, crashes included, ends up in its record; everything else is thrown, and what was
/// saved by then stays. A row whose data its processes refuse is skipped.
class Sweep {
 public:
  /// Clean repetitions in one placement class that every side shall have, where there are several.
  static constexpr std::size_t kCleanRepetitions = 3;

  /// `sides`: at least one.
  Sweep(std::vector<SweepRow> rows, std::vector<SweepSide> sides, SweepLength length,
        const SweepSurroundings& around);

  /// Measures until every row has its rounds. With several sides, rows get more of them until each
  /// side has its clean repetitions.
  void run();

  /// Rows in the order of the grid, without rows that have no record yet, compared with
  /// their baselines as far as these are measured; then what `earlier` held besides.
  [[nodiscard]] ResultFile result(std::size_t side) const;
  /// That are through, on average over the rows that are possible.
  [[nodiscard]] double rounds_done() const;
  /// What became of this grid's rows.
  [[nodiscard]] ExitCode exit_code() const;
  /// Why the rows that the grid could have were skipped; empty where any was tried.
  [[nodiscard]] std::optional<Error> refusal() const;

 private:
  /// A row on one side.
  struct Cell {
    std::unique_ptr<SweepSession> session;  ///< null before its first round
    std::optional<RunRecord> record;
    Size repetitions = 0;      ///< measured, earlier ones included
    bool is_over = false;      ///< nothing more is to be measured
    bool has_earlier = false;  ///< the record is one that the session does not know yet
    bool in_rounds = true;     ///< its k-th repetition was made in the k-th of these rounds
  };

  /// The place of a cell.
  struct Place {
    std::size_t row;
    std::size_t side;
  };

  void take_earlier(std::size_t side);
  [[nodiscard]] bool is_started_alike(std::size_t row, const RunRecord& earlier) const;
  [[nodiscard]] bool is_verified_alike(std::size_t row, const RunRecord& earlier) const;
  /// The time that rows which take turns with each other have used.
  struct GroupTime {
    double spent = 0;     ///< seconds of `rounds`, without preparations
    double starting = 0;  ///< of the last one, until all processes were warm; 0: unknown
    Size rounds = 0;
    bool is_over = false;  ///< another round did not fit into it, which was said
  };

  void run_round(Size round, bool added);
  void measure_group(std::size_t group, std::span<const std::size_t> rows, Size round);
  [[nodiscard]] bool is_out_of_time(std::size_t group, Size round);
  [[nodiscard]] double seconds_of_round(std::size_t group) const;
  void warn_of_time(std::size_t group, Size round) const;
  void end_for_time(std::size_t row);
  void tell(const std::string& place, double more_repetitions = 0) const;
  void measure(std::size_t row, std::size_t side, Size round);
  void measure_in_turns(std::size_t group, std::span<const std::size_t> rows, Size round);
  [[nodiscard]] std::vector<Place> takers_of(std::span<const std::size_t> rows, Size round);
  void keep_from_turns(std::size_t row);
  void warn_of_no_turns(std::size_t row, std::string_view why) const;
  [[nodiscard]] bool may_take_turns(std::size_t row, Size round) const;
  bool make_ready(std::size_t row);
  [[nodiscard]] LockstepPlan plan_of_turns(std::size_t group, std::size_t takers) const;
  bool is_ready(std::size_t row, std::size_t side);
  void note(std::size_t row, std::size_t side, bool done);
  bool start(std::size_t row, std::size_t side);
  bool prepare(std::size_t row, std::size_t side, const std::optional<std::string>& plan_file,
               bool extends_plan);
  bool prepare_with_shared_plan(std::size_t row, std::size_t side);
  void drop_other_plans(std::size_t row, std::size_t side);
  void skip_if_refused(std::size_t row, std::size_t side);
  void join_earlier(std::size_t row, std::size_t side);
  void begin_anew(std::size_t row, std::size_t side, const std::string& change);
  void learn_origin(std::size_t side, const SweepSession& session);
  void warn_of_noise(RunRecord& record) const;
  void warn_of_plans() const;
  void save_if_due();
  void save_all();
  void mark_interrupted();

  [[nodiscard]] Cell& cell(std::size_t row, std::size_t side);
  [[nodiscard]] const Cell& cell(std::size_t row, std::size_t side) const;
  [[nodiscard]] std::optional<ScalingPlan> plan_of(std::size_t row, std::size_t side) const;
  [[nodiscard]] bool needs_more(std::size_t row) const;
  [[nodiscard]] bool is_lost(std::size_t row) const;
  [[nodiscard]] bool lacks_clean_repetitions(std::size_t row) const;
  [[nodiscard]] bool stopped();
  [[nodiscard]] std::string round_text(Size round) const;
  /// "row 2 of 6, build 1 of 2".
  [[nodiscard]] std::string place(std::size_t row, std::size_t side) const;
  [[nodiscard]] std::string label(std::size_t row, std::size_t side, Size round) const;

  std::vector<SweepRow> rows_;
  std::vector<SweepSide> sides_;
  std::vector<bool> origin_known_;  ///< by side
  SweepLength length_;
  const SweepSurroundings& around_;
  std::vector<Cell> cells_;                     ///< rows × sides
  std::vector<std::vector<RunRecord>> others_;  ///< by side: of the earlier file, not of the grid
  std::vector<bool> plan_is_chosen_;            ///< by row: the file in `plan_folder` has it
  std::optional<Error> refusal_;                ///< the first for which a row was skipped
  bool interrupted_ = false;
  std::vector<std::vector<std::size_t>> groups_;  ///< of rows that take turns with each other
  std::vector<GroupTime> times_;                  ///< by group
  std::vector<bool> is_cut_;                      ///< by row: its time is over
  double preparing_ = 0;                          ///< seconds, of the group that is measured
  std::vector<bool> takes_turns_;                 ///< by row
  std::string set_prefix_;                        ///< of the names of what takes turns
  Size sets_ = 0;                                 ///< that were given a name
  double begin_ = 0;
  bool begun_anew_ = false;  ///< some row, so that it lacks rounds that are over
  double next_save_ = 0;
};

}  // namespace ptbench
