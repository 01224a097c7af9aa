#include "actors/parallel/reducer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"

namespace troupe::detail {
namespace {

/// So many passes that may yet fail have their gradients kept apart; of more, the oldest counts.
constexpr std::size_t kLeftMax = 8;

std::vector<Variable> leaves_of(const Rounds& rounds) {
  std::vector<Variable> leaves;
  for (const auto& [name, variable] : rounds.parameters()) leaves.push_back(variable);
  return leaves;
}

}  // namespace

Reducer::Reducer(const Scope& scope, std::unique_ptr<Rounds> rounds)
    : node_(scope.state().node),
      name_(scope.node_name()),
      rounds_(std::move(rounds)),
      leaves_(leaves_of(*rounds_)),
      strand_(future_home_of(scope).executor, "data-parallel round"),
      held_(leaves_.size()) {
  for (std::size_t i = 0; i < leaves_.size(); ++i) numbers_.emplace(leaves_[i].id(), i);
}

void Reducer::attach(const Scope& scope) {
  if (!scope.state().context) {
    throw std::logic_error("[DataParallel] the scope has no autograd context: call through a DistContext");
  }
  if (scope.state().node != node_.lock()) {
    throw std::invalid_argument(
        fmt::format("[DataParallel] the module is on {}, the scope belongs to {}", name_, scope.node_name()));
  }
  scope.state().node->contexts().attach(*scope.state().context, shared_from_this());
}

void Reducer::hold() {
  const std::lock_guard lock(mutex_);
  ++holders_;
}

void Reducer::stop_holding() {
  const std::lock_guard lock(mutex_);
  --holders_;
}

void Reducer::begin(const PassId& pass) {
  std::shared_ptr<Part> part;
  {
    const std::lock_guard lock(mutex_);
    const bool another_runs = std::ranges::any_of(parts_, [](const auto& entry) { return entry.second->has_round; });
    part = std::make_shared<Part>(pass, std::vector<LeafGradient>(leaves_.size()));
    if (holders_ == 0 && another_runs) {
      part->outcome =
          error(ErrorCode::bad_argument,
                "[DataParallel] passes of two contexts at the same time: members could not tell them apart");
    } else if (holders_ == 0) {
      hold_left();
      part = std::make_shared<Part>(pass, std::exchange(held_, std::vector<LeafGradient>(leaves_.size())));
      part->has_round = true;
    }
    parts_.emplace(pass, part);
  }
  if (!part->has_round) return;
  strand_.run([self = shared_from_this(), part] { self->run_round(part); },
              [self = shared_from_this(), part](const Error& refused) { self->end_round(part, refused); });
}

void Reducer::found(const PassId& pass, const Variable& leaf, const Tensor& gradient, const SparseTensor& rows) {
  const auto number = numbers_.find(leaf.id());
  if (number == numbers_.end()) return;
  if (const auto part = find(pass)) part->own.add(number->second, {gradient, rows});
}

void Reducer::found_all(const PassId& pass) {
  if (const auto part = find(pass)) part->own.end();
}

void Reducer::finish(const PassId& pass, Gradients gradients, Done done) {
  const std::shared_ptr<Part> part = find(pass);
  if (!part) return done(error(ErrorCode::internal, "[DataParallel] the pass has not begun"));
  Result<RoundOutcome> outcome =
      RoundOutcome{{}, {}, std::vector<LeafGradient>(leaves_.size())};  // of a pass that is no round
  {
    const std::lock_guard lock(mutex_);
    parts_.erase(pass);
    if (part->outcome) {
      outcome = *part->outcome;
      note_told(pass, outcome);
    } else if (part->has_round) {
      part->gradients = std::move(gradients);
      part->done = std::move(done);
      finished_.emplace(pass, part);
      return;
    } else {
      left_.push_back({pass, part->own.all()});
      hold_sure();
    }
  }
  done(combined(gradients, outcome));
}

void Reducer::fail(const PassId& pass, const Error& why) {
  const bool is_own = pass.creator == name_;
  bool is_told = false;
  std::shared_ptr<Part> part;
  {
    const std::lock_guard lock(mutex_);
    is_told = told_.contains(pass);
    part = unended(pass);
  }
  if (part) is_told = !part->own.fail(why);
  if (is_told && is_own) {  // on another node it is the driver's pass that fails
    rounds_->fail(
        fmt::format("[DataParallel] the backward pass of {} failed after it had told the others that it succeeded: {}",
                    name_, why.text()));
  }
  // The pass is forgotten last: without memory all this is done again.
  const std::lock_guard lock(mutex_);
  // A pass of another node may stay here until its context ends, and that is no failure.
  if (!is_own && why.code == ErrorCode::context_aborted) make_sure(pass);
  else std::erase_if(left_, [&](const Left& left) { return left.pass == pass; });
  if (part) hold_again(*part);  // before the caller begins another pass
  hold_sure();
  told_.erase(pass);
  parts_.erase(pass);
  finished_.erase(pass);
}

void Reducer::complete(const PassId& pass) {
  const std::lock_guard lock(mutex_);
  told_.erase(pass);
  make_sure(pass);
  hold_sure();
}

void Reducer::run_round(const std::shared_ptr<Part>& part) {
  try {
    end_round(part, rounds_->run(part->own, Presence::active));
  } catch (const RemoteError& failed) {
    end_round(part, failed.error());
  } catch (const std::exception& failed) {
    const Error why = error(ErrorCode::internal, fmt::format("[DataParallel] {}", failed.what()));
    rounds_->fail(why.message);
    end_round(part, why);
  }
}

void Reducer::end_round(const std::shared_ptr<Part>& part, Result<RoundOutcome> outcome) {
  Done done;
  Gradients gradients;
  {
    const std::lock_guard lock(mutex_);
    if (!outcome || !outcome.value().failed.empty()) hold_again(*part);
    if (!part->done) {  // the pass has not ended here, or has failed
      part->outcome = std::move(outcome);
      return;
    }
    if (finished_.erase(part->pass) > 0) note_told(part->pass, outcome);
    done = std::move(part->done);
    gradients = std::move(part->gradients);
  }
  done(combined(gradients, outcome));
}

void Reducer::note_told(const PassId& pass, const Result<RoundOutcome>& outcome) {
  if (pass.creator == name_ && outcome && outcome.value().failed.empty()) told_.insert(pass);
}

void Reducer::make_sure(const PassId& pass) {
  for (Left& left : left_) {
    if (left.pass == pass) left.is_sure = true;
  }
}

void Reducer::hold_sure() {
  while (!left_.empty() && (left_.front().is_sure || left_.size() > kLeftMax)) hold_first();
}

void Reducer::hold_left() {
  while (!left_.empty()) hold_first();
}

void Reducer::hold_first() {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    held_[i].add(left_.front().gradients[i]);
    left_.front().gradients[i] = {};  // is not added again after one that got no memory
  }
  left_.pop_front();
}

void Reducer::hold_again(Part& part) {
  for (std::size_t i = 0; i < part.held.size(); ++i) {
    LeafGradient sum = part.held[i];
    sum.add(held_[i]);
    held_[i] = std::move(sum);
    part.held[i] = {};  // as in hold_first
  }
  part.held.clear();
}

void Reducer::join() {
  {
    const std::lock_guard lock(mutex_);
    if (!parts_.empty()) throw std::logic_error("[DataParallel] join() while a pass runs");
  }
  const auto node = node_.lock();
  if (!node) throw RemoteError(error(ErrorCode::shutting_down, "[DataParallel] the node has stopped"));
  const Promise<void> joined(node->future_home());
  strand_.run(
      [self = shared_from_this(), joined] {
        try {
          self->join_in_turn();
          joined.complete(Unit{});
        } catch (const RemoteError& failed) {
          joined.complete(failed.error());
        } catch (const std::exception& failed) {
          self->rounds_->fail(failed.what());
          joined.complete(self->error(ErrorCode::internal, failed.what()));
        }
      },
      [joined](const Error& refused) { joined.complete(refused); });
  joined.future().get();
}

void Reducer::join_in_turn() {
  std::vector<LeafGradient> held(leaves_.size());
  {
    const std::lock_guard lock(mutex_);
    hold_left();
    held.swap(held_);
  }
  while (true) {
    MemberGradients own(held);
    own.end();
    const RoundOutcome outcome = rounds_->run(own, Presence::joined);
    if (outcome.active.empty()) break;
    if (outcome.failed.empty()) held.assign(leaves_.size(), {});
  }
  rounds_->broadcast_all(rounds_->leader());
}

std::shared_ptr<Reducer::Part> Reducer::find(const PassId& pass) const {
  const std::lock_guard lock(mutex_);
  const auto at = parts_.find(pass);
  return at == parts_.end() ? nullptr : at->second;
}

std::shared_ptr<Reducer::Part> Reducer::unended(const PassId& pass) const {
  for (const auto* parts : {&parts_, &finished_}) {
    if (const auto at = parts->find(pass); at != parts->end()) return at->second;
  }
  return nullptr;
}

Result<Gradients> Reducer::combined(const Gradients& found, const Result<RoundOutcome>& outcome) const {
  if (!outcome) return outcome.error();
  const RoundOutcome& round = outcome.value();
  if (!round.failed.empty()) {
    Error failed =
        error(ErrorCode::remote_exception,
              fmt::format("[DataParallel] the backward pass of {} failed, so no member has gradients of this round: {}",
                          fmt::join(round.failed, ", "), round.cause));
    failed.peer = round.failed.front();
    return failed;
  }
  Gradients all = found.without(leaves_);
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const LeafGradient& gradient = round.gradients[i];
    if (gradient.rows.defined()) all.add(leaves_[i], gradient.rows);
    if (gradient.dense.defined()) all.add(leaves_[i], gradient.dense);
  }
  return all;
}

Error Reducer::error(ErrorCode code, std::string message) const {
  Error made;
  made.code = code;
  made.message = std::move(message);
  made.peer = name_;
  made.operation = "backward";
  return made;
}

}  // namespace troupe::detail
