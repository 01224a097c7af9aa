#include "actors/contexts/backward_tracker.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

using namespace backward_actions;

Actions BackwardTracker::start(const std::set<NodeName>& remote_roots) {
  if (!is_root() || phase_ != Phase::idle) return refuse(self_, "a pass is started once, by its creator");
  phase_ = Phase::marking;
  participants_.insert(self_);
  has_roots_ = true;
  Actions out;
  for (const NodeName& peer : remote_roots) {
    if (peer == self_) continue;
    remote_roots_.insert(peer);
    send_mark(peer, {}, true, out);
  }
  walks_.emplace_back(std::nullopt);
  out.push_back(Walk{{}, true});
  return out;
}

Actions BackwardTracker::start_on(const msg::RouteLegs& route) {
  if (!is_root() || phase_ != Phase::idle) return refuse(self_, "a pass is started once, by its creator");
  Walk walk = take_route(route);
  walk.from_roots = true;
  phase_ = Phase::running;
  has_roots_ = true;
  run_ = true;
  return {std::move(walk), Run{}};
}

Actions BackwardTracker::route(const NodeName& from, const msg::RouteLegs& route) {
  if (phase_ == Phase::failed || route_ == route) return {};
  if (is_root() || phase_ != Phase::idle) return refuse(from, "another route than the one that the pass has");
  Walk walk = take_route(route);
  phase_ = Phase::marked;
  return {std::move(walk)};
}

Walk BackwardTracker::take_route(const msg::RouteLegs& route) {
  Walk walk;
  walk.must_reach.emplace();
  participants_.insert(self_);
  for (const msg::RouteLeg& leg : route) {
    participants_.insert({leg.sender, leg.receiver});
    for (const std::uint64_t serial : leg.serials) {
      if (leg.sender == self_) {
        expected_.emplace(leg.id(serial), leg.receiver);
        walk.boundaries.push_back(leg.id(serial));
      }
      if (leg.receiver == self_) walk.must_reach->push_back(leg.id(serial));
    }
  }
  route_ = route;
  return walk;
}

Actions BackwardTracker::mark(const NodeName& from, std::uint64_t request, const std::vector<BoundaryId>& boundaries,
                              bool from_roots) {
  if (phase_ == Phase::failed) return {SendFailed{from, *failure_}};
  const Mark mark{from, request};
  if (seen_.contains(mark)) return {};
  if (route_) return refuse(from, "a mark for a pass that has a route");
  if (phase_ != Phase::idle && phase_ != Phase::marking && phase_ != Phase::marked) {
    return refuse(from, "a boundary was marked after marking was complete");
  }
  if (is_root() && (phase_ != Phase::marking || from_roots))
    return refuse(from, "a mark for a pass that this node began");
  const auto taken = std::find_if(boundaries.begin(), boundaries.end(), [&](const BoundaryId& boundary) {
    const auto at = expected_.find(boundary);
    return at != expected_.end() && at->second != from;
  });
  if (taken != boundaries.end()) return refuse(from, "boundary " + taken->text() + " was marked by another node");

  seen_.insert(mark);
  participants_.insert({self_, from});
  Walk walk;
  for (const BoundaryId& boundary : boundaries) {
    if (expected_.emplace(boundary, from).second) walk.boundaries.push_back(boundary);
  }
  walk.from_roots = from_roots && !std::exchange(has_roots_, has_roots_ || from_roots);

  const bool engages = !is_root() && phase_ != Phase::marking;
  if (engages) {
    phase_ = Phase::marking;
    engager_ = mark;
    below_ = {self_};
  }
  walks_.emplace_back(engages ? std::nullopt : std::optional(mark));
  return {std::move(walk)};
}

Actions BackwardTracker::walked(const BoundariesByPeer& reached) {
  if (phase_ == Phase::failed) return {};
  if (walks_.empty()) return refuse(self_, "a walk ended that was not asked for");
  Actions out;
  for (const auto& [peer, boundaries] : reached) {
    if (!boundaries.empty()) send_mark(peer, boundaries, false, out);
  }
  // Answered only now: the marks that this mark caused are in this node's deficit (BW-2).
  if (const auto mark = std::exchange(walks_.front(), std::nullopt))
    out.push_back(AnswerMark{mark->from, mark->request, {}});
  walks_.pop_front();
  settle_marking(out);
  return out;
}

Actions BackwardTracker::mark_answered(std::uint64_t number, const std::vector<NodeName>& participants) {
  if (phase_ == Phase::failed || unanswered_.erase(number) == 0) return {};
  below_.insert(participants.begin(), participants.end());
  participants_.insert(participants.begin(), participants.end());
  Actions out;
  settle_marking(out);
  return out;
}

Actions BackwardTracker::run() {
  if (phase_ == Phase::failed || run_) return {};
  if (is_root() || !has_roots_ || phase_ == Phase::marking || phase_ == Phase::idle) {
    return refuse(pass_.creator, "BackwardRun before the marks were answered, or without roots");
  }
  run_ = true;
  phase_ = Phase::running;
  return {Run{}};
}

Actions BackwardTracker::gradient(const NodeName& from, const BoundaryId& boundary) {
  if (phase_ == Phase::failed) return {};
  const auto at = expected_.find(boundary);
  if (at == expected_.end()) return refuse(from, "gradients for boundary " + boundary.text() + ", which takes no part");
  if (at->second != from) return refuse(from, "gradients for boundary " + boundary.text() + " of another node");
  if (phase_ == Phase::marking) return refuse(from, "gradients before marking was complete");
  if (!arrived_.insert(boundary).second) return {};
  if (phase_ == Phase::marked) phase_ = Phase::running;
  return {Accept{boundary}};
}

Actions BackwardTracker::finished() {
  if (phase_ == Phase::failed) return {};
  if (!may_finish()) return refuse(self_, "finished with gradients outstanding");
  phase_ = Phase::finished;
  if (!is_root()) return {SendFinished{pass_.creator}};
  reported_.insert(self_);
  Actions out;
  settle_running(out);
  return out;
}

bool BackwardTracker::may_finish() const {
  return phase_ == Phase::running && arrived_.size() == expected_.size() && (run_ || !has_roots_);
}

Actions BackwardTracker::reported(const NodeName& participant) {
  if (phase_ == Phase::failed || phase_ == Phase::complete) return {};
  const bool may_report = is_root() && (phase_ == Phase::running || phase_ == Phase::finished);
  if (!may_report || !participants_.contains(participant)) return refuse(participant, "finished without taking part");
  reported_.insert(participant);
  Actions out;
  settle_running(out);
  return out;
}

Actions BackwardTracker::fail(const Error& error) {
  if (phase_ == Phase::failed || phase_ == Phase::complete) return {};
  const std::set<NodeName> told = concerned();
  phase_ = Phase::failed;
  failure_ = error;
  Actions out;
  for (const NodeName& node : told) out.push_back(SendFailed{node, error});
  out.push_back(Failed{error});
  return out;
}

Actions BackwardTracker::node_down(const NodeName& node, const Error& why) {
  if (!concerned().contains(node)) return {};
  return fail(why);
}

std::set<NodeName> BackwardTracker::unfinished() const {
  std::set<NodeName> out;
  std::set_difference(participants_.begin(), participants_.end(), reported_.begin(), reported_.end(),
                      std::inserter(out, out.end()));
  return out;
}

// By numbers, as only participants report: a root asks at every report.
bool BackwardTracker::others_have_finished() const {
  return participants_.size() - participants_.count(self_) == reported_.size() - reported_.count(self_);
}

std::string BackwardTracker::text() const {
  static constexpr const char* kPhases[] = {"idle", "marking", "marked", "running", "finished", "complete", "failed"};
  std::string out = kPhases[static_cast<std::size_t>(phase_)];
  const auto append = [&](const std::string& word) { out += " " + word; };
  if (engager_) out += " for " + engager_->from + "." + std::to_string(engager_->request);
  if (has_roots_) out += run_ ? ", roots run" : ", roots";
  if (route_) out += ", on a route";
  out += ", " + std::to_string(walks_.size()) + " walks";
  for (const auto& mark : walks_) append(mark ? mark->from + "." + std::to_string(mark->request) : "-");
  out += ", unanswered";
  for (const std::uint64_t number : unanswered_) append(std::to_string(number));
  out += ", seen";
  for (const Mark& mark : seen_) append(mark.from + "." + std::to_string(mark.request));
  out += ", expected";
  for (const auto& [boundary, from] : expected_) append(boundary.text() + (arrived_.contains(boundary) ? "!" : "?"));
  out += ", participants";
  for (const NodeName& node : participants_)
    append(node + (reported_.contains(node) ? "!" : below_.contains(node) ? "<" : ""));
  return failure_ ? out + ", failed: " + failure_->text() : out;
}

// The nodes whose failure concerns this one, and that are notified of its failure: those it exchanged marks with, those
// below it, and the root. Together all nodes reach every participant this way, also while the root does not know all
// (BW-5).
std::set<NodeName> BackwardTracker::concerned() const {
  std::set<NodeName> out = participants_;
  if (phase_ != Phase::idle) out.insert(pass_.creator);
  out.erase(self_);
  return out;
}

void BackwardTracker::send_mark(const NodeName& to, std::vector<BoundaryId> boundaries, bool from_roots, Actions& out) {
  const std::uint64_t number = ++marks_sent_;
  unanswered_.insert(number);
  participants_.insert(to);
  out.push_back(SendMark{to, number, std::move(boundaries), from_roots});
}

// The only place where a part of the wave ends: nothing to walk, no mark unanswered (Dijkstra and Scholten 1980).
void BackwardTracker::settle_marking(Actions& out) {
  if (phase_ != Phase::marking || !walks_.empty() || !unanswered_.empty()) return;
  if (!is_root()) {
    phase_ = Phase::marked;
    out.push_back(AnswerMark{engager_->from, engager_->request, std::exchange(below_, {})});
    engager_.reset();
    return;
  }
  phase_ = Phase::running;
  run_ = true;
  for (const NodeName& peer : remote_roots_) out.push_back(SendRun{peer});
  out.push_back(Run{});
}

// The only place where the whole pass succeeds.
void BackwardTracker::settle_running(Actions& out) {
  if (phase_ != Phase::finished || reported_ != participants_) return;
  phase_ = Phase::complete;
  out.push_back(Complete{});
}

Actions BackwardTracker::refuse(const NodeName& peer, std::string what) const {
  Error error;
  error.code = ErrorCode::protocol_violation;
  error.message = "backward pass " + pass_.text() + ": " + std::move(what);
  error.peer = peer;
  error.operation = "backward";
  return {Refused{std::move(error)}};
}

}  // namespace troupe
