// A wire with faults: forwards the connections of peers to one node, and delays, corrupts or cuts their bytes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "node/file_descriptor.h"

namespace troupe::testing {

/// One direction of the wire. Thread-safe.
class ByteWay {
 public:
  /// Limits the rate to this many bytes per second from now on.
  void throttle(std::uint64_t bytes_per_second);

  /// Stops all bytes, without loss, until `resume`. Connections stay open.
  void stall();
  void resume();

  /// Flips one bit in every `one_in`-th byte on average, drawn from `seed`; 0 turns this off.
  void corrupt(std::uint32_t seed, std::uint64_t one_in);

  /// Breaks all connections after this many more bytes.
  void cut_after(std::uint64_t bytes);

  /// Keeps a copy of all bytes from now on.
  void record();

  [[nodiscard]] std::string recorded() const;

  /// Returns whether `text` is among the recorded bytes.
  [[nodiscard]] bool has_recorded(std::string_view text) const;

  /// Returns the number of forwarded bytes, over all connections.
  [[nodiscard]] std::uint64_t passed() const;

  /// Returns the number of bits that `corrupt` has flipped.
  [[nodiscard]] std::uint64_t flipped() const;

 private:
  friend class ByteProxy;

  struct Permit {
    std::size_t bytes = 0;  ///< number of bytes that may pass now
    bool cut = false;       ///< break the connections after them
  };
  /// Waits until bytes may pass, then applies the faults to `bytes`. Returns nothing if `close` was called.
  [[nodiscard]] std::optional<Permit> admit(std::span<std::byte> bytes);
  void close();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::uint64_t bytes_per_second_ = 0;  ///< 0: unlimited
  std::chrono::steady_clock::time_point free_at_;
  bool stalled_ = false;
  bool closed_ = false;
  std::uint64_t one_in_ = 0;
  std::uint64_t next_flip_ = 0;  ///< distance to the next flipped bit, in bytes
  std::mt19937 random_;
  std::uint64_t cut_left_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t passed_ = 0;
  std::uint64_t flipped_ = 0;
  bool records_ = false;
  std::string recorded_;
};

/// Listens on a free port of 127.0.0.1 and forwards to another port, which it reserves for the node behind it. A ZeroMQ
/// link sends on the connection that the sender made: most bytes to the node pass `there`, few pass `back`.
///
///   ByteProxy wire;
///   TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .bind = wire.target(), .advertise = wire.address()}}});
///   wire.there().stall();
class ByteProxy {
 public:
  ByteProxy();
  ~ByteProxy();
  ByteProxy(const ByteProxy&) = delete;
  ByteProxy& operator=(const ByteProxy&) = delete;

  [[nodiscard]] std::string address() const;  ///< the address for peers
  [[nodiscard]] std::string target() const;   ///< the address at which the node behind listens

  [[nodiscard]] ByteWay& there() { return there_; }  ///< towards the node behind
  [[nodiscard]] ByteWay& back() { return back_; }

  /// Breaks all connections. Accepts new ones.
  void cut();

  /// Returns the number of accepted connections since the start.
  [[nodiscard]] std::uint64_t connections() const { return taken_; }

 private:
  struct Connection {
    detail::FileDescriptor peer;
    detail::FileDescriptor node;
    std::atomic<int> pumps = 2;  ///< number of running pumps
    std::jthread there;
    std::jthread back;
  };

  void run();
  void take(detail::FileDescriptor peer);
  void pump(Connection& connection, ByteWay& way, int from, int to);

  detail::FileDescriptor listening_;
  detail::FileDescriptor reserved_;  // bound and never listening: the system gives the port to no other process
  std::uint16_t port_ = 0;
  std::uint16_t target_port_ = 0;
  ByteWay there_;
  ByteWay back_;
  std::atomic<std::uint64_t> taken_ = 0;
  std::mutex mutex_;
  std::list<Connection> connections_;  // guarded by mutex_
  std::jthread thread_;                // last member, so its thread ends first
};

}  // namespace troupe::testing
