#include "actors/pipeline/stage_seat.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "autograd/custom_op.h"
#include "autograd/rows_fn.h"
#include "tensor/ops.h"

namespace troupe::detail {

void StageGradients::add(const StageGradients& other) {
  gradients.add(other.gradients);
  for (const auto& reducer : other.reducers) {
    if (std::ranges::find(reducers, reducer) == reducers.end()) reducers.push_back(reducer);
  }
}

// A place in a table is made before the gate knows of what takes it: without memory nothing has changed.

Future<void> StageRounds::enter(const RoundPlan& plan, std::uint32_t index) {
  const Promise<void> entered(home_);
  Waiting place;
  place.emplace(MicroBatchId{plan.round, index}, entered);
  std::optional<Error> refused;
  std::optional<Promise<void>> admitted;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      refused = *closed_;
    } else if (!gate_.arrive(plan, index)) {
      refused = refusal(plan.round);
    } else {
      waiting_.merge(place);
      admitted = admit();
    }
  }
  if (refused) entered.complete(*std::move(refused));
  let_in(admitted);
  return entered.future();
}

void StageRounds::leave(const MicroBatchId& batch) noexcept {
  std::optional<Promise<void>> admitted;
  {
    const std::lock_guard lock(mutex_);
    gate_.leave(batch);
    admitted = admit();
  }
  let_in(admitted);
}

void StageRounds::settle(const MicroBatchId& batch, StageGradients gradients) {
  std::map<MicroBatchId, StageGradients> place;
  if (!gradients.empty()) place.emplace(batch, std::move(gradients));
  std::optional<Promise<void>> admitted;
  {
    const std::lock_guard lock(mutex_);
    if (!gate_.settle(batch)) return;
    if (!closed_) gradients_.merge(place);
    admitted = admit();
  }
  let_in(admitted);
}

void StageRounds::settle(const MicroBatchId& batch) noexcept { settle(batch, {}); }

void StageRounds::keep(const MicroBatchId& batch, const Gradients& gradients) {
  const std::lock_guard lock(mutex_);
  if (!gradients.empty() && !closed_ && !failed_.contains(batch.round)) gradients_[batch].gradients.add(gradients);
}

void StageRounds::fail(const RoundPlan& plan, const Error& why) {
  std::map<RoundId, Error> place;
  place.emplace(plan.round, why);
  Waiting waited;
  std::optional<Promise<void>> admitted;
  {
    const std::lock_guard lock(mutex_);
    if (failed_.contains(plan.round) || !gate_.drop(plan)) return;
    failed_.merge(place);
    if (failed_.size() > kFailuresKept) failed_.erase(failed_.begin());
    for (auto next = waiting_.lower_bound({plan.round, 0}); next != waiting_.end() && next->first.round == plan.round;)
      waited.insert(waiting_.extract(next++));
    std::erase_if(gradients_, [&](const auto& entry) { return entry.first.round == plan.round; });
    admitted = admit();
  }
  refuse(waited, why);
  let_in(admitted);
}

StageGradients StageRounds::take(const RoundPlan& plan) {
  const std::lock_guard lock(mutex_);
  const auto begin = gradients_.lower_bound({plan.round, 0});
  const auto end = gradients_.upper_bound({plan.round, std::numeric_limits<std::uint32_t>::max()});
  StageGradients sum;
  for (auto at = end; at != begin;) sum.add((--at)->second);
  gradients_.erase(begin, end);
  return sum;
}

void StageRounds::close(const Error& why) noexcept {
  Waiting waited;
  {
    const std::lock_guard lock(mutex_);
    closed_ = copy_of(why);
    waited.swap(waiting_);
    gradients_.clear();
  }
  refuse(waited, why);
}

std::optional<Promise<void>> StageRounds::admit() noexcept {
  if (closed_) return std::nullopt;
  while (const auto batch = gate_.admit()) {
    if (auto waiting = waiting_.extract(*batch)) return std::move(waiting.mapped());
    gate_.leave(*batch);
    gate_.settle(*batch);
  }
  return std::nullopt;
}

Error StageRounds::refusal(RoundId round) const {
  if (const auto failed = failed_.find(round); failed != failed_.end()) return failed->second;
  return make_error(ErrorCode::protocol_violation,
                    fmt::format("a micro-batch of round {} cannot enter the stage", round.first_ticket));
}

void StageRounds::let_in(const std::optional<Promise<void>>& admitted) noexcept {
  if (admitted) admitted->complete(Unit{});
}

void StageRounds::refuse(const Waiting& waiting, const Error& why) noexcept {
  for (const auto& [batch, promise] : waiting) promise.complete(copy_of(why));
}

StageSeat::StageSeat(const Scope& scope) : rounds_(std::make_shared<StageRounds>(future_home_of(scope))) {}

StageSeat::~StageSeat() {
  Error ended{.code = ErrorCode::cancelled};
  set_text(ended.message, "the pipeline has ended");
  rounds_->close(ended);
}

StageSeat make_stage_seat(Scope& scope) { return StageSeat(scope); }

void fail_stage_round(Scope& scope, const RRef<StageSeat>& seat, const RoundPlan& plan, const Error& why) {
  seat.local_value(scope)->rounds()->fail(plan, why);
}

Tensor times(const Tensor& gradient, double scale) {
  return !gradient.defined() || scale == 1.0 ? gradient : gradient * scale;
}

namespace {

/// What the gradient of a round gives one input of its operation: what was found times it, or itself.
struct RoundPart {
  Saved found;
  bool is_itself = false;
};

/// Returns `zero` as a variable whose gradient g gives `leaf` g times `rows`, as rows.
Variable zero_of_rows(const Tensor& zero, const Variable& leaf, const SparseTensor& rows) {
  return record_rows(
      "pipeline", zero, edges_of({&leaf}),
      [indices = Saved(rows.indices()), values = Saved(rows.values()), shape = rows.shape()](
          const Tensor& gradient, std::span<const Edge> /*needed*/) {
        const SparseTensor scaled(indices.get(), times(values.get(), gradient.item()), shape);
        return RowsFn::Applied{std::make_shared<const SparseTensor>(scaled.as_coalesced()), std::vector<Tensor>(1)};
      });
}

}  // namespace

Variable settle_stage_round(Scope& scope, const RRef<StageSeat>& seat, const RoundPlan& plan, const Tensor& zero) {
  return with_sums(scope, seat.local_value(scope)->rounds()->take(plan), zero);
}

Variable with_sums(const Scope& scope, const StageGradients& sums, const Tensor& zero) {
  for (const auto& reducer : sums.reducers) {
    scope.state().node->contexts().attach(*scope.state().context, reducer);
  }
  std::vector<Variable> ends;
  std::vector<RoundPart> parts;
  for (const Variable& leaf : sums.gradients.leaves()) {
    const SparseTensor rows = sums.gradients.sparse_of(leaf);
    ends.push_back(rows.defined() ? zero_of_rows(zero, leaf, rows) : leaf);
    parts.push_back(rows.defined() ? RoundPart{{}, true} : RoundPart{Saved(sums.gradients.of(leaf))});
  }
  if (ends.empty() && !sums.reducers.empty()) {  // the pass must come here all the same: other members wait for it
    ends.emplace_back(zero, RequiresGrad::yes);
    parts.emplace_back();
  }
  return custom_op("pipeline", zero, ends,
                   [parts = std::move(parts)](const Tensor& gradient, std::span<const Edge> needed) {
                     const double scale = gradient.item();
                     std::vector<Tensor> given(parts.size());
                     for (std::size_t i = 0; i < parts.size(); ++i) {
                       if (needed[i]) given[i] = parts[i].is_itself ? gradient : times(parts[i].found.get(), scale);
                     }
                     return given;
                   });
}

}  // namespace troupe::detail
