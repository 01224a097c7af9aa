#include "node/sim/faulty_link.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

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
    // Pieces after the first do not name their message.
    if (header.value().part != Part::whole && header.value().part != Part::first) return at_once;
    const auto outside = msg::decode_header(frames[header.value().part == Part::first ? 2 : 1]);
    const msg::MessageInfo* word = outside ? msg::find_info(outside.value().tag) : nullptr;
    const auto rule = word == nullptr ? by_name.end() : by_name.find(word->name);
    if (rule == by_name.end()) return at_once;
    if (failed[{to, header.value().lane, header.value().number}]++ < rule->second.fail_first) return std::nullopt;
    return rule->second.delay;
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
