#include "node/sim/faulty_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/sessions/session_header.h"
#include "messages/all.h"
#include "messages/codec.h"

namespace troupe::sim {
namespace {

bool is_message(std::string_view name) {
  return msg::Messages::any_of([&]<class M>(std::type_identity<M>) { return M::kInfo.name == name; });
}

}  // namespace

FaultyLink::FaultyLink(std::unique_ptr<Link> inner, DecideFate decide)
    : inner_(std::move(inner)), decide_(std::move(decide)), thread_([this] { deliver(); }) {}

FaultyLink::~FaultyLink() { FaultyLink::stop(); }

void FaultyLink::send(const NodeName& to, LinkLane lane, Frames packet) {
  {
    const std::lock_guard lock(mutex_);
    const Fate delay = decide_(to, packet);
    if (!delay) return;
    held_.push({std::chrono::steady_clock::now() + *delay, sent_++, to, lane, std::move(packet)});
  }
  changed_.notify_one();
}

void FaultyLink::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  inner_->stop();
}

void FaultyLink::deliver() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (held_.empty()) {
      changed_.wait(lock);
    } else if (const Instant due = held_.top().due; due > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, due);
    } else {
      const Held message = held_.top();
      held_.pop();
      lock.unlock();
      inner_->send(message.to, message.lane, message.frames);
      lock.lock();
    }
  }
}

namespace {

/// Returns the names of the messages in a packet: its own, and those that ride on it. Pieces after the first name none.
std::vector<std::string_view> names_in(const SessionHeader& header, const Frames& frames) {
  if (header.part != Part::whole && header.part != Part::first) return {};
  std::vector<std::size_t> places{header.part == Part::first ? 2U : 1U};
  for (std::size_t rider = 1; rider <= header.riders; ++rider) places.push_back(frames.size() - rider * kRiderFrames);
  std::vector<std::string_view> names;
  for (const std::size_t place : places) {
    const auto outside = msg::decode_header(frames.at(place));
    if (const msg::MessageInfo* info = outside ? msg::find_info(outside.value().tag) : nullptr)
      names.push_back(info->name);
  }
  return names;
}

}  // namespace

FaultRules::FaultRules(std::vector<FaultRule> rules) : rules_(std::move(rules)) {
  std::set<std::string> seen;
  for (const FaultRule& rule : rules_) {
    if (!is_message(rule.message))
      throw std::invalid_argument(fmt::format("[FaultRules] no message is called \"{}\"", rule.message));
    if (!seen.insert(rule.message).second)
      throw std::invalid_argument(fmt::format("[FaultRules] two rules for \"{}\"", rule.message));
    if (rule.fail_first < 0 || rule.delay.count() < 0) {
      throw std::invalid_argument(fmt::format("[FaultRules] \"{}\": fail_first {} and delay {} ms must not be negative",
                                              rule.message, rule.fail_first, rule.delay.count()));
    }
  }
}

DecideFate FaultRules::decide() const {
  std::map<std::string, FaultRule, std::less<>> by_name;
  for (const FaultRule& rule : rules_) by_name[rule.message] = rule;
  // A resent message keeps its number.
  using Sent = std::tuple<NodeName, SessionLane, std::uint64_t>;
  return [by_name = std::move(by_name), failed = std::map<Sent, int>()](const NodeName& to,
                                                                        const Frames& frames) mutable -> Fate {
    constexpr Fate at_once = std::chrono::microseconds(0);
    if (frames.empty()) return at_once;
    const auto header = decode_session_header(frames.front().bytes);
    if (!header || header.value().kind != SessionKind::data) return at_once;
    FaultRule both{};
    bool is_named = false;
    for (const std::string_view name : names_in(header.value(), frames)) {
      const auto rule = by_name.find(name);
      if (rule == by_name.end()) continue;
      is_named = true;
      both.fail_first = std::max(both.fail_first, rule->second.fail_first);
      both.delay = std::max(both.delay, rule->second.delay);
    }
    if (!is_named) return at_once;
    if (failed[{to, header.value().lane, header.value().number}]++ < both.fail_first) return std::nullopt;
    return both.delay;
  };
}

LocalClusterOptions FaultRules::options() const {
  LocalClusterOptions options;
  options.wrap_link = [rules = *this](std::unique_ptr<Link> link) {
    return std::make_unique<FaultyLink>(std::move(link), rules.decide());
  };
  return options;
}

}  // namespace troupe::sim
