#include "app/programs/program_server.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <variant>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

constexpr int kMostAsides = 1000;
/// That are taken in before anybody else is looked after.
constexpr int kMostMessagesAtOnce = 64;
/// Beside a world of ranks: who has said nothing yet.
constexpr std::size_t kMostStrangers = 64;

}  // namespace

ProgramServer::ProgramServer(std::string path, std::optional<Size> world_size)
    : path_(std::move(path)), watch_(epoll_create1(EPOLL_CLOEXEC)), ranks_(world_size) {
  if (path_.size() >= kMostSocketName)
    throw usage_error(fmt::format("'{}' is too long a name for a socket", printable(path_)),
                      "set TMPDIR to a folder with a shorter path");
  int error_number = 0;
  listener_ = listen_at(path_, error_number);
  if (!listener_.is_open() || !watch_.is_open())
    throw usage_error(fmt::format("no program can connect to '{}': {}", printable(path_),
                                  std::generic_category().message(error_number)),
                      "set TMPDIR to a folder that you may write to");
  watch(listener_);
}

ProgramServer::~ProgramServer() { (void)unlink(path_.c_str()); }

void ProgramServer::watch(const Descriptor& socket) {
  epoll_event event{};
  event.events = EPOLLIN;
  (void)epoll_ctl(watch_.number(), EPOLL_CTL_ADD, socket.number(), &event);
}

bool ProgramServer::look() {
  try {
    accept_all();
    bool any = false;
    for (Connection& connection : connections_) any |= read_from(connection);
    note_leavers();
    std::erase_if(connections_, [](const Connection& one) { return !one.socket.is_open(); });
    require_few_connections();
    return any;
  } catch (const Error& error) {
    refuse(error.what());
    throw;
  }
}

/// Connections that have just been closed.
void ProgramServer::note_leavers() {
  const auto has_left = [](const Connection& one) {
    return one.rank.has_value() && !one.socket.is_open();
  };
  const auto leavers = std::ranges::count_if(connections_, has_left);
  if (was_left_ || leavers == 0) return;
  was_left_ = true;
  if (leavers == 1) first_to_leave_ = std::ranges::find_if(connections_, has_left)->rank;
}

/// Until the world is known, it may have as many ranks as there can be.
void ProgramServer::require_few_connections() const {
  const std::size_t world = ranks_.hellos().size();
  const std::size_t ranks = world > 0 ? world : static_cast<std::size_t>(kMostProgramRanks);
  if (connections_.size() > ranks + kMostStrangers)
    throw run_error(breach_text("it makes too many connections"), "see docs/steps_protocol.md");
}

void ProgramServer::accept_all() {
  while (listener_.is_open()) {
    Descriptor socket = accept_needed(listener_);
    if (!socket.is_open()) return;
    if (!belongs_to_this_user(socket)) continue;
    watch(socket);
    const int process = peer_process(socket);
    connections_.push_back({.socket = std::move(socket), .process = process});
    require_few_connections();
  }
}

bool ProgramServer::read_from(Connection& connection) {
  for (int count = 0; count < kMostMessagesAtOnce; ++count) {
    const SocketMessage message = receive_message(connection.socket);
    if (message.kind == SocketMessage::Kind::none_yet) return count > 0;
    if (message.kind == SocketMessage::Kind::closed) {
      connection.socket.close();
      return count > 0;
    }
    take(connection, message.text);
  }
  return true;
}

void ProgramServer::take(Connection& connection, std::string_view text) {
  if (text.empty())
    throw run_error(breach_text("a message is empty or too long"), "see docs/steps_protocol.md");
  ProgramMessage message = parse_program_message(text);
  if (const auto* hello = std::get_if<ProgramHello>(&message)) {
    if (connection.rank)
      throw run_error(breach_text(fmt::format("rank {} says hello again", *connection.rank)),
                      "see docs/steps_protocol.md");
    connection.rank = ranks_.join(*hello);
    return;
  }
  if (!connection.rank)
    throw run_error(breach_text("a connection does not begin with hello"),
                    "see docs/steps_protocol.md");
  if (auto* report = std::get_if<ProgramReport>(&message)) {
    connection.asides = 0;
    ranks_.report(*connection.rank, std::move(*report), granted_);
  } else if (++connection.asides > kMostAsides) {
    throw run_error(breach_text(fmt::format("rank {} sends messages without a step, {} by now",
                                            *connection.rank, connection.asides)),
                    "see docs/steps_protocol.md");
  }
}

void ProgramServer::refuse(const std::string& why) {
  for (const Connection& connection : connections_)
    if (connection.socket.is_open()) (void)send_message(connection.socket, refusal_message(why));
  close();
}

void ProgramServer::grant(std::int64_t step, bool phases) {
  if (step <= granted_) return;
  granted_ = step;
  for (const Connection& connection : connections_) {
    if (!connection.rank || !connection.socket.is_open()) continue;
    if (send_message(connection.socket, grant_message(step, phases))) continue;
    // Who has left is seen to have when its end is read.
    if (errno != EAGAIN && errno != EWOULDBLOCK) continue;
    const std::string why = breach_text(fmt::format("rank {} reads no grants", *connection.rank));
    refuse(why);
    throw run_error(why, "see docs/steps_protocol.md");
  }
}

void ProgramServer::close() {
  connections_.clear();
  listener_.close();
}

int ProgramServer::process_of(Size rank) const {
  const auto found = std::ranges::find(connections_, std::optional(rank), &Connection::rank);
  return found == connections_.end() ? 0 : found->process;
}

bool ProgramServer::is_rank(int process) const {
  return std::ranges::any_of(connections_, [process](const Connection& connection) {
    return connection.rank && connection.process == process;
  });
}

}  // namespace ptbench
