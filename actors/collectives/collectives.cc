#include "actors/collectives/collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "actors/collectives/enter_barrier.h"
#include "messages/schema.h"
#include "messages/values.h"

namespace troupe::detail {
namespace {

constexpr const char* kForming = "collective";

/// A member's contribution: the number of the collective on its node, and the names in its order.
using Introduction = std::pair<std::uint64_t, std::vector<NodeName>>;

}  // namespace

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
  const msg::BarrierPassed met =
      enter_barrier(scope, names, Failures::fail_fast, kForming, {},
                    {fingerprint_of<Introduction>(), contribution(scope, Introduction(number, names))});
  std::vector<std::uint64_t> numbers(names.size());
  for (const auto& [name, brought] : met.values) {
    if (brought.type != fingerprint_of<Introduction>())
      throw RemoteError(misfit(kForming, name, "it forms something else"));
    const auto [its_number, its_names] = std::get<0>(from_payload<Introduction>(brought.value));
    if (its_names != names) {
      throw RemoteError(misfit(kForming, name,
                               fmt::format("it names the members {}, {} names them {}", fmt::join(its_names, ", "),
                                           node_.name(), fmt::join(names, ", "))));
    }
    numbers[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())] = its_number;
  }
  member->met(std::move(numbers));
  return member;
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

void Collectives::peer_down(const Peer& peer, const Error& why) {
  for (const auto& member : members()) member->peer_down(peer.name, why);
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
