// A wire that a test can spoil: forwards the connections of peers to one node, and harms the bytes on the way.
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
#include <thread>

#include "node/file_descriptor.h"

namespace troupe::testing {

/// What becomes of the bytes that go one way. Thread rule: any thread may call any member.
class ByteWay {
 public:
  /// From now on at most so many bytes pass in a second.
  void throttle(std::uint64_t bytes_per_second);

  /// Nothing passes, and nothing is lost, until `resume`. Connections stay.
  void stall();
  void resume();

  /// Flips one bit in every `one_in`-th byte on average, drawn from `seed`; 0: no longer.
  void corrupt(std::uint32_t seed, std::uint64_t one_in);

  /// All connections break once so many more bytes have passed.
  void cut_after(std::uint64_t bytes);

  /// Bytes that passed, of all connections.
  [[nodiscard]] std::uint64_t passed() const;

 private:
  friend class ByteProxy;

  struct Permit {
    std::size_t bytes = 0;  ///< that may pass
    bool cut = false;       ///< after them
  };
  /// Waits until something may pass, then harms `bytes` as was said. Nothing: `close` was called.
  [[nodiscard]] std::optional<Permit> admit(std::span<std::byte> bytes);
  void close();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  std::uint64_t bytes_per_second_ = 0;  ///< 0: any
  std::chrono::steady_clock::time_point free_at_;
  bool stalled_ = false;
  bool closed_ = false;
  std::uint64_t one_in_ = 0;
  std::uint64_t next_flip_ = 0;  ///< so many bytes from here
  std::mt19937 random_;
  std::uint64_t cut_left_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t passed_ = 0;
};

/// Listens on a free port of 127.0.0.1 and forwards to another one, which it keeps free for the node behind. ZeroMQ
/// links send on connections that the sender makes: most bytes to the node behind go `there`, few come `back`.
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

  [[nodiscard]] std::string address() const;  ///< where peers connect
  [[nodiscard]] std::string target() const;   ///< where the node behind listens

  [[nodiscard]] ByteWay& there() { return there_; }  ///< to the node behind
  [[nodiscard]] ByteWay& back() { return back_; }

  /// Breaks all connections; new ones are taken.
  void cut();

  /// Connections that were taken since the start.
  [[nodiscard]] std::uint64_t connections() const { return taken_; }

 private:
  struct Connection {
    detail::FileDescriptor peer;
    detail::FileDescriptor node;
    std::atomic<int> pumps = 2;  ///< that still run
    std::jthread there;
    std::jthread back;
  };

  void run();
  void take(detail::FileDescriptor peer);
  void pump(Connection& connection, ByteWay& way, int from, int to);

  detail::FileDescriptor listening_;
  detail::FileDescriptor reserved_;  // bound and never listening: nobody else is given the port
  std::uint16_t port_ = 0;
  std::uint16_t target_port_ = 0;
  ByteWay there_;
  ByteWay back_;
  std::atomic<std::uint64_t> taken_ = 0;
  std::mutex mutex_;
  std::list<Connection> connections_;  // guarded by mutex_
  std::jthread thread_;                // last: ends first
};

}  // namespace troupe::testing
