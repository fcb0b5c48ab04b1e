#include "src/comm/gloo/gloo_library.h"

#include <fmt/format.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <utility>

#include "src/base/error.h"
#include "src/comm/exchange.h"
#include "src/comm/gloo/abortable_context.h"

namespace ptbench::over_gloo {
namespace {

/// What gloo's ranks tell each other: each sets a key that ends with its rank ("rank_1", "1"), and
/// gets those of others before it sets another.
class HostStore final : public gloo::rendezvous::Store {
 public:
  HostStore(Communicator& host, Communicator::Timeout timeout) : host_(host), timeout_(timeout) {}

  /// All ranks are here at once. The values may be of unlike lengths, as host names are.
  void set(const std::string& /*key*/, const std::vector<char>& data) override {
    sizes_ = of_all_ranks(host_, data.size(), timeout_);
    place_ = std::ranges::max(sizes_);
    std::vector<char> own = data;
    own.resize(place_);
    all_.resize(place_ * sizes_.size());
    exchange(host_, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all_)),
             timeout_);
  }
  std::vector<char> get(const std::string& key) override {
    const std::size_t rank = std::stoul(key.substr(key.find_last_of('_') + 1));
    const std::span<const char> value = std::span(all_).subspan(rank * place_, sizes_.at(rank));
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& /*keys*/) override {}
  void wait(const std::vector<std::string>& /*keys*/,
            const std::chrono::milliseconds& /*timeout*/) override {}

 private:
  Communicator& host_;
  Communicator::Timeout timeout_;
  std::vector<std::size_t> sizes_;  ///< of the values, by rank
  std::size_t place_ = 0;           ///< of each in `all_`
  std::vector<char> all_;
};

// gloo ends the process where more arrives than was expected: so what differs in length has another
// name, and its ranks wait for each other until one of them is late.

/// Of a collective: of those before it, of which a rank can be ahead of others, and of its length.
std::uint32_t tag_of(std::uint32_t number, Bytes bytes) {
  constexpr std::uint32_t kGolden = 2654435769U;  // 2^32 over the golden ratio
  return (number & 0xfffU) << 20U | static_cast<std::uint32_t>(bytes * kGolden) >> 12U;
}

/// Of a message. Slots of collectives have something in the highest byte.
std::uint64_t slot_of(std::uint64_t number, Bytes bytes) {
  constexpr unsigned kLengthBits = 44;
  return (number & 0xfffU) << kLengthBits | (bytes & ((std::uint64_t{1} << kLengthBits) - 1));
}

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

class GlooMessage final : public LibraryMessage {
 public:
  GlooMessage(Buffer buffer, bool is_send) : buffer_(std::move(buffer)), is_send_(is_send) {}
  void finish(Communicator::Timeout timeout) override {
    (void)(is_send_ ? buffer_->waitSend(timeout) : buffer_->waitRecv(timeout));
  }

 private:
  Buffer buffer_;
  bool is_send_;
};

class GlooLibrary final : public GroupLibrary {
 public:
  explicit GlooLibrary(std::shared_ptr<AbortableContext> context) : context_(std::move(context)) {}

  void all_reduce(std::span<float> values) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    prepare(options, values.size_bytes());
    gloo::allreduce(options);
  }
  void reduce(std::span<float> values, Size root) override {
    gloo::ReduceOptions options(context_);
    // On others gloo sums into it too.
    if (context_->rank != root) scratch_.resize(std::max(scratch_.size(), values.size()));
    float* sums = context_->rank == root ? values.data() : scratch_.data();
    options.setInput(values.data(), values.size());
    options.setOutput(sums, values.size());
    options.setRoot(static_cast<int>(root));
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    prepare(options, values.size_bytes());
    gloo::reduce(options);
  }
  void all_to_all(std::span<std::byte> sent, const std::vector<Bytes>& sent_bytes,
                  std::span<std::byte> received, Bytes received_bytes) override {
    gloo::AlltoallvOptions options(context_);
    options.setInput(chars_of(sent),
                     std::vector<std::int64_t>(sent_bytes.begin(), sent_bytes.end()));
    options.setOutput(
        chars_of(received),
        std::vector<std::int64_t>(sent_bytes.size(), static_cast<std::int64_t>(received_bytes)));
    prepare(options, sent.size());
    gloo::alltoallv(options);
  }
  void all_gather(std::span<std::byte> whole, const std::vector<Bytes>& parts) override {
    gloo::AllgathervOptions options(context_);
    options.setOutput(chars_of(whole), std::vector<std::size_t>(parts.begin(), parts.end()));
    prepare(options, whole.size());
    gloo::allgatherv(options);
  }
  void gather(std::span<std::byte> part, std::span<std::byte> whole, Size root) override {
    gloo::GatherOptions options(context_);
    options.setInput(chars_of(part), part.size());
    if (context_->rank == root) options.setOutput(chars_of(whole), whole.size());
    options.setRoot(static_cast<int>(root));
    prepare(options, part.size());
    gloo::gather(options);
  }
  void broadcast(std::span<std::byte> bytes, Size root) override {
    gloo::BroadcastOptions options(context_);
    options.setOutput(chars_of(bytes), bytes.size());
    options.setRoot(static_cast<int>(root));
    prepare(options, bytes.size());
    gloo::broadcast(options);
  }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    prepare(options, 0);
    gloo::barrier(options);
  }

  std::unique_ptr<LibraryMessage> send(std::span<const std::byte> bytes, Size to,
                                       std::uint64_t number) override {
    Buffer buffer =
        context_->createUnboundBuffer(const_cast<std::byte*>(bytes.data()), bytes.size());
    buffer->send(static_cast<int>(to), slot_of(number, bytes.size()));
    return std::make_unique<GlooMessage>(std::move(buffer), true);
  }
  std::unique_ptr<LibraryMessage> receive(std::span<std::byte> bytes, Size from,
                                          std::uint64_t number) override {
    Buffer buffer = context_->createUnboundBuffer(bytes.data(), bytes.size());
    buffer->recv(static_cast<int>(from), slot_of(number, bytes.size()));
    return std::make_unique<GlooMessage>(std::move(buffer), false);
  }

  void abort() noexcept override { context_->abort(); }

 private:
  static char* chars_of(std::span<std::byte> bytes) {
    return reinterpret_cast<char*>(bytes.data());
  }

  /// `bytes`: of the whole, on every rank. Nobody waits longer here than the longest deadline;
  /// shorter ones are the caller's, who aborts.
  template <class Options>
  void prepare(Options& options, Bytes bytes) {
    options.setTag(tag_of(++started_, bytes));
    options.setTimeout(Communicator::kLongWork);
  }

  std::shared_ptr<AbortableContext> context_;
  std::vector<float> scratch_;
  std::uint32_t started_ = 0;
};

/// gloo takes whoever connects first for the other rank. So all tell each other words that
/// strangers cannot know.
void greet(GroupLibrary& library, Communicator& host, Communicator::Timeout timeout) {
  std::random_device random;
  const std::uint64_t own = std::uint64_t{random()} << 32U | random();
  const std::vector<std::uint64_t> words = of_all_ranks(host, own, timeout);
  std::vector<std::uint64_t> heard(words.size());
  heard[static_cast<std::size_t>(host.rank())] = own;
  std::vector<std::unique_ptr<LibraryMessage>> messages;
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    const auto other = static_cast<Size>(rank);
    if (other == host.rank()) continue;
    messages.push_back(library.send(std::as_bytes(std::span(&own, 1)), other, 0));
    messages.push_back(
        library.receive(std::as_writable_bytes(std::span(heard).subspan(rank, 1)), other, 0));
  }
  for (const auto& message : messages) message->finish(timeout);
  if (heard != words) throw run_error("another program connected in the place of a rank");
}

std::shared_ptr<gloo::transport::Device> device_at(const std::string& interface) {
  gloo::transport::tcp::attr attributes;
  if (interface.empty())
    attributes.hostname = "127.0.0.1";
  else
    attributes.iface = interface;
  return gloo::transport::tcp::CreateDevice(attributes);
}

/// Says what gloo throws.
Error gloo_error(const std::exception& error, const std::string& interface) {
  return run_error(fmt::format("gloo: {}", error.what()),
                   fmt::format("see that programs may connect to each other by {}",
                               interface.empty() ? "the loopback interface" : interface));
}

}  // namespace

GroupLibraryMaker library_maker(const std::string& interface, Communicator::Timeout timeout) {
  // gloo writes to sockets whose other end may just have died, which is an error to it.
  (void)std::signal(SIGPIPE, SIG_IGN);
  std::shared_ptr<gloo::transport::Device> device;
  try {
    device = device_at(interface);
  } catch (const std::exception& error) {
    throw gloo_error(error, interface);
  }
  return
      [interface, timeout, device](
          Communicator& host, const std::vector<Size>& members) -> std::unique_ptr<GroupLibrary> {
        try {
          auto context = std::make_shared<AbortableContext>(static_cast<int>(host.rank()),
                                                            static_cast<int>(members.size()));
          context->setTimeout(timeout);
          HostStore store(host, timeout);
          std::shared_ptr<gloo::transport::Device> shared = device;
          context->connectFullMesh(store, shared);
          context->make_abortable();
          auto library = std::make_unique<GlooLibrary>(std::move(context));
          greet(*library, host, timeout);
          return library;
        } catch (const Error&) {
          throw;
        } catch (const std::exception& error) {
          throw gloo_error(error, interface);
        }
      };
}

}  // namespace ptbench::over_gloo
