// A process's place in a cluster: starts, serves, ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/core/leaks.h"
#include "actors/deadline.h"
#include "actors/debug_info.h"
#include "actors/executor.h"
#include "actors/function_registry.h"
#include "actors/group.h"
#include "actors/link.h"
#include "actors/scope.h"
#include "actors/sessions/peer_limits.h"
#include "actors/stack_info.h"
#include "actors/worker_info.h"
#include "node/control/cluster_report.h"
#include "node/links/secret.h"
#include "node/links/transports.h"

namespace troupe {

namespace detail {
class NodeControl;
struct NodeCounts;
struct NodeParts;
class Watchdog;
}  // namespace detail

/// Whether `troupe status` and `troupe stack` can ask a node; on, it has a thread for that.
enum class Control : std::uint8_t { off, on };

/// When silence means something. A node and its peers should have the same; a pair uses the longer lease of both.
struct Liveness {
  std::chrono::milliseconds heartbeat{100};  ///< 10 ms to 10 s; grows with more than ten peers, up to a second
  std::chrono::milliseconds suspicion{200};  ///< 10 ms to 60 s: silent for so long beyond a heartbeat, a peer is unreachable
  std::chrono::milliseconds lease{10'000};   ///< 1 s to 24 h: silent for so long, it is down
  bool debug = false;                        ///< this node judges nobody, and nobody judges it: it is stopped in a debugger
};

/// Who a process is in its cluster, and how it gets there.
struct NodeOptions {
  NodeName name;
  std::string cluster_id = "troupe";
  /// Who may reach this node over TCP. `trusted`: other machines, which prove the secret; bytes are not encrypted.
  Network network = Network::loopback;
  /// Where this node listens: "tcp://HOST:PORT", "ipc://PATH", "ipc://@NAME", or what `transports` has more; "ipc://" alone:
  /// anywhere. Empty: anywhere in the way of the seed, over TCP at the address from which it is reached;
  /// "tcp://127.0.0.1:*" without one.
  std::string bind;
  /// Where a node of the cluster listens, or "tcp://NAME:PORT" with a host's name, all of whose addresses are tried, or
  /// "file:PATH" of a file that all nodes are given and through which they find each other. Empty: this is the first node.
  std::string seed;
  std::uint32_t world_size = 1;                      ///< join returns when so many are there; 0: at once
  std::optional<std::uint32_t> rank;                 ///< the place in the world that it wants; nothing: by arrival
  std::string role;                                  ///< empty: the name without its index
  ClusterSecret secret = ClusterSecret::random();
  Transports transports;                             ///< which kinds of addresses there are
  std::map<std::string, std::string> link_options;   ///< of the transport that `bind` names; see transports.h
  PoolOptions pool;
  Deadline join_deadline = std::chrono::seconds(30);
  std::map<NodeName, DeviceMap> device_maps;         ///< of this node's calls; see Node::set_device_map
  Liveness liveness;
  Deadline call_deadline;                            ///< of calls that are given no other; node.time_left() says it
  PeerLimits peer_limits;                            ///< what it sends to one peer at a time, takes of it and keeps for it
  Leaks leaks = Leaks::warn;         ///< references that the program still holds at the common end
  std::string log_level;                             ///< if not empty, join sends the log to standard error from there on
  Control control = Control::off;
  /// A node whose router has not turned for so long although it has work says so and ends its process, by SIGABRT. Time in
  /// which the process does not run does not count. Nothing, or `liveness.debug`: never.
  std::optional<Duration> stall_limit = std::chrono::seconds(30);

  /// What `troupe up`, or torchrun-style variables, say about this process; a world of one without any.
  /// Throws EnvironmentError or RemoteError (an unreadable secret), naming the variable and its value.
  [[nodiscard]] static NodeOptions from_environment();
};

/// How a shutdown went.
struct ShutdownReport {
  std::vector<std::string> waited_for;  ///< what had not ended by the deadline, one line each; empty: a clean end
  std::vector<std::string> leaked;      ///< references to other nodes' values that were still held, and where they came from
  [[nodiscard]] bool clean() const { return waited_for.empty(); }
};

/// One node of a cluster and the Scope of its program. Several nodes fit in one process.
/// Thread rule: any thread may call any member. Ends in its destructor, at the latest (ungracefully, within 2 s).
class Node final : public Scope {
 public:
  /// Starts a node and waits until its world is complete; calls of others wait as long. Throws RemoteError: timeout (naming
  /// who is there), auth_failed, name_in_use, peer_unreachable (also a host name without an address), peer_restarted (a
  /// rendezvous file that names a former life), resource_exhausted (address in use, world complete, too few descriptors),
  /// not_authorized (other machines, on a network that is not said to be trusted), bad_argument (a rank that is taken or out
  /// of range, another world size, no such transport or option, a seed of another transport, a file of another cluster).
  [[nodiscard]] static Node join(NodeOptions options, FunctionRegistry functions);

  /// Starts a node out of given parts, for local clusters, the simulator and tests.
  explicit Node(detail::NodeParts parts);

  ~Node();
  Node(Node&& other) noexcept;
  Node& operator=(Node&&) = delete;

  [[nodiscard]] const NodeName& name() const { return node_name(); }
  [[nodiscard]] std::string address() const;

  /// All members that are up, this node among them, by name.
  [[nodiscard]] std::vector<Peer> members() const;

  /// Name and rank of this node.
  [[nodiscard]] WorkerInfo info() const;

  /// Name and rank of all members that are up, this node among them, by rank.
  [[nodiscard]] std::vector<WorkerInfo> infos() const;

  /// Of the member of that name or rank, the last one if it is down. Throws RemoteError{not_joined}, naming the members.
  [[nodiscard]] WorkerInfo info(std::string_view name) const;
  [[nodiscard]] WorkerInfo info(std::int64_t rank) const;

  /// The members of that role that are up, by rank. Throws RemoteError{not_joined}, naming the roles there are.
  [[nodiscard]] Group role(std::string_view role) const { return Group::of_role(*this, role); }

  /// These nodes, whether they are up or not; all that are up without `names`. See Group.
  [[nodiscard]] Group group(std::vector<NodeName> names) const { return Group(std::move(names)); }
  [[nodiscard]] Group group() const { return Group::of_all(*this); }

  /// Waits until `count` nodes, this one among them, are members and up; the Error says who is there.
  [[nodiscard]] std::optional<Error> wait_for_members(std::size_t count, Deadline deadline);

  /// Counts for debug info and tests.
  [[nodiscard]] detail::NodeCounts counts() const;

  /// References, calls, contexts, threads and traffic of this node, as numbers.
  [[nodiscard]] DebugInfo debug_info() const;

  /// What waits for what on this node, as `troupe stack` shows it. Takes up to 0.5 s if parts of the node are busy.
  [[nodiscard]] StackInfo stack() const;

  /// Whether bytes and calls per peer are counted (they are, unless switched off); counts begin anew.
  void measure_traffic(bool on);

  /// Tensors on the first device of each pair arrive on the second in calls of this node to `peer`, and take the same way
  /// back in answers and fetched values. Adds to what was said before; `peer` need not be there yet. A tensor on a GPU
  /// without a pair is refused (RemoteError{missing_device_map}). Throws std::invalid_argument if the pairs are not
  /// one-to-one, DeviceError if this process lacks a device.
  void set_device_map(const NodeName& peer, const DeviceMap& map);

  /// Calls `handler` on the pool for each peer that goes down from now on.
  void on_down(std::function<void(const Peer&, const Error&)> handler);

  /// What the first peer said that took this node for dead while it lived; nothing if none did. They stay apart for good.
  /// To be a member for it again, end this node and join anew: that is a new life, without what the old one owned.
  [[nodiscard]] std::optional<Error> declared_dead() const;

  /// Serves until every living member calls serve or shutdown and nothing is under way anywhere. No time limit; the end
  /// of any member is noticed, and the rest go on without it. Throws RemoteError with why this node ended before.
  void serve();

  /// Ends the node together with the others: waits, and serves, until every living member has called serve or shutdown
  /// and nothing is under way, then stops. Without a deadline it waits as long as the others' programs go on, and takes
  /// the end of any member into account. At `deadline` it leaves all the same: the log and the report name the nodes that
  /// it leaves and what was under way. A second call returns at once.
  /// Throws, when all that is done, RemoteError if the node has failed, with the cause; std::logic_error if the program
  /// still holds references and NodeOptions::leaks says so.
  ShutdownReport shutdown(Deadline deadline = Deadline::while_peer_lives());

  /// Ends this node now; peers see it go.
  ShutdownReport stop();

  [[nodiscard]] detail::NodeCore& core() const { return *state().node; }

 private:
  [[nodiscard]] std::optional<TimePoint> due_after(Deadline deadline) const;
  void enter(NodePhase phase) const;

  std::unique_ptr<detail::NodeControl> control_;  // null: nobody can ask
  std::unique_ptr<detail::Watchdog> watchdog_;    // null: nobody watches
};

}  // namespace troupe
