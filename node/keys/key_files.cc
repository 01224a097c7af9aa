#include "node/keys/key_files.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "node/keys/member_list.h"
#include "node/keys/trusted_file.h"
#include "node/keys/word_lines.h"
#include "node/node_name.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;

using detail::hex_of;
using detail::WordLines;

constexpr std::size_t kSecretFileMax = 1024;
constexpr std::size_t kClusterSecretBytes = 32;

Error key_failure(ErrorCode code, std::string message, std::string hint = "") {
  return Error{.code = code, .message = std::move(message), .execution = Execution::never, .hint = std::move(hint)};
}

/// Text with secrets, in locked memory from its first character.
class LockedText {
 public:
  LockedText() : bytes_(kSecretFileMax) {}

  void add(std::string_view text) {
    std::ranges::copy(std::as_bytes(std::span(text)), room(text.size()).begin());
    size_ += text.size();
  }

  /// Adds the line "`word` DIGITS".
  void add_secret(std::string_view word, std::span<const std::byte> secret) {
    add(fmt::format("{} ", word));
    const std::size_t digits = 2 * secret.size();
    const std::span<std::byte> into = room(digits + 1);  // sodium ends it with a zero
    sodium_bin2hex(reinterpret_cast<char*>(into.data()), into.size(),
                   reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
    size_ += digits;
    add("\n");
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_.bytes().first(size_); }

 private:
  std::span<std::byte> room(std::size_t size) {
    if (bytes_.bytes().size() - size_ < size) throw std::length_error("[keys] a key file has a limit");
    return bytes_.bytes().subspan(size_);
  }

  LockedBytes bytes_;
  std::size_t size_ = 0;
};

std::string read_cluster_id(WordLines& lines) {
  std::array<std::byte, MemberList::kClusterIdBytes> id{};
  lines.bytes("cluster", id);
  return hex_of(id);
}

std::shared_ptr<const LockedBytes> read_secret(WordLines& lines, std::string_view word, std::size_t size) {
  auto secret = std::make_shared<LockedBytes>(size);
  lines.bytes(word, secret->bytes());
  return secret;
}

/// Returns what `read` makes of the lines of a secret file.
template <class File, class Read>
Result<File> load_file(const std::string& path, Read read) {
  const Result<LockedBytes> bytes = detail::read_secret_file(path, kSecretFileMax);
  if (!bytes.ok()) return bytes.error();
  const std::span<const std::byte> all = bytes.value().bytes();
  try {
    WordLines lines({reinterpret_cast<const char*>(all.data()), all.size()});
    File file = read(lines);
    lines.end();
    return file;
  } catch (const std::invalid_argument& error) {
    return key_failure(ErrorCode::bad_argument, fmt::format("{}: {}", path, error.what()));
  }
}

Result<fs::path> absolute_path(const std::string& path) {
  std::error_code error;
  fs::path absolute = fs::absolute(path, error);
  if (!error) return absolute;
  return key_failure(ErrorCode::bad_argument, fmt::format("\"{}\" has no absolute path: {}", path, error.message()));
}

/// Returns where a node's files are, also for a process that changes its working directory later.
Result<detail::MemberFile::Paths> paths_of(const std::string& key_file, const std::string& members) {
  const Result<fs::path> key = absolute_path(key_file);
  if (!key.ok()) return key.error();
  const Result<fs::path> list =
      members.empty() ? key.value().parent_path() / "cluster.members" : absolute_path(members);
  if (!list.ok()) return list.error();
  // Beside the key, not beside the list: other nodes may share that one.
  const auto beside_key = [&](const char* extension) {
    return fs::path(key.value()).replace_extension(extension).string();
  };
  return detail::MemberFile::Paths{list.value().string(), beside_key(".told"), key.value().string(),
                                   beside_key(".certificate")};
}

}  // namespace

ClusterKeyFile ClusterKeyFile::random() {
  auto secret = std::make_shared<LockedBytes>(kClusterSecretBytes);
  randombytes_buf(secret->bytes().data(), kClusterSecretBytes);
  std::array<std::byte, MemberList::kClusterIdBytes> id{};
  randombytes_buf(id.data(), id.size());
  return {hex_of(id), SigningKey::random(), std::move(secret)};
}

Result<ClusterKeyFile> ClusterKeyFile::load(const std::string& path) {
  return load_file<ClusterKeyFile>(path, [](WordLines& lines) {
    lines.kind("troupe-cluster-key");
    std::string id = read_cluster_id(lines);
    const auto seed = read_secret(lines, "signing-key", SigningKey::kSeedBytes);
    SigningKey signer = SigningKey::from_seed(std::span<const std::byte, SigningKey::kSeedBytes>(seed->bytes()));
    return ClusterKeyFile{std::move(id), std::move(signer), read_secret(lines, "cluster-secret", kClusterSecretBytes)};
  });
}

Result<Unit> ClusterKeyFile::save(const std::string& path) const {
  LockedText text;
  text.add(fmt::format("troupe-cluster-key 1\ncluster {}\n", cluster_id));
  text.add_secret("signing-key", key.seed());
  text.add_secret("cluster-secret", secret->bytes());
  return detail::write_secret_file(path, text.bytes());
}

Result<NodeKeyFile> NodeKeyFile::load(const std::string& path) {
  return load_file<NodeKeyFile>(path, [](WordLines& lines) {
    lines.kind("troupe-node-key");
    std::string id = read_cluster_id(lines);
    NodeName node = lines.name("name", kNodeNameMax);
    const auto secret_key = read_secret(lines, "secret-key", KeyPair::kSecretBytes);
    KeyPair pair = KeyPair::from_secret(std::span<const std::byte, KeyPair::kSecretBytes>(secret_key->bytes()));
    auto cluster_secret = read_secret(lines, "cluster-secret", kClusterSecretBytes);
    VerifyingKey verifier;
    lines.bytes("verifying-key", verifier.bytes);
    return NodeKeyFile{std::move(id), std::move(node), std::move(pair), std::move(cluster_secret), verifier};
  });
}

Result<Unit> NodeKeyFile::save(const std::string& path) const {
  LockedText text;
  text.add(fmt::format("troupe-node-key 1\ncluster {}\nname {}\n", cluster_id, name));
  text.add_secret("secret-key", keys.secret());
  text.add_secret("cluster-secret", secret->bytes());
  text.add(fmt::format("verifying-key {}\n", hex_of(verifying_key.bytes)));
  return detail::write_secret_file(path, text.bytes());
}

Result<NodeKeys> NodeKeys::load(const std::string& key_file, const std::string& members,
                                std::chrono::system_clock::time_point now) {
  const Result<detail::MemberFile::Paths> found = paths_of(key_file, members);
  if (!found.ok()) return found.error();
  const detail::MemberFile::Paths& paths = found.value();
  const Result<NodeKeyFile> own = NodeKeyFile::load(paths.key);
  if (!own.ok()) return own.error();
  const NodeKeyFile& file = own.value();
  auto content = detail::MemberFile::newest(paths, file.verifying_key);
  if (!content.ok()) return content.error();
  const std::string& used = content.value().path;
  const MemberList& list = content.value().list;
  if (list.cluster_id != file.cluster_id) {
    return key_failure(ErrorCode::bad_argument, fmt::format("{} is of cluster {}, and {} of cluster {}", used,
                                                            list.cluster_id, paths.key, file.cluster_id));
  }
  const auto refused = [&](std::string_view why, std::string hint) {
    return key_failure(ErrorCode::not_authorized,
                       fmt::format("{} {}, serial {} of {}", file.name, why, list.serial, used), std::move(hint));
  };
  const MemberList::Member* self = list.find(file.name);
  if (self == nullptr) return refused("is not in the list", "it was revoked, or the list here is an old one");
  if (self->key != file.keys.public_key()) return refused("has another key in the list", "one of both files is old");
  if (self->has_expired(now)) return refused(fmt::format("has expired on {}", date_text(*self->until)), "");
  Result<KeyRing> ring = KeyRing::from_members(file.keys, detail::MemberFile::valid_members(list, now));
  if (!ring.ok()) return ring.error();
  const std::uint64_t serial = list.serial;
  auto watched = std::make_shared<detail::MemberFile>(paths, file.verifying_key, std::move(content).value(), now);
  return NodeKeys{file.cluster_id, serial, std::move(ring).value(), file.secret, std::move(watched)};
}

}  // namespace troupe
