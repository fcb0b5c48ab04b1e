// Messages from one rank to another, by SharedMemoryCommunicator: the receiver copies them.
#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/units.h"
#include "src/comm/shared_memory.h"

namespace ptbench {

using shared::Change;
using shared::Collective;
using shared::Letter;

SharedMemoryCommunicator::Pair& SharedMemoryCommunicator::pair(Size other) {
  ensure(other >= 0 && other < world_size_, "a message is for a rank of the group");
  Pair& found = pairs_[static_cast<std::size_t>(other)];
  if (found.to == nullptr) {
    const Size own = world_rank(rank_);
    found.to = &region_.mailbox(group_.channel, own, world_rank(other));
    found.from = &region_.mailbox(group_.channel, world_rank(other), own);
    // The messages of earlier groups are all finished.
    found.sent = found.finished = found.to->taken.load(std::memory_order_seq_cst);
    found.received = found.taken = found.from->taken.load(std::memory_order_seq_cst);
  }
  return found;
}

Communicator::Ticket SharedMemoryCommunicator::start_send(std::span<const std::byte> bytes, Size to,
                                                          const Event* after) {
  Pair& messages = pair(to);
  ensure(messages.sent - messages.finished < shared::kMostLetters,
         "sends to one rank are waited for in time");
  Pending& kept =
      begin({.operation = {.collective = Collective::send, .root = to, .bytes = bytes.size()},
             .input = bytes},
            {0, static_cast<Size>(bytes.size())}, after);
  kept.number = ++messages.sent;
  Letter& letter = messages.to->letters[kept.number % shared::kMostLetters];
  letter.bytes = bytes.size();
  letter.offset = kept.offset;
  letter.sequence.store(kept.number, std::memory_order_seq_cst);
  if (has_sleepers()) ring(to, Change::letter);
  if (receiving_ > 0) (void)take_letters();
  return Ticket{started_};
}

Communicator::Ticket SharedMemoryCommunicator::start_receive(std::span<std::byte> bytes, Size from,
                                                             const Event* after) {
  Pair& messages = pair(from);
  Pending& kept =
      begin({.operation = {.collective = Collective::receive, .root = from, .bytes = bytes.size()},
             .output = bytes},
            {}, after);
  kept.number = ++messages.received;
  ++receiving_;
  return Ticket{started_};
}

/// Whether its send was started, and it is the next of its pair: those who send look at one count.
bool SharedMemoryCommunicator::is_next_letter(const Pending& message) {
  const Pair& messages = pair(message.operation.root);
  const Letter& letter = messages.from->letters[message.number % shared::kMostLetters];
  return message.number == messages.taken + 1 &&
         letter.sequence.load(std::memory_order_seq_cst) == message.number;
}

/// One that is there. Throws a run error where it is of another length.
void SharedMemoryCommunicator::take_letter(Pending& message) {
  Pair& messages = pair(message.operation.root);
  const Letter& letter = messages.from->letters[message.number % shared::kMostLetters];
  if (letter.bytes != message.output.size())
    give_up(run_error(fmt::format("rank {}: {}{}: {} bytes were sent", world_rank(rank_),
                                  text_of(message.operation), among(),
                                  format_count(static_cast<Size>(letter.bytes))),
                      "start all ranks with the same options and data"));
  copy({region_.at(letter.offset), static_cast<std::size_t>(letter.bytes)}, message.output.data());
  message.is_received = true;
  --receiving_;
  messages.taken = message.number;
  messages.from->taken.store(message.number, std::memory_order_seq_cst);
  note_work();
  if (has_sleepers()) ring(message.operation.root, Change::taken);
}

/// All that are there, whatever was started between them. Whether there were any.
bool SharedMemoryCommunicator::take_letters() {
  const std::uint64_t before = receiving_;
  for (std::uint64_t ticket = finished_ + 1; ticket <= started_ && receiving_ > 0; ++ticket) {
    Pending& message = pending(ticket);
    if (message.operation.collective == Collective::receive && !message.is_received &&
        is_next_letter(message))
      take_letter(message);
  }
  return receiving_ < before;
}

void SharedMemoryCommunicator::finish_send(const Pending& own, LazyDeadline& deadline) {
  const Size to = own.operation.root;
  Pair& messages = pair(to);
  const WaitEnd end = await(Change::taken, deadline, [&] {
    return messages.to->taken.load(std::memory_order_seq_cst) >= own.number;
  });
  if (end != WaitEnd::held) fail(own, end, deadline, {to}, "did not receive it");
  messages.finished = own.number;
}

void SharedMemoryCommunicator::finish_receive(Pending& own, LazyDeadline& deadline) {
  const WaitEnd end =
      await(Change::letter, deadline, [&] { return own.is_received || is_next_letter(own); });
  if (end != WaitEnd::held) fail(own, end, deadline, {own.operation.root}, "did not send it");
  if (!own.is_received) take_letter(own);
}

}  // namespace ptbench
