#include "node/keys/key_ring.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "messages/frame.h"
#include "node/file_descriptor.h"
#include "node/keys/timed_reader.h"
#include "node/node_name.h"
#include "node/system_text.h"
#include "node/write_all.h"

namespace troupe {
namespace {

constexpr std::uint32_t kMagic = 0x4B505254;  // "TRPK"
constexpr std::byte kVersion{1};
constexpr std::size_t kSecretAt = 8;
constexpr std::size_t kCountAt = kSecretAt + KeyPair::kSecretBytes;
constexpr std::size_t kHeadBytes = kCountAt + 8;
constexpr std::size_t kMemberBytesMax = 1 + kNodeNameMax + PublicKey::kBytes;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

Error failure(std::string message) {
  return Error{.code = ErrorCode::bad_argument, .message = std::move(message), .execution = Execution::never};
}

std::uint32_t count_in(std::span<const std::byte> head) {
  if (head.size() < kHeadBytes) {
    throw std::invalid_argument(fmt::format("has only {} bytes, expected at least {}", head.size(), kHeadBytes));
  }
  const auto zeros = head.subspan(5, 3);
  if (detail::load_little_endian<std::uint32_t>(head) != kMagic || head[4] != kVersion ||
      !std::ranges::all_of(zeros, [](std::byte one) { return one == std::byte{0}; })) {
    throw std::invalid_argument("does not begin as a key ring of version 1");
  }
  const auto count = detail::load_little_endian<std::uint32_t>(head.subspan(kCountAt));
  if (count < 1 || count > KeyRing::kMembersMax) {
    throw std::invalid_argument(fmt::format("names {} members, expected 1 to {}", count, KeyRing::kMembersMax));
  }
  return count;
}

std::vector<KeyRing::Member> members_in(std::span<const std::byte> bytes, std::uint32_t count) {
  std::vector<KeyRing::Member> members;  // grows as bytes are found: `count` is a claim
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t length = bytes.empty() ? 0 : std::to_integer<std::size_t>(bytes.front());
    if (bytes.size() < 1 + length + PublicKey::kBytes) {
      throw std::invalid_argument(fmt::format("ends within member {} of {}", i, count));
    }
    KeyRing::Member& member = members.emplace_back();
    member.name.assign(reinterpret_cast<const char*>(bytes.data()) + 1, length);
    std::ranges::copy(bytes.subspan(1 + length, PublicKey::kBytes), member.key.bytes.begin());
    if (!is_valid_node_name(member.name)) {
      throw std::invalid_argument(fmt::format("has a member {} whose name is not {}", i, kNodeNameRule));
    }
    bytes = bytes.subspan(1 + length + PublicKey::kBytes);
  }
  if (!bytes.empty()) throw std::invalid_argument(fmt::format("has {} bytes after its last member", bytes.size()));
  return members;
}

void check_members(std::span<const KeyRing::Member> members) {
  if (members.size() > KeyRing::kMembersMax) {
    throw std::invalid_argument(fmt::format("has {} members, more than {}", members.size(), KeyRing::kMembersMax));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (is_valid_node_name(members[i].name)) continue;
    throw std::invalid_argument(fmt::format("has a member {} whose name is not {}", i, kNodeNameRule));
  }
}

}  // namespace

struct KeyRing::Members {
  /// Throws std::invalid_argument for a name or a key that occurs twice.
  explicit Members(std::vector<Member> members) : list(std::move(members)) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!by_name.emplace(list[i].name, i).second) {
        throw std::invalid_argument(fmt::format("names \"{}\" twice", list[i].name));
      }
      if (!by_key.emplace(list[i].key, i).second) {
        throw std::invalid_argument(fmt::format("gives \"{}\" the key of another member", list[i].name));
      }
    }
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  const std::vector<Member> list;
  std::map<std::string_view, std::size_t> by_name;  ///< views of the list's names
  std::map<PublicKey, std::size_t> by_key;
};

/// What copies of a ring share.
struct KeyRing::Shared {
  Shared(KeyPair keys, std::shared_ptr<const Members> first) : own_keys(std::move(keys)), members(std::move(first)) {}

  struct Watcher {
    std::weak_ptr<const void> self;
    std::function<void()> changed;
  };

  mutable std::mutex mutex;
  KeyPair own_keys;                        ///< guarded by mutex
  std::shared_ptr<const Members> members;  ///< never null; guarded by mutex
  std::vector<Watcher> watchers;           ///< guarded by mutex
  std::atomic<std::uint64_t> version = 0;  ///< any thread
};

KeyRing::KeyRing(KeyPair own_keys, std::shared_ptr<const Members> members, std::size_t own_place)
    : own_name_(members->list[own_place].name),
      shared_(std::make_shared<Shared>(std::move(own_keys), std::move(members))) {}

KeyPair KeyRing::own_keys() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->own_keys;
}

void KeyRing::replace_own_keys(KeyPair keys) const {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->own_keys = std::move(keys);
    ++shared_->version;
  }
  tell_watchers();
}

void KeyRing::tell_watchers() const {
  std::vector<Shared::Watcher> watchers;
  {
    const std::lock_guard lock(shared_->mutex);
    watchers = shared_->watchers;
  }
  for (const Shared::Watcher& watcher : watchers) {
    if (const auto alive = watcher.self.lock()) watcher.changed();
  }
}

std::shared_ptr<const KeyRing::Members> KeyRing::current() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->members;
}

std::vector<KeyRing::Member> KeyRing::members() const { return current()->list; }

std::size_t KeyRing::size() const { return current()->list.size(); }

std::uint64_t KeyRing::version() const { return shared_->version; }

void KeyRing::on_change(std::weak_ptr<const void> watcher, std::function<void()> changed) const {
  std::vector<Shared::Watcher> ended;  // destroyed after the lock is released
  const std::lock_guard lock(shared_->mutex);
  std::vector<Shared::Watcher>& all = shared_->watchers;
  const auto is_alive = [](const Shared::Watcher& one) { return !one.self.expired(); };
  const auto first_ended = std::partition(all.begin(), all.end(), is_alive);
  ended.assign(std::make_move_iterator(first_ended), std::make_move_iterator(all.end()));
  all.erase(first_ended, all.end());
  all.push_back({std::move(watcher), std::move(changed)});
}

Result<Unit> KeyRing::replace_members(std::vector<Member> members) const {
  try {
    check_members(members);
    const auto in = std::make_shared<const Members>(std::move(members));
    const std::lock_guard lock(shared_->mutex);
    shared_->members = in;
    ++shared_->version;
  } catch (const std::invalid_argument& error) {
    return failure(fmt::format("the key ring {}", error.what()));
  }
  tell_watchers();
  return Unit{};
}

std::optional<PublicKey> KeyRing::key_of(std::string_view name) const {
  const auto in = current();
  const auto found = in->by_name.find(name);
  return found == in->by_name.end() ? std::nullopt : std::optional(in->list[found->second].key);
}

std::optional<NodeName> KeyRing::name_of(const PublicKey& key) const {
  const auto in = current();
  const auto found = in->by_key.find(key);
  return found == in->by_key.end() ? std::nullopt : std::optional(in->list[found->second].name);
}

LockedBytes KeyRing::to_bytes() const {
  const auto in = current();
  const KeyPair own = own_keys();
  std::size_t size = kHeadBytes;
  for (const Member& member : in->list) size += 1 + member.name.size() + PublicKey::kBytes;
  LockedBytes result(size);
  std::span<std::byte> out = result.bytes();
  std::ranges::fill(out, std::byte{0});
  detail::store_little_endian(out, kMagic);
  out[4] = kVersion;
  std::ranges::copy(own.secret(), out.begin() + kSecretAt);
  detail::store_little_endian(out.subspan(kCountAt), static_cast<std::uint32_t>(in->list.size()));
  detail::store_little_endian(out.subspan(kCountAt + 4), static_cast<std::uint32_t>(in->by_key.at(own.public_key())));
  out = out.subspan(kHeadBytes);
  for (const Member& member : in->list) {
    out[0] = static_cast<std::byte>(member.name.size());
    std::ranges::copy(std::as_bytes(std::span{member.name}), out.begin() + 1);
    out = out.subspan(1 + member.name.size());
    std::ranges::copy(member.key.bytes, out.begin());
    out = out.subspan(PublicKey::kBytes);
  }
  return result;
}

Result<Unit> KeyRing::to_descriptor(int descriptor) const {
  const LockedBytes all = to_bytes();
  if (detail::write_all(descriptor, all.bytes())) return Unit{};
  return failure(fmt::format("cannot write the key ring of {} ({} members, {} bytes) to descriptor {}: {}", own_name(),
                             members().size(), all.bytes().size(), descriptor, detail::system_text(errno)));
}

Result<KeyRing> KeyRing::from_members(KeyPair own_keys, std::vector<Member> members) {
  try {
    check_members(members);
    auto in = std::make_shared<const Members>(std::move(members));
    const auto own = in->by_key.find(own_keys.public_key());
    if (own == in->by_key.end()) throw std::invalid_argument("lacks the node whose ring it is");
    const std::size_t place = own->second;
    return KeyRing(std::move(own_keys), std::move(in), place);
  } catch (const std::invalid_argument& error) {
    return failure(fmt::format("the key ring {}", error.what()));
  }
}

Result<KeyRing> KeyRing::from_bytes(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(count_in(bytes));
    return from_parts(bytes.first(kHeadBytes), bytes.subspan(kHeadBytes));
  } catch (const std::invalid_argument& error) {
    return failure(fmt::format("the key ring {}", error.what()));
  }
}

Result<KeyRing> KeyRing::from_descriptor(int descriptor) {
  const detail::FileDescriptor owner(descriptor);
  try {
    return read(descriptor);
  } catch (const std::invalid_argument& error) {
    return failure(fmt::format("the key ring in descriptor {} {}", descriptor, error.what()));
  }
}

// Only the head has a secret; it never leaves locked memory.
Result<KeyRing> KeyRing::read(int descriptor) {
  detail::TimedReader reader(descriptor, detail::kInheritedPatience);
  LockedBytes head(kHeadBytes);
  const std::size_t count = count_in(head.bytes().first(reader.read_up_to(head.bytes())));
  std::vector<std::byte> members;
  while (members.size() <= count * kMemberBytesMax) {
    const std::size_t before = members.size();
    members.resize(before + kReadBytes);
    const std::size_t got = reader.read_up_to(std::span(members).subspan(before));
    members.resize(before + got);
    if (got < kReadBytes) return from_parts(head.bytes(), members);
  }
  throw std::invalid_argument(fmt::format("has more bytes than its {} members can have", count));
}

Result<KeyRing> KeyRing::from_parts(std::span<const std::byte> head, std::span<const std::byte> members) {
  auto in = std::make_shared<const Members>(members_in(members, count_in(head)));
  const auto place = detail::load_little_endian<std::uint32_t>(head.subspan(kCountAt + 4));
  if (place >= in->list.size()) {
    throw std::invalid_argument(fmt::format("is for member {} of {}", place, in->list.size()));
  }
  KeyPair own = KeyPair::from_secret(head.subspan<kSecretAt, KeyPair::kSecretBytes>());
  if (own.public_key() != in->list[place].key) {
    throw std::invalid_argument(fmt::format("has a secret key that is not that of {}", in->list[place].name));
  }
  return KeyRing(std::move(own), std::move(in), place);
}

std::vector<KeyRing> make_run_keys(std::span<const NodeName> names) {
  if (names.empty() || names.size() > KeyRing::kMembersMax) {
    throw std::invalid_argument(fmt::format("[keys] {} members, expected 1 to {}", names.size(), KeyRing::kMembersMax));
  }
  std::vector<KeyPair> pairs;
  std::vector<KeyRing::Member> members;
  for (const NodeName& name : names) {
    if (!is_valid_node_name(name)) {
      throw std::invalid_argument(fmt::format("[keys] \"{}\" is not {}", name.substr(0, kNodeNameMax), kNodeNameRule));
    }
    pairs.push_back(KeyPair::random());
    members.push_back({name, pairs.back().public_key()});
  }
  std::vector<KeyRing> rings;
  rings.reserve(names.size());
  try {
    const auto in = std::make_shared<const KeyRing::Members>(std::move(members));
    for (std::size_t i = 0; i < names.size(); ++i) rings.push_back(KeyRing(std::move(pairs[i]), in, i));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("[keys] the list of members {}", error.what()));
  }
  return rings;
}

}  // namespace troupe
