// One node of a cluster in this process: joins, serves, shuts down.
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

#include "actors/calls/call_grants.h"
#include "actors/core/reports.h"
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
#include "node/keys/key_ring.h"
#include "node/links/secret.h"
#include "node/links/transports.h"

namespace troupe {

namespace detail {
class MemberFile;
struct NodeCounts;
struct NodeParts;
struct OptionalParts;
}  // namespace detail

enum class NodePhase : std::uint8_t;

/// Whether `troupe status` and `troupe stack` can query a node. `on` costs a thread.
enum class Control : std::uint8_t { off, on };

/// When a silent peer counts as unreachable, and when as down. All nodes should have the same settings; of two peers'
/// leases the longer one counts for both.
struct Liveness {
  /// Interval of heartbeats, 10 ms to 10 s; grows with the number of peers, up to 1 s. 0: 100 ms; 200 ms with keys, or
  /// in a trusted network.
  std::chrono::milliseconds heartbeat{0};
  /// Unreachable: heartbeat late by this much, 10 ms to 60 s. 0: 200 ms; 800 ms with keys, or in a trusted network.
  std::chrono::milliseconds suspicion{0};
  std::chrono::milliseconds lease{10'000};  ///< down: silent for this long, 1 s to 24 h
  bool debug = false;                       ///< the program is in a debugger: no silence, on either side, counts
};

/// The settings with which a process joins a cluster.
struct NodeOptions {
  NodeName name;  ///< 1 to 127 of A-Z a-z 0-9 - _ : . (from a cluster file, `troupe up` or TROUPE_NODE: 1 to 64)
  std::string cluster_id = "troupe";
  /// Who may connect over TCP. loopback: this machine. keys: any machine whose node proves a key of the ring `keys`;
  /// traffic is encrypted. trusted: any machine whose node proves `secret`; traffic is not encrypted. automatic: keys
  /// if `keys` is set, otherwise loopback.
  Network network = Network::automatic;
  /// The key of this node and of every node that may be a member (TCP only). See node/keys/key_ring.h.
  std::optional<KeyRing> keys;
  std::shared_ptr<detail::MemberFile> member_file;  ///< set by use_key_files: who is in changes with it
  /// The address on which this node listens: "tcp://HOST:PORT", "ipc://PATH", "ipc://@NAME", or an address of another
  /// kind in `transports`. "ipc://" alone: any free path. Empty: an address of the seed's kind, for TCP on the
  /// interface from which the seed is reached; "tcp://127.0.0.1:*" without a seed.
  std::string bind;
  /// The address of any node of the cluster; or "tcp://NAME:PORT" with a host name, all of whose addresses are tried;
  /// or "file:PATH", one file given to all nodes, through which they find each other. Empty: this is the first node. If
  /// it has key files and founded a cluster in an earlier life, it joins that cluster, if nodes of it still run.
  std::string seed;
  NodeName seed_name;  ///< with `keys`: the node at the address `seed`; empty: the first of the ring
  /// With key files: the address, "tcp://HOST:PORT" (port "*": any free one), at which nodes that are not in this
  /// node's list of members yet may show their certificates. Empty: none; such a node can join once a member has a list
  /// with it.
  std::string join_endpoint;
  /// With key files: the join endpoint of `seed_name`, where this node shows its certificate before it joins. Empty: it
  /// shows none, since the seed's list of members has this node.
  std::string introduce_at;
  std::uint32_t world_size = 1;       ///< join returns when this many nodes are members; 0: at once
  bool grows = false;                 ///< more than `world_size` nodes may join, at any time; same on all nodes
  std::optional<std::uint32_t> rank;  ///< the wanted rank; nullopt: by arrival
  std::string role;                   ///< empty: the name without its index
  ClusterSecret secret = ClusterSecret::random();
  Transports transports;                            ///< the available kinds of addresses
  std::map<std::string, std::string> link_options;  ///< of the transport that `bind` names; see transports.h
  PoolOptions pool;
  Deadline join_deadline = std::chrono::seconds(30);
  /// For this node's calls; see Node::set_device_map. In a world that does not grow, for its nodes only: join refuses
  /// others when it is complete, and its other nodes see this one go down.
  std::map<NodeName, DeviceMap> device_maps;
  Liveness liveness;
  Deadline call_deadline;  ///< of calls without a deadline of their own; see node.time_left()
  PeerLimits peer_limits;  ///< messages in flight to one peer, and what is kept for it
  CallGrants call_grants;  ///< which members may call which functions of this node; none: all may call all
  /// Upper bound, in bytes, of the memory for large tensors that peers on this host read in place (over "ipc", and over
  /// "tcp" with keys); as much again on GPUs. Tensors beyond it are sent as bytes; 0: all are. Memory that is unused
  /// for some seconds is returned to the system.
  std::size_t shared_memory_max = std::size_t{2} << 30;
  bool rings = true;  ///< small messages to peers on this host take shared memory, not a socket (likewise)
  /// Threads that wait for such messages poll for up to 200 us before they sleep: less often while that finds nothing,
  /// never if the process may use one processor only.
  bool spins = true;
  /// From join on, the whole process (all its nodes) may start no program: the kernel kills a process, or a child that
  /// it forked, that tries. Threads started later also cannot access other processes' memory; threads that already run
  /// are refused only some ways to do so (confinement.h). Cannot be undone.
  bool confined = false;
  Leaks leaks = Leaks::warn;  ///< references that the program still holds at shutdown
  /// The file to which this node appends a line for each peer that comes, goes or is refused, each call that is denied,
  /// and each change of keys. Empty: none. See node/audit/README.md.
  std::string audit_log;
  /// The level from which this process logs to standard error, unless the program has a logger of its own: "trace",
  /// "debug", "info", "warn", "error" or "off". Empty: "info", or what another node has set (log.h).
  std::string log_level;
  Control control = Control::off;
  /// If this node's router has work but makes no progress for this long (1 s to 24 h), the node logs it and aborts the
  /// process (SIGABRT). Time during which the process is suspended does not count. nullopt, or `liveness.debug`: never.
  std::optional<Duration> stall_limit = std::chrono::seconds(30);

  /// Sets `keys`, `secret`, `cluster_id` and, if it is empty, `name` from the files of `troupe keys`: the node's own
  /// key, and the list of members, "cluster.members" beside it if `members` is empty. Relative paths are resolved
  /// now, against the working directory. While the node runs it looks for a newer list every second: members that the
  /// list lacks, or has with another key, count as down. Throws RemoteError: not_authorized (other users can read the
  /// key; the list lacks this node, or its key has expired), bad_argument (a malformed file; a list that the cluster's
  /// key has not signed; the key of another node).
  void use_key_files(const std::string& key_file, const std::string& members = "");

  /// Returns the settings in the variables of `troupe up`, or torchrun-style variables; without any, a world of one,
  /// which is logged. Secrets in inherited descriptors are read by the first call for a node, and kept for later calls.
  /// Throws EnvironmentError or RemoteError (an unreadable secret), naming the variable and its value.
  [[nodiscard]] static NodeOptions from_environment();
};

/// The result of a shutdown.
struct ShutdownReport {
  std::vector<std::string> waited_for;  ///< what had not ended by the deadline, one line each; empty: a clean end
  std::vector<std::string> leaked;      ///< references to other nodes' values that were still held, and their origins
  [[nodiscard]] bool clean() const { return waited_for.empty(); }
};

/// One node of a cluster and the Scope of its program. Several nodes fit in one process. Thread rule: any thread may
/// call any member. The destructor ends the node (ungracefully, within 2 s) unless shutdown or stop did.
///
/// A child process that is forked has no node (checked on Linux 4.14 and later): there calls and waits for their
/// futures fail with shutting_down, serve, shutdown, stop and wait_for_members throw that, and the ends of the Node, of
/// Scopes and of references do nothing. Nothing else may be used, above all no tensor that came over ipc: it is in
/// memory that a child does not have.
class Node final : public Scope {
 public:
  /// Starts a node and waits until its world is complete; until then, calls of other nodes wait too. Throws
  /// RemoteError: timeout (naming the members present), auth_failed, name_in_use, invalid_name, peer_unreachable (also
  /// a host name without an address), peer_restarted (a rendezvous file that names a former life), resource_exhausted
  /// (address in use, world complete, too few descriptors), not_authorized (other machines without keys, on a network
  /// that is not declared trusted; a name with another key), bad_argument (a rank that is taken or out of range,
  /// another world size, no such transport, option or log level, a seed of another transport, a file of another
  /// cluster, keys of another node or none where the network needs them, a file that cannot be an audit log),
  /// not_joined (a device map for a node that the complete world lacks).
  [[nodiscard]] static Node join(NodeOptions options, FunctionRegistry functions);

  /// Starts a node from given parts, for local clusters, the simulator and tests.
  explicit Node(detail::NodeParts parts);

  ~Node();
  Node(Node&& other) noexcept;
  Node& operator=(Node&&) = delete;

  [[nodiscard]] const NodeName& name() const { return node_name(); }
  [[nodiscard]] std::string address() const;

  /// Returns where this node hears newcomers; empty: nowhere. See NodeOptions::join_endpoint.
  [[nodiscard]] std::string join_endpoint() const;

  /// Returns all members that are up, including this node, by name.
  [[nodiscard]] std::vector<Peer> members() const;

  /// Returns the name and rank of this node.
  [[nodiscard]] WorkerInfo info() const;

  /// Returns name and rank of all members that are up, including this node, by rank.
  [[nodiscard]] std::vector<WorkerInfo> infos() const;

  /// Returns the member of that name or rank; its last life if it is down. Throws RemoteError{not_joined}, naming the
  /// members.
  [[nodiscard]] WorkerInfo info(std::string_view name) const;
  [[nodiscard]] WorkerInfo info(std::int64_t rank) const;

  /// Returns the members of that role that are up, by rank. Throws RemoteError{not_joined}, naming the existing roles.
  [[nodiscard]] Group role(std::string_view role) const { return Group::of_role(*this, role); }

  /// Returns a group of these nodes, whether they are up or not; without `names`, of all that are up. See Group.
  [[nodiscard]] Group group(std::vector<NodeName> names) const { return Group(std::move(names)); }
  [[nodiscard]] Group group() const { return Group::of_all(*this); }

  /// Waits until `count` nodes, including this one, are members and up. Throws RemoteError: timeout, naming those
  /// present; shutting_down, or the cause if the node has failed.
  void wait_for_members(std::size_t count, Deadline deadline) const;

  /// Returns counts for debug info and tests.
  [[nodiscard]] detail::NodeCounts counts() const;

  /// Returns the numbers of references, calls, contexts and threads of this node, and its traffic.
  [[nodiscard]] DebugInfo debug_info() const;

  /// Returns all waits on this node, as `troupe stack` shows them. Takes up to 0.5 s if parts of the node are busy.
  [[nodiscard]] StackInfo stack() const;

  /// Switches the counting of bytes and calls per peer on (the default) or off; counts restart at 0.
  void measure_traffic(bool on);

  /// Sets devices for calls of this node to `peer`: tensors on the first device of a pair arrive on the second; tensors
  /// in answers and fetched values go the other way. A tensor stays on its GPU between nodes of one process, and
  /// between processes of a host that both use that GPU (transport ipc); otherwise it travels through the CPU. Adds to
  /// earlier pairs; `peer` need not be up. A tensor on a GPU without a pair is refused
  /// (RemoteError{missing_device_map}). Throws std::invalid_argument as DeviceMap::add, DeviceError if this process
  /// lacks a device, RemoteError{not_joined} for a node that is not one of a complete world that does not grow.
  void set_device_map(const NodeName& peer, const DeviceMap& map);

  /// Calls `handler` on the pool for each peer that goes down from now on. What it throws is logged. The handler may
  /// hold Scopes of this node: it ends with shutdown, stop or the destructor, on their thread.
  void on_down(std::function<void(const Peer&, const Error&)> handler);

  /// Returns the message of the first peer that declared this node dead while it lived; nullopt if none did. The two
  /// stay apart for good. To be a member again, end this node and join anew: that is a new life, without the old one's
  /// values.
  [[nodiscard]] std::optional<Error> declared_dead() const;

  /// Serves until every living member has called serve or shutdown and no work is pending on any node. No time limit; a
  /// member that dies is left out. Throws RemoteError: the cause if this node ended before; bad_argument if it is
  /// called in a function, a `then` or a handler that this node runs: it would wait for itself. Such code may call
  /// stop().
  void serve();

  /// Ends the node together with the others: serves until every living member has called serve or shutdown and no work
  /// is pending, then stops. A served function that has returned a Future is pending only while its caller waits.
  /// Without a deadline it waits as long as the others' programs run; a member that dies is left out. At `deadline` it
  /// leaves all the same: the log and the report name the nodes left behind and the pending work. A second call returns
  /// at once. Throws, at its end, RemoteError with the cause if the node has failed; std::logic_error if the program
  /// still holds references and NodeOptions::leaks says `fail`. Throws RemoteError{bad_argument} at once where serve()
  /// does.
  ShutdownReport shutdown(Deadline deadline = Deadline::while_peer_lives());

  /// Ends this node now; its peers see it go down. A served function may call it. The callers of that function, and of
  /// all others that this node serves, get shutting_down or peer_down, which does not say whether the function ended.
  /// Waits up to 2 s for functions, but not for the calling one; the destructor waits for that one, within 2 s.
  ShutdownReport stop();

  [[nodiscard]] detail::NodeCore& core() const { return *state().node; }

 private:
  [[nodiscard]] std::optional<TimePoint> due_after(Deadline deadline) const;
  void enter(NodePhase phase) const;

  std::unique_ptr<detail::OptionalParts> parts_;  // null only in an object that was moved from
};

}  // namespace troupe
