#include "src/measure/step_protocol.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/process/local_socket.h"

namespace ptbench {
namespace {

using nlohmann::json;

/// Between two looks at an interruption.
constexpr std::chrono::milliseconds kLook{500};
constexpr double kMostSeconds = 1e6;
constexpr Size kMostSteps = 1'000'000'000;

Error broken(const std::string& what) {
  return run_error(fmt::format("turns were not granted as {} says: {}", kStepsProtocol, what),
                   "use the same version on both ends");
}

json parsed(const std::string& text) {
  json message = json::parse(text, nullptr, false);
  if (!message.is_object()) throw broken("a message is not a JSON object");
  return message;
}

double seconds_in(const json& message) {
  const auto found = message.find("seconds");
  const double seconds = found != message.end() && found->is_number() ? found->get<double>() : -1;
  if (std::isnan(seconds) || seconds < 0 || seconds > kMostSeconds)
    throw broken("a message has no 'seconds'");
  return seconds;
}

Size whole_in(const json& message, const char* name, Size least) {
  const auto found = message.find(name);
  const bool is_whole = found != message.end() && found->is_number_integer();
  const Size number = is_whole ? found->get<Size>() : -1;
  if (number < least || number > kMostSteps)
    throw broken(fmt::format("a message has no '{}'", name));
  return number;
}

}  // namespace

TurnClient::TurnClient(Setup setup) : setup_(std::move(setup)) {
  int error_number = 0;
  socket_ = connect_to(setup_.name, error_number);
  if (!socket_.is_open())
    throw run_error(fmt::format("--turns '{}': nobody grants any there: {}", printable(setup_.name),
                                std::generic_category().message(error_number)),
                    "leave --turns to ptbench gate and ptbench sweep");
}

std::optional<Turn> TurnClient::next() {
  if (!std::exchange(has_greeted_, true)) {
    setup_.rest();
    (void)send_message(socket_, json{{"protocol", kStepsProtocol}}.dump());
  }
  const std::optional<Turn> turn = wait();
  setup_.wake();
  return turn;
}

std::optional<Turn> TurnClient::wait() {
  while (!setup_.interrupted()) {
    const SocketMessage message =
        receive_message(socket_, std::chrono::steady_clock::now() + kLook);
    if (message.kind == SocketMessage::Kind::closed) return std::nullopt;
    if (message.kind == SocketMessage::Kind::none_yet) continue;
    const json granted = parsed(message.text);
    turn_ = whole_in(granted, "turn", 0);
    return Turn{
        .number = turn_, .seconds = seconds_in(granted), .steps = whole_in(granted, "steps", 1)};
  }
  return std::nullopt;
}

void TurnClient::end(const TurnTaken& taken) {
  setup_.rest();
  (void)send_message(
      socket_, json{{"turn", turn_}, {"seconds", taken.seconds}, {"steps", taken.steps}}.dump());
}

TurnGrants::TurnGrants()
    : name_(fmt::format("ptbench-turns-{}-{:08x}", getpid(), std::random_device()())) {
  int error_number = 0;
  listener_ = listen_at(name_, error_number);
  if (!listener_.is_open())
    throw run_error(fmt::format("there is no socket for turns: {}",
                                std::generic_category().message(error_number)),
                    "check the limit of open files (ulimit -n)");
}

int TurnGrants::descriptor() const {
  return socket_.is_open() ? socket_.number() : listener_.number();
}

void TurnGrants::look() {
  if (!socket_.is_open()) {
    socket_ = accept_from(listener_);
    if (socket_.is_open() && !belongs_to_this_user(socket_)) socket_.close();
    if (!socket_.is_open()) return;
    listener_.close();
  }
  const SocketMessage message = receive_message(socket_);
  if (message.kind != SocketMessage::Kind::text) {
    // Who has left is seen to end; until then nothing more is to be read.
    if (message.kind == SocketMessage::Kind::closed) close();
    return;
  }
  const json said = parsed(message.text);
  if (said.contains("protocol")) {
    if (said["protocol"] != kStepsProtocol)
      throw broken(fmt::format("the program speaks {}", printable(said["protocol"].dump())));
  } else {
    taken_ = {.steps = whole_in(said, "steps", 0), .seconds = seconds_in(said)};
  }
  is_waited_for_ = true;
}

void TurnGrants::grant(const Turn& turn) {
  ensure(is_waited_for_, "a turn is granted to who waits for it");
  is_waited_for_ = false;
  (void)send_message(
      socket_,
      json{{"turn", turn.number}, {"seconds", turn.seconds}, {"steps", turn.steps}}.dump());
}

void TurnGrants::close() {
  socket_.close();
  listener_.close();
  is_waited_for_ = false;
}

}  // namespace ptbench
