#include "src/process/process_messages.h"

#include <catch2/catch.hpp>

#include "src/base/clock.h"
#include "tests/support/captured_stream.h"

namespace ptbench {
namespace {

/// What a process says, letter by letter or at once, and what gets through.
class Conversation {
 public:
  explicit Conversation(const std::string& label = {}) : messages_(progress_, label) {}

  void say(std::string_view text) { messages_.take(text); }
  void spell(std::string_view text) {
    for (const char letter : text) messages_.take({&letter, 1});
  }
  [[nodiscard]] ProcessMessages& messages() { return messages_; }
  [[nodiscard]] std::string passed_on() const { return stream_.text(); }

 private:
  testing::CapturedStream stream_;
  SteadyClock clock_;
  Progress progress_{clock_, stream_.stream(), false};
  ProcessMessages messages_;
};

constexpr std::string_view kProgress = "\rmeasuring  50 %\x1b[K";

}  // namespace

TEST_CASE("messages and progress are passed on as they come") {
  Conversation conversation;
  conversation.say(kProgress);
  CHECK(conversation.passed_on() == kProgress);
  conversation.say("\r\x1b[Kptbench: warning: ");
  conversation.say("hot\n");
  CHECK(conversation.passed_on() ==
        std::string(kProgress) + "\r\x1b[K" + "ptbench: warning: hot\n");
  CHECK(conversation.messages().error().empty());
  CHECK(conversation.messages().last() == "ptbench: warning: hot");
}

TEST_CASE("the error that ends a process is kept, not passed on") {
  const std::string end =
      std::string(kProgress) + "\r\x1b[K" + "ptbench: error: no room\nptbench: remedy: make some\n";
  Conversation at_once;
  at_once.say(end);
  Conversation by_letter;
  by_letter.spell(end);
  for (Conversation* conversation : {&at_once, &by_letter}) {
    conversation->messages().finish();
    CHECK(conversation->messages().error() == "no room");
    CHECK(conversation->messages().remedy() == "make some");
    CHECK(conversation->messages().last() == "no room");
    CHECK(conversation->passed_on() == std::string(kProgress) + "\r\x1b[K");
  }
}

TEST_CASE("a last line without an end is passed on at the end, and quoted without tricks") {
  Conversation conversation;
  conversation.say("terminate called\n\n");
  conversation.say("what(): \x1b[31mred");
  CHECK(conversation.passed_on() == "terminate called\n\n");
  conversation.messages().finish();
  CHECK(conversation.passed_on() == "terminate called\n\nwhat(): \x1b[31mred");
  CHECK(conversation.messages().last() == "what(): \\x1b[31mred");
}

TEST_CASE("a label stands before messages, not before progress, and is no part of what is quoted") {
  Conversation conversation("[rank 1] ");
  conversation.say(std::string(kProgress) + "\nptbench: warning: hot\nptbench: error: no room\n");
  CHECK(conversation.passed_on() == std::string(kProgress) + "\n[rank 1] ptbench: warning: hot\n");
  CHECK(conversation.messages().error() == "no room");
}

TEST_CASE("who ends no line is passed on all the same") {
  Conversation conversation;
  conversation.say(std::string(100'000, 'x'));
  CHECK(conversation.passed_on().size() == 100'000);
}

}  // namespace ptbench
