// Where newcomers introduce themselves if no list of this node has their keys yet (introduction.h). Any host that
// reaches the port can connect, so this listens apart from the node's own address, and the cost of strangers is
// bounded.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"
#include "node/file_descriptor.h"
#include "node/joining/member_watch.h"
#include "node/keys/key_ring.h"
#include "node/links/line_allowance.h"
#include "node/links/wake_up.h"

namespace troupe::detail {

/// One thread. Thread rule: any thread may call any member.
class JoinEndpoint {
 public:
  struct Options {
    std::string listen;                                   ///< "tcp://HOST:PORT"; port "*": any free one
    Duration patience = std::chrono::seconds{2};          ///< for a whole request, and for its turn
    Duration interval = std::chrono::milliseconds{10};    ///< between two requests that are opened
    std::function<void(std::string_view line)> log = {};  ///< a line for each newcomer that is refused, five a second
  };

  /// Opens the socket and starts the thread. `ring` has the key to which requests are sealed, `certify` decides.
  /// Errors: bad_argument (no such address), resource_exhausted (the port is in use, no descriptor, no thread).
  [[nodiscard]] static Result<std::unique_ptr<JoinEndpoint>> open(Options options, KeyRing ring, Certify certify);

  ~JoinEndpoint();
  JoinEndpoint(const JoinEndpoint&) = delete;
  JoinEndpoint& operator=(const JoinEndpoint&) = delete;

  /// Stops listening. Does not wait.
  void stop();

  /// Returns the address at which it listens, in numbers.
  [[nodiscard]] const std::string& address() const { return address_; }

  /// Returns how many connections ended without being let in.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Connection {
    FileDescriptor socket;
    std::string from;  ///< "HOST:PORT"
    TimePoint until;
    std::vector<std::byte> request;  ///< as far as it has come
  };
  enum class Reading : std::uint8_t { goes_on, complete, wrong };

  JoinEndpoint(Options options, KeyRing ring, Certify certify, FileDescriptor listener, std::string address);
  void run();
  void poll_once();
  void accept_some(TimePoint now);
  void make_room();
  [[nodiscard]] static Reading read(Connection& connection);
  void answer_next(TimePoint now);
  void answer(const Connection& connection);
  static void say(const Connection& connection, std::span<const std::byte> answer);
  void refuse(const Connection& connection, std::string_view why);

  const Options options_;
  const KeyRing ring_;
  const Certify certify_;
  FileDescriptor listener_;  ///< used by thread_ alone
  const std::string address_;
  const WakeUp wake_up_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> refused_ = 0;
  std::list<Connection> reading_;   ///< the oldest first; used by thread_ alone, as the following
  std::list<Connection> complete_;  ///< wait for their turn
  TimePoint next_turn_;
  std::optional<TimePoint> accept_again_;
  LineAllowance lines_;
  std::thread thread_;  ///< runs while this object lives
};

}  // namespace troupe::detail
