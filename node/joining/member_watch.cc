#include "node/joining/member_watch.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/membership/membership.h"
#include "actors/membership/signed_list.h"
#include "node/keys/key_files.h"

namespace troupe::detail {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string_view list_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The file, and the ring whose members are those of the list.
class WatchedList : public SignedListHolder {
 public:
  WatchedList(const std::shared_ptr<NodeCore>& node, std::shared_ptr<MemberFile> file, KeyRing ring, AuditSink audit)
      : name_(node->name()), node_(node), file_(std::move(file)), ring_(std::move(ring)), audit_(std::move(audit)) {}

  [[nodiscard]] std::uint64_t serial() const override { return file_->serial(); }

  [[nodiscard]] bool knows(const NodeName& member) const override { return ring_.key_of(member).has_value(); }

  [[nodiscard]] std::vector<std::byte> bytes() const override { return bytes_of(file_->text()); }

  [[nodiscard]] Result<std::uint64_t> take(std::span<const std::byte> bytes, const NodeName& from) override {
    auto taken = file_->take(list_text(bytes), std::chrono::system_clock::now());
    const auto refuse = [&](const std::string& why) {
      spdlog::warn("[{}] {} sent a list of members that is not accepted: {}", name_, from, why);
      audit(AuditEvent::refused, fmt::format("a list of members that does not count: {}", why), from);
    };
    if (!taken.ok()) {
      refuse(taken.error().message);
      return taken.error();
    }
    auto& [serial, news] = taken.value();
    if (news.refused) {  // the owner has signed it: who told of it is believed
      refuse(news.line);
      return serial;
    }
    if (!news.line.empty()) news.line = fmt::format("{} told of a newer list of members: {}", from, news.line);
    follow(news);
    take_own_key();
    return serial;
  }

  [[nodiscard]] std::vector<std::vector<std::byte>> certificates() const override {
    std::vector<std::vector<std::byte>> all;
    for (const std::string& text : file_->certificates(std::chrono::system_clock::now())) all.push_back(bytes_of(text));
    return all;
  }

  [[nodiscard]] Result<Unit> take_certificate(std::span<const std::byte> bytes, const NodeName& from) override {
    auto certified = file_->certify(list_text(bytes), std::chrono::system_clock::now());
    if (!certified.ok()) {
      warn_once(fmt::format("{} sent a certificate that is not accepted: {}", from, certified.error().message));
      audit(AuditEvent::refused, certified.error().message, from);
      return certified.error();
    }
    follow(certified.value().news);
    return Unit{};
  }

  /// Lets in the member of `certificate`, which came from the address `from`.
  [[nodiscard]] Result<MemberList::Member> certify(std::string_view certificate, const std::string& from) const {
    auto certified = file_->certify(certificate, std::chrono::system_clock::now());
    if (!certified.ok()) {
      audit(AuditEvent::refused, certified.error().message, {}, from);
      return certified.error();
    }
    auto& [member, news] = certified.value();
    follow(news);
    const auto node = news.members ? node_.lock() : nullptr;
    if (node) node->membership().certified(bytes_of(certificate));
    return std::move(member);
  }

  /// Looks at the file. Returns true if another list counts from now on.
  bool look() {
    const std::uint64_t before = serial();
    MemberFile::News news = file_->look(std::chrono::system_clock::now());
    if (news.refused) {
      spdlog::warn("[{}] {}", name_, news.line);
      audit(AuditEvent::refused, std::exchange(news.line, {}));
    }
    follow(news);
    take_own_key();
    return serial() != before;
  }

 private:
  void follow(const MemberFile::News& news) const {
    if (!news.line.empty()) {
      spdlog::log(news.members ? spdlog::level::info : spdlog::level::warn, "[{}] {}", name_, news.line);
    }
    if (!news.members) return;
    // Of two that came at once, on two threads, the newer one is given last. What watches the ring only wakes links.
    const std::lock_guard one_at_a_time(follow_mutex_);
    for (std::optional<std::uint64_t> given; given != file_->version();) {
      MemberFile::Members members = file_->members(std::chrono::system_clock::now());
      given = members.version;
      if (const auto node = node_.lock()) node->listed_grants().replace(grants_until_connections_end(members));
      const auto replaced = ring_.replace_members(std::move(members.valid));
      if (!replaced) return spdlog::warn("[{}] {}", name_, replaced.error().message);
      audit(AuditEvent::keys_changed,
            news.line.empty() ? fmt::format("members of list {} whose last day is over are out", members.serial)
                              : fmt::format("list of members {}: {}", members.serial, news.line));
    }
    const auto own = ring_.key_of(ring_.own_name());
    if (!own) {
      spdlog::error("[{}] this node is not in the list of members any more: its peers do not hear it", name_);
    } else if (*own != ring_.own_keys().public_key()) {
      spdlog::info("[{}] the list has a new key of this node: it goes on with that once {} has it", name_,
                   file_->paths().key);
    }
  }

  /// Returns the grants of `members`, which the ring is given next: its members of now that are not among them have
  /// connections until then, and after that until the links end them. REQUIRES: follow_mutex_.
  [[nodiscard]] ListedGrants grants_until_connections_end(const MemberFile::Members& members) const {
    ListedGrants grants = grants_of(members);
    if (revoked_.size() > kRevokedMax) revoked_.clear();  // the connections of all but the last have ended long since
    for (KeyRing::Member& now : ring_.members()) revoked_.insert(std::move(now.name));
    for (const KeyRing::Member& valid : members.valid) revoked_.erase(valid.name);
    grants.revoked = revoked_;
    return grants;
  }

  /// Takes the own pair of which the list has the public key, once the key file has it.
  void take_own_key() const {
    const auto own = ring_.key_of(ring_.own_name());
    if (!own || *own == ring_.own_keys().public_key()) return;
    const auto file = NodeKeyFile::load(file_->paths().key);
    if (!file.ok()) return warn_once(file.error().text());
    if (file.value().keys.public_key() != *own) return;
    ring_.replace_own_keys(file.value().keys);
    spdlog::info("[{}] goes on with its new key", name_);
    audit(AuditEvent::keys_changed, "this node goes on with a new key", name_);
  }

  void audit(AuditEvent event, std::string reason, const NodeName& peer = {}, const std::string& address = {}) const {
    if (audit_) audit_({.event = event, .reason = std::move(reason), .peer = peer, .address = address});
  }

  void warn_once(const std::string& line) const {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(warned_, line) == line) return;
    }
    spdlog::warn("[{}] {}", name_, line);
  }

  static constexpr std::size_t kRevokedMax = 4'096;

  const NodeName name_;
  const std::weak_ptr<NodeCore> node_;  ///< whose membership holds this object
  const std::shared_ptr<MemberFile> file_;
  const KeyRing ring_;
  const AuditSink audit_;
  mutable std::mutex follow_mutex_;      ///< held while the ring is given members
  mutable ListedGrants::Names revoked_;  ///< by any list so far, and not in the last; guarded by follow_mutex_
  mutable std::mutex mutex_;
  mutable std::string warned_;  ///< last; guarded by mutex_
};

void look_every(Duration interval, const std::shared_ptr<NodeCore>& node, const std::shared_ptr<WatchedList>& list) {
  node->clock().at(node->clock().now() + interval, [weak = std::weak_ptr(node), list, interval] {
    const auto core = weak.lock();
    if (!core || core->stopped()) return;
    const auto look = [weak, list] {
      const bool changed = list->look();
      const auto running = weak.lock();
      if (changed && running && !running->stopped()) running->membership().list_changed();
    };
    // A full pool has other work; the next look comes soon.
    static_cast<void>(core->executor().submit({"the list of members is read", look}));
    look_every(interval, core, list);
  });
}

}  // namespace

ListedGrants grants_of(const MemberFile::Members& members) {
  ListedGrants grants;
  const bool limits_calls =
      std::ranges::any_of(members.grants, [](const auto& member) { return member.second.calls.has_value(); });
  const std::vector<std::string> all{std::string(1, CallGrants::kAny)};
  for (const auto& [name, granted] : members.grants) {
    if (limits_calls) grants.calls.allow(name, granted.calls.value_or(all));
    if (!granted.owns) grants.without_owns.insert(name);
    if (!granted.reads) grants.without_reads.insert(name);
  }
  return grants;
}

Certify watch_members(const std::shared_ptr<NodeCore>& node, std::shared_ptr<MemberFile> file, KeyRing ring,
                      Duration interval, AuditSink audit) {
  auto list = std::make_shared<WatchedList>(node, std::move(file), std::move(ring), std::move(audit));
  node->membership().share_list(list);
  look_every(interval, node, list);
  return [list](std::string_view certificate, const std::string& from) { return list->certify(certificate, from); };
}

}  // namespace troupe::detail
