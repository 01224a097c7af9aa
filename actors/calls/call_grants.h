// Which peers may call which functions of a node.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "messages/ids.h"

namespace troupe {

/// The functions that each peer may call. Without grants every member of the cluster may call every function that is
/// registered; with them a peer may call what an entry of its name, or the entry "*", has, and nothing else. A node may
/// always call itself.
///
///   CallGrants grants;
///   grants.allow("trainer0", {"push", "pull", "stats.*"});  // "stats.*": all whose names begin so
///   grants.allow("master", {"*"});                          // all functions
///
/// A member function of a value is a function, too. Fetching a value needs no grant: a node can hold only references
/// that it was given; only a signed list of members can withhold that (WS-7). Troupe's own functions on values
/// (autograd, collectives, steps of optimizers, checkpoints) need no grant either. Troupe's functions that create
/// something on the node, or return a reference that the caller does not hold, need a grant as all others do:
/// "troupe.find" (Scope::find), "troupe.embedding_shard" (ShardedEmbedding) and "troupe.pipeline_seat" (Pipeline).
///
/// A plain value. Thread rule: one thread fills it; then any thread may ask.
class CallGrants {
 public:
  static constexpr char kAny = '*';

  /// Adds functions that `peer` may call, by the names under which they are registered.
  void allow(const NodeName& peer, const std::vector<std::string>& functions);

  /// Returns whether `peer` may call `function`.
  [[nodiscard]] bool may_call(std::string_view peer, std::string_view function) const;

  /// Returns true if no peer has an entry: every member may call every function.
  [[nodiscard]] bool empty() const { return by_peer_.empty(); }

  /// Returns the functions that entries name, once each, in alphabetical order, without those that end in "*".
  [[nodiscard]] std::vector<std::string> functions() const;

  /// Returns the grants as text: "master=*;trainer0,trainer1=pull,push". The same for equal grants.
  [[nodiscard]] std::string text() const;

  /// Parses the format of text(). Throws std::invalid_argument that names the malformed part.
  [[nodiscard]] static CallGrants parse(std::string_view text);

  friend bool operator==(const CallGrants&, const CallGrants&) = default;

 private:
  using Functions = std::set<std::string, std::less<>>;
  [[nodiscard]] bool has(std::string_view entry, std::string_view function) const;

  std::map<NodeName, Functions, std::less<>> by_peer_;
};

}  // namespace troupe
