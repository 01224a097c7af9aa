// One backward pass on one node: first marking (which nodes participate), then running (which are done). A pass whose
// root knows its boundaries is not marked. Rules BW-1 to BW-6 and BW-9 of PROTOCOLS.md. Plain state: no CAF, no graph,
// no clock; one thread at a time.
//
//   idle --start, mark--> marking --(all marks answered)--> marked --run, gradient--> running --finished--> finished
//   idle --start_on--> running      idle --route--> marked          root only: finished --(all reported)--> complete
//   any but complete --fail, node_down--> failed
// A node that is marked again after its marks were answered returns from marked to marking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"
#include "messages/route.h"

namespace troupe {

/// The actions that a node must take for a pass, in this order, after an event.
namespace backward_actions {

/// Walk the local graph from these SendFns, and from this node's own roots if `from_roots`. Answered by exactly one
/// `walked`, in order; not if `must_reach` is set: then it fails unless it reaches exactly these RecvFns.
struct Walk {
  std::vector<BoundaryId> boundaries;
  bool from_roots = false;
  std::optional<std::vector<BoundaryId>> must_reach = {};  ///< ascending
  friend bool operator==(const Walk&, const Walk&) = default;
};
/// Send BackwardMark to `to`; its answer arrives at `mark_answered` with this number.
struct SendMark {
  NodeName to;
  std::uint64_t number = 0;
  std::vector<BoundaryId> boundaries;
  bool from_roots = false;
  friend bool operator==(const SendMark&, const SendMark&) = default;
};
/// Send BackwardMarked, the answer to the mark (to, request).
struct AnswerMark {
  NodeName to;
  std::uint64_t request = 0;
  std::set<NodeName> participants;
  friend bool operator==(const AnswerMark&, const AnswerMark&) = default;
};
/// Send BackwardRun to a node that has roots of its own.
struct SendRun {
  NodeName to;
  friend bool operator==(const SendRun&, const SendRun&) = default;
};
/// Start the local graph task at this node's own roots; it ends at once if there is nothing to do.
struct Run {
  friend bool operator==(const Run&, const Run&) = default;
};
/// Pass the gradients received for this boundary to the local graph task.
struct Accept {
  BoundaryId boundary;
  friend bool operator==(const Accept&, const Accept&) = default;
};
/// This node's part is done: send BackwardFinished to the root.
struct SendFinished {
  NodeName to;
  friend bool operator==(const SendFinished&, const SendFinished&) = default;
};
/// The pass has failed here: send BackwardFinished with the error to a participant.
struct SendFailed {
  NodeName to;
  Error error;
  friend bool operator==(const SendFailed&, const SendFailed&) = default;
};
/// The whole pass is done. Root only, at most once, and never with Failed.
struct Complete {
  friend bool operator==(const Complete&, const Complete&) = default;
};
/// The pass has failed on this node. At most once: the first cause.
struct Failed {
  Error error;
  friend bool operator==(const Failed&, const Failed&) = default;
};
/// The event was not allowed and changed nothing: a protocol_violation of `error.peer`.
struct Refused {
  Error error;
  friend bool operator==(const Refused&, const Refused&) = default;
};

using Action =
    std::variant<Walk, SendMark, AnswerMark, SendRun, Run, Accept, SendFinished, SendFailed, Complete, Failed, Refused>;
using Actions = std::vector<Action>;
using BoundariesByPeer = std::map<NodeName, std::vector<BoundaryId>>;

}  // namespace backward_actions

/// One node's part in one pass. The pass's creator is the root. Events may be repeated; those of different nodes come
/// in any order.
class BackwardTracker {
 public:
  enum class Phase : std::uint8_t { idle, marking, marked, running, finished, complete, failed };

  BackwardTracker(PassId pass, NodeName self) : pass_(std::move(pass)), self_(std::move(self)) {}

  /// At the root: starts the pass at this node's roots and at those on the nodes `remote_roots`. Call once.
  [[nodiscard]] backward_actions::Actions start(const std::set<NodeName>& remote_roots);

  /// The same for a pass that starts at this node's roots only and uses the boundaries of `route`. Call once.
  [[nodiscard]] backward_actions::Actions start_on(const msg::RouteLegs& route);

  /// `route` arrived from `from`, with gradients for one of its boundaries.
  [[nodiscard]] backward_actions::Actions route(const NodeName& from, const msg::RouteLegs& route);

  /// BackwardMark number `request` arrived from `from`; it reaches these SendFns of this node, and asks for its own
  /// roots.
  [[nodiscard]] backward_actions::Actions mark(const NodeName& from, std::uint64_t request,
                                               const std::vector<BoundaryId>& boundaries, bool from_roots);

  /// The oldest open Walk is done. It reached these RecvFns for the first time in this pass.
  [[nodiscard]] backward_actions::Actions walked(const backward_actions::BoundariesByPeer& reached);

  /// BackwardMarked arrived for this node's mark `number`.
  [[nodiscard]] backward_actions::Actions mark_answered(std::uint64_t number,
                                                        const std::vector<NodeName>& participants);

  /// BackwardRun arrived: marking is complete.
  [[nodiscard]] backward_actions::Actions run();

  /// BackwardGradients arrived for one boundary. They are used if the result is Accept. Duplicates, and those after the
  /// pass failed, are dropped silently.
  [[nodiscard]] backward_actions::Actions gradient(const NodeName& from, const BoundaryId& boundary);

  /// The local graph task is done and has sent all its gradients.
  [[nodiscard]] backward_actions::Actions finished();

  /// BackwardFinished without an error arrived from `participant`.
  [[nodiscard]] backward_actions::Actions reported(const NodeName& participant);

  /// A walk or a grad function failed here, or a peer reported that the pass failed there.
  [[nodiscard]] backward_actions::Actions fail(const Error& error);

  /// `node` is down, or a mark to it could not be sent; `why` names it. Fails the pass if this node knows `node` as a
  /// participant.
  [[nodiscard]] backward_actions::Actions node_down(const NodeName& node, const Error& why);

  /// Returns whether nothing is to come that the local graph task waits for.
  [[nodiscard]] bool may_finish() const;

  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  /// Returns the participants known here; at the root, complete once marking is.
  [[nodiscard]] const std::set<NodeName>& participants() const noexcept { return participants_; }
  /// Returns the participants that have not finished, for reports. Root only.
  [[nodiscard]] std::set<NodeName> unfinished() const;
  /// Returns whether all participants but this node have finished. Root only.
  [[nodiscard]] bool others_have_finished() const;
  /// Returns the whole state in one line, equal for equal trackers: "marking for trainer.4, 1 walk, unanswered 2, ...".
  [[nodiscard]] std::string text() const;

 private:
  struct Mark {
    NodeName from;
    std::uint64_t request = 0;
    friend auto operator<=>(const Mark&, const Mark&) = default;
  };

  [[nodiscard]] bool is_root() const { return self_ == pass_.creator; }
  [[nodiscard]] std::set<NodeName> concerned() const;
  /// All that the route tells this node: who participates, and what this node expects and must reach.
  [[nodiscard]] backward_actions::Walk take_route(const msg::RouteLegs& route);
  void send_mark(const NodeName& to, std::vector<BoundaryId> boundaries, bool from_roots,
                 backward_actions::Actions& out);
  void settle_marking(backward_actions::Actions& out);
  void settle_running(backward_actions::Actions& out);
  [[nodiscard]] backward_actions::Actions refuse(const NodeName& peer, std::string what) const;

  PassId pass_;
  NodeName self_;
  Phase phase_ = Phase::idle;
  std::optional<Error> failure_;

  std::set<Mark> seen_;                    // marks received, answered or not
  std::optional<Mark> engager_;            // the one answered last
  std::deque<std::optional<Mark>> walks_;  // open walks, each with the mark to answer when it is done
  std::set<std::uint64_t> unanswered_;     // this node's marks without an answer: the deficit
  std::uint64_t marks_sent_ = 0;
  std::set<NodeName> below_;  // participants to report to the engager

  std::optional<msg::RouteLegs> route_;  // of a pass without marks

  std::map<BoundaryId, NodeName> expected_;  // marked SendFns; value: the peer whose gradient is missing
  std::set<BoundaryId> arrived_;
  bool has_roots_ = false;
  bool run_ = false;  // own roots were started
  std::set<NodeName> remote_roots_;
  std::set<NodeName> participants_;
  std::set<NodeName> reported_;
};

}  // namespace troupe
