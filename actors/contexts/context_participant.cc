#include "actors/contexts/context_participant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "actors/contexts/known_route.h"

namespace troupe::detail {
namespace {

/// A node runs its passes over a context one by one: more of all nodes together, or more nodes, are invented.
constexpr std::size_t kForeignPassesMax = 1024;

/// Returns whether `code` means that the peer will never participate again.
bool names_the_dead(ErrorCode code) {
  switch (code) {
    case ErrorCode::peer_down:
    case ErrorCode::peer_restarted:
    case ErrorCode::you_are_dead:
    case ErrorCode::shutting_down:
    case ErrorCode::not_joined: return true;
    default: return false;
  }
}

}  // namespace

Error ended_by_death(const ContextId& context, const NodeName& node, const Error& why) {
  Error error;
  error.code = ErrorCode::context_aborted;
  error.peer = node;
  error.incarnation = why.incarnation;
  error.endpoint = why.endpoint;
  error.operation = "context " + context.text();
  error.message = fmt::format("{} took part in context {} and is gone", node, context.text());
  error.cause = why.text();
  return error;
}

Error ended_by_failure(const ContextId& context, const Error& why) {
  Error error;
  error.code = ErrorCode::context_aborted;
  error.peer = why.peer;
  error.incarnation = why.incarnation;
  error.endpoint = why.endpoint;
  error.operation = "context " + context.text();
  error.message = fmt::format("a part of context {} is lost", context.text());
  error.cause = why.text();
  return error;
}

Error not_alive(const ContextId& context) {
  Error error;
  error.code = ErrorCode::context_aborted;
  error.peer = context.creator;
  error.operation = "context " + context.text();
  error.message = fmt::format("context {} does not exist or was released", context.text());
  return error;
}

ContextParticipant::ContextParticipant(ContextId context, NodeName self, Callbacks& callbacks)
    : context_(std::move(context)), self_(std::move(self)), callbacks_(callbacks), ledger_(self_) {}

void ContextParticipant::add_peer(const NodeName& node) { ledger_.add_peer(node); }

void ContextParticipant::record_send(const BoundaryId& boundary, std::shared_ptr<const SendFn> send,
                                     const NodeName& peer, std::string what) {
  ledger_.record_send(boundary, std::move(send), peer, std::move(what));
}

void ContextParticipant::attach(std::shared_ptr<GradientReducer> reducer) {
  if (std::ranges::find(reducers_, reducer) != reducers_.end()) return;
  const auto diverts = [&](const std::shared_ptr<GradientReducer>& earlier) { return earlier->diverts(reducer); };
  if (std::ranges::none_of(reducers_, diverts)) reducers_.push_back(std::move(reducer));
}

void ContextParticipant::begin(const PassId& pass, PassPlan plan, std::optional<TimePoint> due, const PassDone& done) {
  if (aborted_) {
    done(*aborted_);
    return;
  }
  if (due) callbacks_.wake_at(pass, *due);
  for (const auto& [node, ids] : plan.roots.remote) ledger_.add_peer(node);
  if (plan.inputs) {
    for (const auto& [node, ids] : plan.inputs->remote) ledger_.add_peer(node);
  }
  waiting_.push_back({pass, std::move(plan), due, done});
  begin_next();
}

void ContextParticipant::begin_next() {
  const auto own = [this](const auto& entry) { return entry.first.creator == self_; };
  if (waiting_.empty() || std::ranges::any_of(passes_, own)) return;
  settle_last_complete();
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  const BackwardPass::Mode mode{next.plan.inputs.has_value(), next.plan.graph};
  make_pass(next.pass, mode, next.due, std::move(next.done)).rules->start(std::move(next.plan));
  settle(next.pass);
}

void ContextParticipant::settle_last_complete() {
  const auto last = std::exchange(last_complete_, std::nullopt);
  if (!last) return;
  settle_complete(last->pass);
  for (const NodeName& node : last->participants) {
    if (node != self_) callbacks_.notify(node, msg::BackwardFinished{context_, last->pass, self_, {}});
  }
}

void ContextParticipant::settle_complete(const PassId& pass) {
  ledger_.settle(pass);
  if (aborted_) return;
  for (const PassId& earlier : ledger_.holding_up()) {
    if (earlier.creator != self_) {
      callbacks_.notify(earlier.creator, msg::BackwardFinished{context_, earlier, self_, {}});
    } else if (is_last_complete(earlier)) {
      settle_last_complete();
    }
  }
}

bool ContextParticipant::is_last_complete(const PassId& pass) const {
  return last_complete_ && last_complete_->pass == pass;
}

void ContextParticipant::mark(const NodeName& from, std::uint64_t request, const msg::BackwardMark& mark,
                              std::optional<TimePoint> due, BackwardPass::MarkAnswer answer) {
  ledger_.add_peer(from);
  const auto refuse = [&](Error error) { answer({context_, mark.pass, {}, std::move(error)}); };
  if (aborted_) return refuse(*aborted_);
  // This node's own passes begin here, never with a mark.
  if (find(mark.pass) == nullptr && (is_over(mark.pass) || mark.pass.creator == self_)) {
    return refuse(context_error(ErrorCode::protocol_violation, fmt::format("pass {} has ended", mark.pass.text())));
  }
  for (const BoundaryId& boundary : mark.boundaries) {
    if (ledger_.find_send(boundary, from)) continue;
    return refuse(context_error(ErrorCode::protocol_violation,
                                fmt::format("{} has sent nothing to {} as boundary {}", self_, from, boundary.text())));
  }
  const BackwardPass::Mode mode{mark.only_inputs, mark.retain_graph ? Graph::keep : Graph::release};
  const bool names_values = !mark.roots.empty() || !mark.inputs.empty();
  BackwardPass* rules = find(mark.pass);
  if ((rules != nullptr && rules->mode() != mode) || (names_values && from != mark.pass.creator)) {
    return refuse(context_error(ErrorCode::protocol_violation,
                                fmt::format("the mark of {} does not belong to pass {}", from, mark.pass.text())));
  }
  if (rules == nullptr && has_too_many_passes()) return refuse(too_many_passes());
  if (rules == nullptr) rules = make_pass(mark.pass, mode, due, {}).rules.get();
  rules->mark(from, request, mark, std::move(answer));
  settle(mark.pass);
}

void ContextParticipant::run(const NodeName& from, const msg::BackwardRun& message) {
  BackwardPass* pass = find(message.pass);
  if (pass == nullptr || from != message.pass.creator) return;
  pass->run();
  settle(message.pass);
}

void ContextParticipant::gradients(const NodeName& from, msg::BackwardGradients message) {
  BackwardPass* pass = find_or_begin(from, message);
  if (pass == nullptr) return;
  const PassId id = message.pass;
  pass->gradients(from, std::move(message));
  settle(id);
}

BackwardPass* ContextParticipant::find_or_begin(const NodeName& from, const msg::BackwardGradients& message) {
  BackwardPass* pass = find(message.pass);
  if (!message.route) return pass;
  if (pass == nullptr && (aborted_ || is_over(message.pass) || message.pass.creator == self_)) return nullptr;
  if (const auto error = objection(from, message)) {
    callbacks_.refused(*error);
    // The root waits for this node's part, if it takes part.
    callbacks_.notify(message.pass.creator, msg::BackwardFinished{context_, message.pass, self_, *error});
    return nullptr;
  }
  if (pass != nullptr) return pass;
  const BackwardPass::Mode mode{false, message.route->retain_graph ? Graph::keep : Graph::release};
  return make_pass(message.pass, mode, std::nullopt, {}).rules.get();
}

std::optional<Error> ContextParticipant::objection(const NodeName& from, const msg::BackwardGradients& message) const {
  const auto violation = [this](std::string why) {
    return context_error(ErrorCode::protocol_violation, std::move(why));
  };
  const msg::RouteLegs& route = message.route->legs;
  const auto pass = passes_.find(message.pass);
  if (pass == passes_.end() && has_too_many_passes()) return too_many_passes();
  const BackwardPass::Mode mode{false, message.route->retain_graph ? Graph::keep : Graph::release};
  const bool has_boundary =
      message.boundary.creator == self_ && std::ranges::any_of(route, [&](const msg::RouteLeg& leg) {
        return leg.receiver == from && std::ranges::any_of(leg.serials, [&](std::uint64_t serial) {
                 return leg.id(serial) == message.boundary;
               });
      });
  if (!has_boundary || !is_well_formed(route, msg::kRouteMax) ||
      (pass != passes_.end() && pass->second.rules->mode() != mode)) {
    return violation(fmt::format("the route that {} sends does not belong to pass {}", from, message.pass.text()));
  }
  for (const msg::RouteLeg& leg : route) {
    if (leg.sender != self_) continue;
    const auto unknown = std::ranges::find_if(
        leg.serials, [&](std::uint64_t serial) { return !ledger_.find_send(leg.id(serial), leg.receiver); });
    if (unknown == leg.serials.end()) continue;
    return violation(
        fmt::format("{} has sent nothing to {} as boundary {}", self_, leg.receiver, leg.id(*unknown).text()));
  }
  return std::nullopt;
}

void ContextParticipant::finished(const NodeName& from, const msg::BackwardFinished& message) {
  const bool is_verdict = from == message.pass.creator && from != self_;  // from the root: the whole pass is complete
  if (is_verdict && !message.error) {
    note_over(message.pass);
    if (BackwardPass* pass = find(message.pass)) pass->taken();
    passes_.erase(message.pass);
    settle_complete(message.pass);
    return;
  }
  BackwardPass* pass = find(message.pass);
  if (pass == nullptr) {
    if (message.error) note_over(message.pass);
    // Its sender said so before, and now waits for the verdict.
    else if (is_last_complete(message.pass)) settle_last_complete();
    return;
  }
  pass->finished(message.participant, message.error);
  settle(message.pass);
}

void ContextParticipant::release_graph(const NodeName& from, const msg::BackwardRelease& message,
                                       BackwardPass::ReleaseAnswer answer) {
  if (aborted_) return answer(*aborted_);
  if (from != message.pass.creator) {
    return answer(context_error(ErrorCode::protocol_violation,
                                fmt::format("{} did not begin pass {}", from, message.pass.text())));
  }
  BackwardPass* pass = find(message.pass);
  if (pass == nullptr) return answer(msg::BackwardReleased{message.pass});
  pass->release(std::move(answer));
  settle(message.pass);
}

// Whatever the answer is: a node that cannot be asked has no graph any more, or is too late to be waited for.
void ContextParticipant::released(const PassId& pass, const NodeName& by) {
  BackwardPass* rules = find(pass);
  if (rules == nullptr) return;
  rules->released_by(by);
  settle(pass);
}

void ContextParticipant::mark_answered(const PassId& pass, const NodeName& by, std::uint64_t number,
                                       Result<msg::BackwardMarked> answer) {
  BackwardPass* rules = find(pass);
  if (rules == nullptr) return;
  if (!answer && names_the_dead(answer.error().code)) {
    // The end of this node itself arrives by `stop`.
    if (answer.error().peer != self_) abort(ended_by_death(context_, by, answer.error()), self_);
    return;
  }
  const Error* error = !answer ? &answer.error() : answer.value().error ? &*answer.value().error : nullptr;
  if (error != nullptr && error->code == ErrorCode::context_aborted) return abort(*error, by);
  if (error != nullptr) {
    rules->fail(*error);
  } else {
    rules->mark_answered(number, answer.value());
  }
  settle(pass);
}

void ContextParticipant::roots_found(const PassId& pass, Result<std::vector<Variable>> roots) {
  BackwardPass* rules = find(pass);
  if (rules == nullptr) return;
  rules->roots_found(std::move(roots));
  settle(pass);
}

void ContextParticipant::pool_done(std::shared_ptr<GraphWork> work) {
  const PassId pass = work->pass;
  BackwardPass* rules = find(pass);
  if (rules == nullptr) return;
  rules->pool_done(std::move(work));
  settle(pass);
}

void ContextParticipant::reduced(const PassId& pass, Result<Gradients> gradients) {
  BackwardPass* rules = find(pass);
  if (rules == nullptr) return;
  rules->reduced(std::move(gradients));
  settle(pass);
}

void ContextParticipant::pass_due(const PassId& pass) {
  const auto late = [&](std::string message) { return context_error(ErrorCode::timeout, std::move(message)); };
  const BackwardPass* rules = find(pass);
  const std::set<NodeName> unfinished = rules == nullptr ? std::set<NodeName>() : rules->tracker().unfinished();
  give_up(pass, late("the backward pass before this one has not ended in time"),
          late(unfinished.empty() ? "marking was not complete in time"
                                  : fmt::format("not complete in time; unfinished: {}", fmt::join(unfinished, ", "))));
}

void ContextParticipant::pass_cancelled(const PassId& pass) {
  const Error cancelled = context_error(ErrorCode::cancelled, "the backward pass was cancelled by its caller");
  give_up(pass, cancelled, cancelled);
}

void ContextParticipant::give_up(const PassId& pass, const Error& waiting, const Error& running) {
  const auto at = std::ranges::find(waiting_, pass, &Waiting::pass);
  if (at != waiting_.end()) {
    const PassDone done = std::move(at->done);
    waiting_.erase(at);
    callbacks_.pass_ended(pass);
    done(waiting);
    return;
  }
  BackwardPass* rules = find(pass);
  if (rules == nullptr) return;
  rules->fail(running);
  settle(pass);
}

Result<Gradients> ContextParticipant::gradients() const {
  if (aborted_) return *aborted_;
  return ledger_.gradients();
}

Result<Tensor> ContextParticipant::gradient(const Variable& leaf) const {
  if (aborted_) return *aborted_;
  return ledger_.gradient(leaf);
}

Result<UnusedHere> ContextParticipant::unused(const std::optional<PassId>& pass) const {
  if (aborted_) return *aborted_;
  if (!pass && !last_success_) {
    return context_error(ErrorCode::bad_argument, "no backward pass of this context has been begun here and succeeded");
  }
  const PassId& asked = pass ? *pass : *last_success_;
  return UnusedHere{asked, ledger_.unused(asked), {ledger_.peers().begin(), ledger_.peers().end()}};
}

void ContextParticipant::peer_down(const NodeName& node, const Error& why) {
  if (ledger_.peers().contains(node)) abort(ended_by_death(context_, node, why), self_);
}

bool ContextParticipant::word_lost(const NodeName& from, const Error& why) {
  if (!ledger_.peers().contains(from)) return false;
  abort(why, self_);
  return true;
}

void ContextParticipant::abort(const Error& why, const NodeName& from) {
  ledger_.add_peer(from);
  if (aborted_) return;
  Error error = why.code == ErrorCode::context_aborted ? why : ended_by_failure(context_, why);
  error.operation = "context " + context_.text();  // by which calls know their own (see caused_by), whoever said `why`
  // The creator is notified in any case: it may not know this node, it will release the context, and it may live
  // although `error` calls it dead.
  std::set<NodeName> told = ledger_.peers();
  told.erase(error.peer);
  told.insert(context_.creator);
  for (const NodeName& node : told) {
    if (node != from && node != self_) callbacks_.notify(node, msg::ContextAborted{context_, error});
  }
  aborted_ = error;  // last: an abort after one that got no memory notifies all again
  fail_all(error);
}

void ContextParticipant::release(const NodeName& from) {
  for (const NodeName& node : ledger_.peers()) {
    if (node != from) callbacks_.notify(node, msg::ContextReleased{context_});
  }
  stop(not_alive(context_));
}

void ContextParticipant::stop(const Error& why) {
  if (!aborted_) aborted_ = why;
  fail_all(*aborted_);
}

void ContextParticipant::fail_all(const Error& error) {
  while (!passes_.empty()) {  // one by one: if there is no memory, the next call fails the rest
    passes_.begin()->second.rules->abandon(error);
    const auto ended = passes_.extract(passes_.begin());
    const Pass& pass = ended.mapped();
    callbacks_.pass_ended(ended.key());
    if (pass.done) pass.done(error);
  }
  while (!waiting_.empty()) {
    const Waiting ended = std::move(waiting_.front());
    waiting_.pop_front();
    callbacks_.pass_ended(ended.pass);
    ended.done(error);
  }
}

bool ContextParticipant::has_too_many_passes() const { return passes_.size() >= kForeignPassesMax; }

Error ContextParticipant::too_many_passes() const {
  return context_error(ErrorCode::resource_exhausted,
                       fmt::format("{} passes run over context {}", passes_.size(), context_.text()));
}

ContextParticipant::Pass& ContextParticipant::make_pass(const PassId& pass, BackwardPass::Mode mode,
                                                        std::optional<TimePoint> due, PassDone done) {
  Pass made;
  made.rules = std::make_unique<BackwardPass>(context_, pass, mode, self_, due, ledger_, callbacks_, reducers_);
  made.done = std::move(done);
  Pass& kept = passes_[pass] = std::move(made);
  kept.rules->begin();  // last: if it throws, the end of the context tells the reducers that have begun
  return kept;
}

void ContextParticipant::take_back(const PassId& pass, BackwardPass& rules) {
  ledger_.take_back(pass);
  const Error cancelled = context_error(ErrorCode::cancelled, "the backward pass was cancelled by its caller");
  rules.given_up(cancelled);
  for (const NodeName& node : rules.tracker().participants()) {
    if (node != self_) callbacks_.notify(node, msg::BackwardFinished{context_, pass, self_, cancelled});
  }
}

BackwardPass* ContextParticipant::find(const PassId& pass) {
  const auto at = passes_.find(pass);
  return at == passes_.end() ? nullptr : at->second.rules.get();
}

bool ContextParticipant::is_over(const PassId& pass) const {
  const auto at = over_.find(pass.creator);
  return at != over_.end() && pass.serial <= at->second;
}

void ContextParticipant::note_over(const PassId& pass) {
  if (over_.size() >= kForeignPassesMax && !over_.contains(pass.creator)) return;
  std::uint64_t& latest = over_[pass.creator];
  latest = std::max(latest, pass.serial);
}

void ContextParticipant::settle(const PassId& pass) {
  const auto at = passes_.find(pass);
  if (at == passes_.end() || !at->second.rules->outcome()) return;
  auto ended = passes_.extract(at);
  try {
    end(pass, ended.mapped());
  } catch (...) {
    passes_.insert(std::move(ended));  // the end of the context tells its reducers
    throw;
  }
  begin_next();
}

void ContextParticipant::end(const PassId& pass, Pass& ended) {
  const Result<Unit>& outcome = *ended.rules->outcome();
  note_over(pass);
  callbacks_.pass_ended(pass);
  if (!outcome) ledger_.take_back(pass);
  const PassDone done = std::exchange(ended.done, nullptr);
  const bool counts = (!done || done(outcome)) && outcome.ok();
  if (counts) {
    last_complete_ = Complete{pass, ended.rules->tracker().participants()};
    last_success_ = pass;
    ended.rules->taken();
  }
  if (!counts && outcome) take_back(pass, *ended.rules);
}

Error ContextParticipant::context_error(ErrorCode code, std::string message) const {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.peer = self_;
  error.operation = "backward";
  return error;
}

}  // namespace troupe::detail
