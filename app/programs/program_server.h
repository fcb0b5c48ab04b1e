#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/programs/program_ranks.h"
#include "src/base/size.h"
#include "src/process/descriptor.h"
#include "src/process/local_socket.h"

namespace ptbench {

/// The socket at which the processes of a program report their steps and are granted others. A
/// breach of the protocol is told to all of them before it is thrown.
class ProgramServer {
 public:
  /// Listens at `path`, a file that is not there yet. Throws a usage error where that is
  /// impossible.
  ProgramServer(std::string path, std::optional<Size> world_size);
  ProgramServer(const ProgramServer&) = delete;
  ProgramServer& operator=(const ProgramServer&) = delete;
  ~ProgramServer();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// For poll(2): readable when `look` has something to find.
  [[nodiscard]] int descriptor() const { return watch_.number(); }
  /// Takes in what was said until now. Whether that was any message. Throws a run error for a
  /// breach.
  bool look();

  /// All processes may do their steps up to `step`; never fewer than before.
  void grant(std::int64_t step, bool phases = false);
  [[nodiscard]] std::int64_t granted() const { return granted_; }
  /// There are no more grants: connections are closed.
  void close();

  [[nodiscard]] ProgramRanks& ranks() { return ranks_; }
  [[nodiscard]] const ProgramRanks& ranks() const { return ranks_; }
  /// Whether a process that had said hello has closed its connection.
  [[nodiscard]] bool was_left() const { return was_left_; }
  /// The rank that was the first to do so; empty where several had when it was seen.
  [[nodiscard]] const std::optional<Size>& first_to_leave() const { return first_to_leave_; }
  /// The process of a rank that is there; 0 where its number is not known.
  [[nodiscard]] int process_of(Size rank) const;
  /// Whether it is one of the processes that have said hello.
  [[nodiscard]] bool is_rank(int process) const;

 private:
  struct Connection {
    Descriptor socket;
    int process = 0;
    std::optional<Size> rank = std::nullopt;  ///< empty before its hello
    int asides = 0;                           ///< since it last did a step
  };

  void watch(const Descriptor& socket);
  void require_few_connections() const;
  void accept_all();
  bool read_from(Connection& connection);
  void take(Connection& connection, std::string_view text);
  void note_leavers();
  void refuse(const std::string& why);

  std::string path_;
  Descriptor watch_;  ///< epoll(7) of listener and connections
  Descriptor listener_;
  std::vector<Connection> connections_;
  ProgramRanks ranks_;
  std::int64_t granted_ = 0;
  bool was_left_ = false;
  std::optional<Size> first_to_leave_;
};

}  // namespace ptbench
