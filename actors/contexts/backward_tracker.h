// One backward pass on one node: who takes part (marking), then who is done (running). Rules BW-1 to BW-6 of
// PROTOCOLS.md. Plain state: no CAF, no graph, no clock; one thread at a time.
//
//   idle --start, mark--> marking --(all marks answered)--> marked --run, gradient--> running --finished--> finished
//   any but complete --fail, node_down--> failed                    root only: finished --(all reported)--> complete
// A node that was marked again after its marks were answered goes back from marked to marking.
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

namespace troupe {

/// What a node has to do for a pass, in this order, after an event.
namespace backward_actions {

/// Walk the local graph from these SendFns, and from this node's own roots if `from_roots`; answered by exactly one
/// `walked`, in order.
struct Walk {
  std::vector<BoundaryId> boundaries;
  bool from_roots = false;
  friend bool operator==(const Walk&, const Walk&) = default;
};
/// BackwardMark to `to`; its answer goes to `mark_answered` with this number.
struct SendMark {
  NodeName to;
  std::uint64_t number = 0;
  std::vector<BoundaryId> boundaries;
  bool from_roots = false;
  friend bool operator==(const SendMark&, const SendMark&) = default;
};
/// BackwardMarked, the answer to the mark that came as (to, request).
struct AnswerMark {
  NodeName to;
  std::uint64_t request = 0;
  std::set<NodeName> participants;
  friend bool operator==(const AnswerMark&, const AnswerMark&) = default;
};
/// BackwardRun to a node that has roots of its own.
struct SendRun {
  NodeName to;
  friend bool operator==(const SendRun&, const SendRun&) = default;
};
/// Start the local graph task at this node's own roots; it ends at once if it has nothing to do.
struct Run {
  friend bool operator==(const Run&, const Run&) = default;
};
/// The gradients that came for this boundary enter the local graph task.
struct Accept {
  BoundaryId boundary;
  friend bool operator==(const Accept&, const Accept&) = default;
};
/// This node's part is done: BackwardFinished to the root.
struct SendFinished {
  NodeName to;
  friend bool operator==(const SendFinished&, const SendFinished&) = default;
};
/// The pass has failed here: BackwardFinished with the error, to a node that takes part.
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
/// The event was not allowed here or now and changed nothing: a protocol_violation of `error.peer`.
struct Refused {
  Error error;
  friend bool operator==(const Refused&, const Refused&) = default;
};

using Action = std::variant<Walk, SendMark, AnswerMark, SendRun, Run, Accept, SendFinished, SendFailed, Complete, Failed,
                            Refused>;
using Actions = std::vector<Action>;
using BoundariesByPeer = std::map<NodeName, std::vector<BoundaryId>>;

}  // namespace backward_actions

/// One node's part in one pass. The root is the pass's creator. Events may be repeated; those of different nodes come in
/// any order.
class BackwardTracker {
 public:
  enum class Phase : std::uint8_t { idle, marking, marked, running, finished, complete, failed };

  BackwardTracker(PassId pass, NodeName self) : pass_(std::move(pass)), self_(std::move(self)) {}

  /// Root: begins the pass at this node's roots and at those on the nodes `remote_roots`. Once.
  [[nodiscard]] backward_actions::Actions start(const std::set<NodeName>& remote_roots);

  /// BackwardMark number `request` came from `from`, which reaches these SendFns of ours, and wants our own roots.
  [[nodiscard]] backward_actions::Actions mark(const NodeName& from, std::uint64_t request,
                                       const std::vector<BoundaryId>& boundaries, bool from_roots);

  /// The oldest open Walk is done and reached, for the first time in this pass, these RecvFns.
  [[nodiscard]] backward_actions::Actions walked(const backward_actions::BoundariesByPeer& reached);

  /// BackwardMarked for our mark `number`.
  [[nodiscard]] backward_actions::Actions mark_answered(std::uint64_t number, const std::vector<NodeName>& participants);

  /// BackwardRun came: marking is complete.
  [[nodiscard]] backward_actions::Actions run();

  /// BackwardGradients came for one boundary. They are used if the answer is Accept; those that come twice, or after the
  /// pass failed, are dropped without a word.
  [[nodiscard]] backward_actions::Actions gradient(const NodeName& from, const BoundaryId& boundary);

  /// The local graph task is done and has sent all its gradients.
  [[nodiscard]] backward_actions::Actions finished();

  /// BackwardFinished without an error came from `participant`.
  [[nodiscard]] backward_actions::Actions reported(const NodeName& participant);

  /// Something failed here (a walk, a grad function), or a peer said that the pass failed there.
  [[nodiscard]] backward_actions::Actions fail(const Error& error);

  /// `node` is gone, or a mark to it could not be sent; `why` names it. Fails the pass if that node takes part as far as
  /// this one knows.
  [[nodiscard]] backward_actions::Actions node_down(const NodeName& node, const Error& why);

  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  /// The nodes that take part, as far as known here; at the root complete once marking is.
  [[nodiscard]] const std::set<NodeName>& participants() const noexcept { return participants_; }
  /// Participants that have not finished, for reports. Root only.
  [[nodiscard]] std::set<NodeName> unfinished() const;
  /// The whole state in one line, equal for equal trackers: "marking for trainer.4, 1 walk, unanswered 2, ...".
  [[nodiscard]] std::string text() const;
  /// SendFns of ours that take part.
  [[nodiscard]] std::size_t marked_count() const noexcept { return expected_.size(); }

 private:
  struct Mark {
    NodeName from;
    std::uint64_t request = 0;
    friend auto operator<=>(const Mark&, const Mark&) = default;
  };

  [[nodiscard]] bool is_root() const { return self_ == pass_.creator; }
  [[nodiscard]] std::set<NodeName> concerned() const;
  void send_mark(const NodeName& to, std::vector<BoundaryId> boundaries, bool from_roots, backward_actions::Actions& out);
  void settle_marking(backward_actions::Actions& out);
  void settle_running(backward_actions::Actions& out);
  [[nodiscard]] backward_actions::Actions refuse(const NodeName& peer, std::string what) const;

  PassId pass_;
  NodeName self_;
  Phase phase_ = Phase::idle;
  std::optional<Error> failure_;

  std::set<Mark> seen_;                            // marks received, answered or not
  std::optional<Mark> engager_;                    // the one answered last
  std::deque<std::optional<Mark>> walks_;          // open walks, with the mark to answer when one is done
  std::set<std::uint64_t> unanswered_;             // our marks: the deficit
  std::uint64_t marks_sent_ = 0;
  std::set<NodeName> below_;                       // participants to report to the engager

  std::map<BoundaryId, NodeName> expected_;        // marked SendFns, by the peer whose gradient they wait for
  std::set<BoundaryId> arrived_;
  bool has_roots_ = false;
  bool run_ = false;                               // own roots were started
  std::set<NodeName> remote_roots_;
  std::set<NodeName> participants_;
  std::set<NodeName> reported_;
};

}  // namespace troupe
