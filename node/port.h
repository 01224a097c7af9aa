// The seam below typed calls, for bridges: another framework's RPC layer, or another language. C++17; needs no other
// header of Troupe. Named ports call each other with runs of bytes; sessions, liveness and the secret are as for nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// One end of calls between named processes. It uses no globals, no signal handlers, and no thread before it is made or
/// after it is stopped; a process may hold several, and make them again and again. Its threads leave OpenMP as it is.
/// In a child that is forked later it is of no use and does no harm: it can be destroyed, calls end as stopped at once,
/// inside `call`, and other members do nothing. The parent's goes on.
/// Thread rule: any thread may call any member, also from within `done`, `serve` and the release of an owner, but for
/// `stop` and the destructor. All three run on the port's own threads, never on the one that does its input and output
/// and never inside `call`; only when the port stops, or has stopped, may they run inside a member. None may throw.
class Port {
 public:
  /// Bytes and what keeps them alive and unchanged; no owner: they outlive the port. Sent without a copy; the owner is
  /// released, under no lock, once the peer has them. Those that arrive have no particular alignment.
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
    Parts parts;      ///< if answered
    std::string why;  ///< if not: one sentence
  };
  using Done = std::function<void(Result)>;
  using Answer = std::function<void(Parts)>;
  using Serve = std::function<void(const std::string& from, std::uint64_t tag, Parts parts, Answer answer)>;

  struct Options {
    std::string name;                         ///< 1 to 127 of A-Z a-z 0-9 - _ : .
    std::string bind = "tcp://127.0.0.1:0";   ///< port 0: any that is free; or "ipc://PATH", "ipc://@NAME"
    std::string advertise;                    ///< "tcp://HOST:PORT" that peers are told instead: HOST in numbers, a name or
                                              ///< an interface of this machine, port 0: the one that was bound. Empty: as
                                              ///< bound; of a wildcard, the address that this machine has on its network
    std::string secret;                       ///< from draw_secret, the same for all that may call each other; empty:
                                              ///< drawn here, so that nobody else can
    bool trusted_network = false;             ///< may bind where other machines reach it; bytes are not encrypted
    unsigned threads = 64;                    ///< requests served at a time; one that blocks holds its thread
    // Times have a range; connect_patience and handshake_timeout that of 1 ms to 24 h.
    Time connect_patience = std::chrono::seconds(10);  ///< how long a peer's address is tried, also after a cut
    Time handshake_timeout = std::chrono::seconds(2);  ///< a connection that proves no secret within it is made anew
    Time heartbeat = std::chrono::milliseconds(100);   ///< 10 ms to 10 s: between two signs of life; 1 s with many peers
    Time lease = Time(0);  ///< 1 s to 24 h: a peer that is silent for so long is lost; a pair has the longer of both.
                           ///< 0: no peer is lost for its silence, as it may stop in a debugger
    std::function<void(const std::string& line)> log;  ///< refused connections; on the input/output thread
  };
  /// What goes wrong on purpose with the calls made here; the first `fail_count` end at once as peer_lost.
  struct Fault {
    unsigned fail_count = 0;
    bool drop = false;  ///< not sent; ends by its deadline, with its peer or with the port
    Time delay = Time(0);  ///< a year or more: never sent
  };
  struct Counts {
    std::size_t open = 0;       ///< calls that have not ended
    std::uint64_t started = 0;  ///< calls ever made
    std::size_t threads = 0;
  };
  static constexpr Time kNoDeadline = Time::max();

  /// Binds. Throws std::runtime_error saying why not, std::invalid_argument for a secret that is not 32 bytes, a time out
  /// of its range, and what `advertise` cannot be.
  explicit Port(Options options);
  ~Port();  ///< stop, if nobody has
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  static std::string draw_secret();
  std::string address() const;  ///< for others' `connect`: "tcp://127.0.0.1:40211"

  /// Begins to connect; calls made meanwhile wait. Needed on one side only; both listen at tcp, or both at ipc. One life of
  /// a port that was lost or removed stays so: its name can be connected to a new port only. Throws std::invalid_argument
  /// for a name that is none.
  void connect(const std::string& name, const std::string& address);
  /// The peer sees this port go, and calls to it end as peer_lost. That life of it stays out, and an attempt to connect to
  /// it is given up; a new one under its name is welcome, if it connects to this port or `connect` names it again.
  void remove(const std::string& name);

  /// Sends a request to a peer, or to this port itself; never blocks. `done` is called exactly once. peer_lost: no answer
  /// will come, since the peer is gone (known at once for a peer already lost), unknown, or dropped the request. There
  /// is no bound on what waits to be sent; what has not left at its deadline does not leave. Throws std::length_error
  /// beyond 65,000 parts (each begun GiB counts as one).
  void call(const std::string& peer, std::uint64_t tag, Parts parts, Time deadline, Done done);

  /// Serves requests from now on, also those that came before; once. One whose caller's deadline has passed is not served.
  /// Each call of `serve` may run beside others, also of one peer. `answer` is called once, then or later, from any thread;
  /// more often does nothing; dropped unused it ends the caller's call as peer_lost. A `serve` that waits for a call's
  /// `done` does not keep that from running.
  void start(Serve serve);

  /// Rule for calls of this tag from now on; the latest counts.
  void set_fault(std::uint64_t tag, Fault fault);
  Counts counts() const;

  /// Ends open calls as stopped, waits for running `serve`s, has answers given delivered, then closes all connections.
  /// Returns after `grace` at the latest, and half a second; false: something had not ended. Later calls end as stopped.
  bool stop(Time grace = std::chrono::seconds(2));

 private:
  const std::shared_ptr<class PortCore> core_;
};

}  // namespace troupe
