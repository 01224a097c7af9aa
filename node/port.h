// The interface below typed calls, for bridges: another framework's RPC layer, or another language. C++17; needs no
// other header of Troupe. Named ports call each other with byte sequences; sessions, liveness and the secret are as for
// nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// One end of calls between named processes. It uses no globals, no signal handlers, and no thread before its
/// construction or after its stop; a process may hold several, and make new ones at any time. Its threads do not change
/// OpenMP's settings.
/// In a child process forked later it is useless but harmless: it can be destroyed, calls end as stopped at once,
/// inside `call`, and other members do nothing. The parent's port is unaffected.
/// Thread rule: any thread may call any member except `stop` and the destructor, also from within `done`, `serve` and
/// the release of an owner. Those three run on the port's own threads, never on its input/output thread and never
/// inside `call`; only when the port stops, has stopped, or has no memory to pass them on, may they run inside a member
/// or on the input/output thread. REQUIRES: none of them throws.
class Port {
 public:
  /// Bytes and the owner that keeps them alive and unchanged; without an owner, they outlive the port. Sent without a
  /// copy; the owner is released, with no lock held, once the peer has the bytes. Arriving bytes have no particular
  /// alignment.
  struct Part {
    const void* data = nullptr;
    std::size_t size = 0;  ///< any; arriving parts beyond 1 GiB were joined, which costs their receiver a copy
    std::shared_ptr<const void> owner;
  };
  using Parts = std::vector<Part>;
  using Time = std::chrono::nanoseconds;

  enum class Outcome { answered, timeout, peer_lost, stopped };
  struct Result {
    Outcome outcome = Outcome::stopped;
    Parts parts;      ///< set if answered
    std::string why;  ///< one sentence; set unless answered
  };
  using Done = std::function<void(Result)>;
  using Answer = std::function<void(Parts)>;
  using Serve = std::function<void(const std::string& from, std::uint64_t tag, Parts parts, Answer answer)>;

  struct Options {
    std::string name;                        ///< 1 to 127 of A-Z a-z 0-9 - _ : .
    std::string bind = "tcp://127.0.0.1:0";  ///< port 0: any free one; or "ipc://PATH", "ipc://@NAME"
    std::string advertise;                   ///< "tcp://HOST:PORT" told to peers: HOST is an address, a name or an
                                             ///< interface of this machine; port 0: the bound one. Empty: as bound;
                                             ///< for a wildcard, this machine's address on its network
    std::string secret;                      ///< from draw_secret, the same for all ports that call each other; empty:
                                             ///< a new one, so that no other port can call this one
    bool trusted_network = false;            ///< may bind where other machines reach it; bytes are not encrypted
    unsigned threads = 64;                   ///< requests served at a time; one that blocks holds its thread
    // Times have a range; that of connect_patience and handshake_timeout is 1 ms to 24 h.
    Time connect_patience = std::chrono::seconds(10);  ///< how long a peer's address is tried, also after a cut
    Time handshake_timeout = std::chrono::seconds(2);  ///< a connection without proof of the secret by then is replaced
    Time heartbeat = std::chrono::milliseconds(100);   ///< 10 ms to 10 s: interval of heartbeats; 1 s with many peers
    Time lease = Time(0);  ///< 1 s to 24 h: a peer silent for this long is lost; a pair uses the longer one.
                           ///< 0: silence loses no peer: it may be stopped in a debugger
    std::function<void(const std::string& line)> log;  ///< refused connections; on the input/output thread
  };
  /// Injected failures of this port's calls; the first `fail_count` end at once as peer_lost.
  struct Fault {
    unsigned fail_count = 0;
    bool drop = false;     ///< not sent; ends at its deadline, with its peer or with the port
    Time delay = Time(0);  ///< a year or more: never sent
  };
  struct Counts {
    std::size_t open = 0;       ///< calls that have not ended
    std::uint64_t started = 0;  ///< calls ever made
    std::size_t threads = 0;
  };
  static constexpr Time kNoDeadline = Time::max();

  /// Binds. Throws std::runtime_error with the reason; std::invalid_argument for a secret that is not 32 bytes, a time
  /// out of its range, or an invalid `advertise`.
  explicit Port(Options options);
  ~Port();  ///< calls stop, unless it was called
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  static std::string draw_secret();
  std::string address() const;  ///< for `connect` of other ports: "tcp://127.0.0.1:40211"

  /// Starts to connect; calls made meanwhile wait. Needed on one side only; both must listen at tcp, or both at ipc. A
  /// life of a port that was lost or removed stays so: the name can be connected to a new port only. A connected name
  /// may be connected to another address: the port found there, if any, takes the place of the former, whose calls end
  /// as peer_lost; if none is found, the former stays. Throws std::invalid_argument for an invalid name.
  void connect(const std::string& name, const std::string& address);
  /// Disconnects the peer: calls to it end as peer_lost, and it sees this port go. That life of it stays out, and an
  /// attempt to connect to it is cancelled. A new life of its name may connect to this port, or `connect` may name it
  /// again.
  void remove(const std::string& name);

  /// Sends a request to a peer, or to this port itself; never blocks. `done` is called exactly once. peer_lost: no
  /// answer will come, because the peer is gone (known at once for a peer already lost), unknown, or dropped the
  /// request. stopped: the port has stopped, or had no memory for the call. The queue is unbounded; a request not sent
  /// by its deadline is never sent. Throws std::length_error beyond 65,000 parts (each started GiB counts as one), and
  /// std::bad_alloc; then there is no call, and `done` is not called.
  void call(const std::string& peer, std::uint64_t tag, Parts parts, Time deadline, Done done);

  /// Serves requests from now on, including those that arrived before. REQUIRES: called once. A request whose caller's
  /// deadline has passed is not served. Calls of `serve` may run concurrently, also for one peer. `answer` is called
  /// once, immediately or later, from any thread; further calls do nothing; destroying it unused ends the caller's call
  /// as peer_lost. A `serve` that waits for a call's `done` does not block that `done`.
  void start(Serve serve);

  /// Sets the fault for later calls of this tag, replacing an earlier one.
  void set_fault(std::uint64_t tag, Fault fault);
  Counts counts() const;

  /// Ends open calls as stopped, waits for running `serve`s, delivers their answers, then closes all connections.
  /// Returns after at most `grace` and half a second; false: not everything had ended. Later calls end as stopped.
  bool stop(Time grace = std::chrono::seconds(2));

 private:
  const std::shared_ptr<class PortCore> core_;
};

}  // namespace troupe
