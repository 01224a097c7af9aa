// Connections that nobody asked for, full of junk, and a socket that takes it all.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "node/file_descriptor.h"
#include "node/keys/key_pair.h"

namespace troupe::testing {

/// One connection of a stranger that sends 25 messages of 30 bytes each millisecond, on a thread of its own. When the
/// other side ends it, the stranger makes the next one, at most one each millisecond.
class Flood {
 public:
  enum class Kind {
    junk,        ///< bytes that are no ZMTP
    null_words,  ///< ZMTP 3.0 without security, correct to the last byte; its messages follow after 20 ms
    client,      ///< a ZeroMQ client; with `server`, CURVE and a key just drawn
  };

  /// `address`: "tcp://127.0.0.1:PORT" or "ipc://@NAME". `user`: whose thread it is.
  Flood(Kind kind, std::string address, std::optional<PublicKey> server, uid_t user);
  ~Flood();
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  /// Waits until it has offered `messages` more. The test case fails after 10 s.
  void await(std::uint64_t messages) const;

  [[nodiscard]] std::uint64_t offered() const { return offered_; }  ///< messages, sent or not
  [[nodiscard]] std::uint64_t sent() const { return sent_; }        ///< messages that the kernel or ZeroMQ has taken
  [[nodiscard]] std::uint64_t connections() const { return connections_; }
  /// Returns the most bytes that one connection has got back. The greeting of ZMTP has 64.
  [[nodiscard]] std::size_t answered() const { return answered_; }
  /// Returns whether a ZeroMQ client was let in.
  [[nodiscard]] bool was_let_in() const { return let_in_; }

 private:
  void run(Kind kind, const std::string& address, const std::optional<PublicKey>& server);
  void send_bytes(std::string_view opening, std::string_view message, const std::string& address);
  void send_messages(const std::string& address, const std::optional<PublicKey>& server);
  [[nodiscard]] std::uint64_t wait_for_turn() const;

  const detail::FileDescriptor clock_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> offered_ = 0;
  std::atomic<std::uint64_t> sent_ = 0;
  std::atomic<std::uint64_t> connections_ = 0;
  std::atomic<std::size_t> answered_ = 0;
  std::atomic<bool> let_in_ = false;
  std::thread thread_;
};

/// Listens, reads what connections bring in pieces of 8 KiB, as ZeroMQ does, and drops it, on a thread of its own.
class Sink {
 public:
  /// `like`: an address of the kind at which it listens, "tcp://..." or "ipc://...".
  explicit Sink(std::string_view like);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  void run() const;

  detail::FileDescriptor listening_;
  std::string address_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace troupe::testing
