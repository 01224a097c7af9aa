#include "actors/contexts/context_ledger.h"

#include <algorithm>
#include <utility>

#include "actors/contexts/short_work.h"
#include "tensor/ops.h"

namespace troupe {

void ContextLedger::add_peer(const NodeName& node) {
  if (node != self_) peers_.insert(node);
}

void ContextLedger::record_send(const BoundaryId& boundary, std::shared_ptr<const SendFn> send, const NodeName& peer,
                                std::string what) {
  add_peer(peer);
  sends_.try_emplace(boundary, Send{std::move(send), peer, std::move(what)});
}

std::shared_ptr<const SendFn> ContextLedger::find_send(const BoundaryId& boundary) const {
  const auto at = sends_.find(boundary);
  return at == sends_.end() ? nullptr : at->second.fn;
}

std::shared_ptr<const SendFn> ContextLedger::find_send(const BoundaryId& boundary, const NodeName& peer) const {
  const auto at = sends_.find(boundary);
  return at != sends_.end() && at->second.peer == peer ? at->second.fn : nullptr;
}

bool ContextLedger::is_short_to_destroy() const {
  detail::ShortWork work;
  for (auto at = sends_.begin(); at != sends_.end() && work.is_short(); ++at) work.add(*at->second.fn);
  return work.is_short();
}

void ContextLedger::add_gradients(const PassId& pass, Gradients gradients) {
  if (!gradients.empty()) passes_.push_back({pass, std::move(gradients)});
}

void ContextLedger::note_used(const PassId& pass, GradientCounts counts) {
  std::vector<PassUse>& uses = uses_[pass.creator];
  if (uses.size() == 2) uses.erase(uses.begin());
  uses.push_back({pass, std::move(counts)});
}

std::vector<UnusedBoundary> ContextLedger::unused(const PassId& pass) const {
  const PassUse* use = nullptr;
  const auto uses = uses_.find(pass.creator);
  if (uses != uses_.end()) {
    const auto at = std::ranges::find(uses->second, pass, &PassUse::pass);
    if (at != uses->second.end()) use = &*at;
  }
  std::vector<UnusedBoundary> unused;
  for (const auto& [boundary, send] : sends_) {
    const std::uint32_t sent = send.fn->slot_count();
    const auto count = use == nullptr ? GradientCounts::const_iterator() : use->counts.find(boundary);
    const std::uint32_t used = use == nullptr || count == use->counts.end() ? 0 : count->second;
    if (used < sent) unused.push_back({self_, send.peer, send.what, sent, sent - used});
  }
  return unused;
}

void ContextLedger::settle(const PassId& pass) {
  const auto at = std::ranges::find(passes_, pass, &PassGradients::pass);
  if (at == passes_.end()) return;
  at->settled = true;
  fold();
}

std::vector<PassId> ContextLedger::holding_up() const {
  std::ptrdiff_t held_up = std::ranges::count(passes_, true, &PassGradients::settled);
  std::vector<PassId> holding;
  if (held_up % kHeldUp != 0) return holding;
  for (auto at = passes_.begin(); held_up > 0; ++at) {
    if (at->settled) --held_up;
    else holding.push_back(at->pass);
  }
  return holding;
}

void ContextLedger::take_back(const PassId& pass) {
  const auto uses = uses_.find(pass.creator);
  if (uses != uses_.end()) {
    std::erase_if(uses->second, [&](const PassUse& use) { return use.pass == pass; });
    if (uses->second.empty()) uses_.erase(uses);
  }
  const auto at = std::ranges::find(passes_, pass, &PassGradients::pass);
  if (at == passes_.end() || at->settled) return;
  passes_.erase(at);
  fold();
}

Gradients ContextLedger::gradients() const {
  Gradients sum = sum_;
  for (const PassGradients& pass : passes_) sum.add(pass.gradients);
  return sum;
}

Tensor ContextLedger::gradient(const Variable& leaf) const {
  Tensor sum = sum_.of(leaf);
  for (const PassGradients& pass : passes_) {
    const Tensor more = pass.gradients.of(leaf);
    if (more.defined()) sum = sum.defined() ? add(sum, more) : more;
  }
  return sum;
}

void ContextLedger::fold() {
  const auto end = std::ranges::find(passes_, false, &PassGradients::settled);
  for (auto at = passes_.begin(); at != end; ++at) sum_.add(at->gradients);
  passes_.erase(passes_.begin(), end);
}

}  // namespace troupe
