#include "actors/collectives/collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "actors/collectives/enter_barrier.h"
#include "actors/core/guarded.h"
#include "messages/schema.h"
#include "messages/values.h"

namespace troupe::detail {
namespace {

constexpr const char* kForming = "collective";

/// Returns how the members that `its` names differ from `own`, those of `node`.
std::string difference(const CollectiveIntroduction& its, const NodeName& node, const CollectiveIntroduction& own) {
  if (its.names.empty() || own.names.empty())
    return fmt::format("it names other members than {}, or in another order", node);
  return fmt::format("it names the members {}, {} names them {}", fmt::join(its.names, ", "), node,
                     fmt::join(own.names, ", "));
}

}  // namespace

CollectiveIntroduction::CollectiveIntroduction(CollectiveEnd own, const std::vector<NodeName>& members)
    : end(std::move(own)) {
  const std::string text = fmt::format("{}", fmt::join(members, "\n"));  // no name has that
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  order = {hash.low64, hash.high64};
  if (members.size() <= kNamesMax) names = members;
}

std::shared_ptr<CollectiveMember> Collectives::form(const Scope& scope, const Group& group) {
  const std::vector<NodeName>& names = group.names();
  const auto self = static_cast<std::size_t>(std::find(names.begin(), names.end(), node_.name()) - names.begin());
  const auto member = std::make_shared<CollectiveMember>(node_.shared_from_this(), names, self);
  std::uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);  // it is registered before any member knows it
    number = next_++;
    std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
    all_.emplace(number, member);
  }
  try {
    member->met(meet(scope, names, number));
  } catch (const std::exception& why) {  // the others may have formed it: they are answered so
    Error unformed = node_.error(ErrorCode::cancelled, node_.name(), kForming,
                                 fmt::format("{} did not form the collective", node_.name()));
    unformed.cause = why.what();
    member->fail(std::move(unformed), CollectiveMember::Tell::others);
    throw;
  }
  return member;
}

std::vector<CollectiveEnd> Collectives::meet(const Scope& scope, const std::vector<NodeName>& names,
                                             std::uint64_t number) const {
  const CollectiveIntroduction own({number, node_.incarnation()}, names);
  const auto type = fingerprint_of<CollectiveIntroduction>();
  const msg::BarrierPassed met =
      enter_barrier(scope, names, Failures::fail_fast, kForming, {}, {type, contribution(scope, own)});
  std::vector<CollectiveEnd> ends;
  for (const NodeName& name : names) {
    const auto brought = std::ranges::find(met.values, name, &std::pair<NodeName, msg::Contribution>::first);
    if (brought == met.values.end()) throw RemoteError(misfit(kForming, name, "it brought nothing"));
    if (brought->second.type != type) throw RemoteError(misfit(kForming, name, "it forms something else"));
    const auto its = std::get<0>(from_payload<CollectiveIntroduction>(brought->second.value));
    if (its.order != own.order) throw RemoteError(misfit(kForming, name, difference(its, node_.name(), own)));
    ends.push_back(its.end);
  }
  return ends;
}

void Collectives::handle(const Delivery& delivery) {
  const auto& call = delivery.message.get<msg::Call>();
  if (call.fingerprint != fingerprint_of<CollectiveMessage>()) {
    return delivery.answer.fail(node_.error(ErrorCode::version_mismatch, node_.name(), kForming,
                                            "members of a collective say things differently"));
  }
  CollectiveMessage word;
  try {
    msg::Payload payload;
    payload.bytes = call.arguments.bytes;
    word = std::get<0>(from_payload<CollectiveMessage>(payload));
  } catch (const DecodeError& error) {
    return delivery.answer.fail(node_.error(ErrorCode::decode, node_.name(), kForming, error.what()));
  }
  std::shared_ptr<CollectiveMember> member;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = all_.find(word.collective); found != all_.end()) member = found->second.lock();
  }
  if (member) return member->handle(delivery, std::move(word));
  delivery.answer.fail(
      node_.error(ErrorCode::cancelled, node_.name(), {}, fmt::format("{} has left the collective", node_.name())));
}

// A notification: nobody waits for what comes of it, and nobody says it again. Without memory for it the node ends:
// other members would wait for this one.
void Collectives::tell_met() noexcept try {
  for (PartialMeetings::MeetingReport& report : partial_meetings_.take_reports(node_.name(), node_.lives())) {
    msg::BarrierEntered entered{report.note.entry, report.place.operation, report.place.members, {}, true, {}, {}};
    add_note(entered.own, report.note);
    node_.notify(report.leader, "membership", std::move(entered));
  }
} catch (...) {
  node_.fail(failure_of_current_exception("a barrier"));
}

void Collectives::peer_down(const Peer& peer, const Error& why) {
  for (const auto& member : members()) member->peer_down({peer.name, peer.incarnation}, why);
  tell_met();
}

void Collectives::stop(const Error& why) {
  for (const auto& member : members()) member->fail(why, CollectiveMember::Tell::nobody);
}

std::vector<std::shared_ptr<CollectiveMember>> Collectives::members() const {
  std::vector<std::shared_ptr<CollectiveMember>> members;
  std::lock_guard lock(mutex_);
  for (const auto& [number, weak] : all_) {
    if (auto member = weak.lock()) members.push_back(std::move(member));
  }
  return members;
}

}  // namespace troupe::detail
