// The secret that all nodes of one cluster share, and how a node gets it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "messages/error.h"
#include "node/keys/locked_bytes.h"
#include "tensor/io/file_path.h"

namespace troupe {
namespace detail {
class TimedReader;
}

/// 32 secret bytes in locked, guarded memory that is zeroed with the last copy. Copies share the memory. A secret
/// cannot be compared or printed; handshake.h proves its knowledge.
class ClusterSecret {
 public:
  static constexpr std::size_t kBytes = 32;

  [[nodiscard]] static ClusterSecret random();

  /// Copies the secret from memory that the caller wipes.
  [[nodiscard]] static ClusterSecret from_bytes(std::span<const std::byte, kBytes> bytes);

  /// Reads the secret from the inherited `descriptor`, to its end, and closes it. Errors: bad_argument naming the
  /// descriptor and what was found, also if its writer does not reach the end within 5 s.
  [[nodiscard]] static Result<ClusterSecret> from_descriptor(int descriptor);
  /// As above, within `limit`.
  [[nodiscard]] static Result<ClusterSecret> from_descriptor(int descriptor, std::chrono::milliseconds limit);

  /// Reads the secret from a regular file (no symbolic link) that belongs to this user and has mode 0600 or stricter.
  /// Errors: not_authorized naming path and mode or owner, bad_argument naming path and any other problem.
  [[nodiscard]] static Result<ClusterSecret> from_file(const FilePath& path);

  /// Writes it to a new file of mode 0600. Errors: bad_argument (exists already, no such folder, ...).
  [[nodiscard]] Result<Unit> to_file(const FilePath& path) const;

  /// Writes it to `descriptor`, whose other end a child inherits. Errors: bad_argument.
  [[nodiscard]] Result<Unit> to_descriptor(int descriptor) const;

  /// For the handshake only.
  [[nodiscard]] std::span<const std::byte, kBytes> bytes() const;

 private:
  explicit ClusterSecret(std::shared_ptr<const LockedBytes> memory) : memory_(std::move(memory)) {}
  [[nodiscard]] static Result<ClusterSecret> read(detail::TimedReader reader, const std::string& source);

  std::shared_ptr<const LockedBytes> memory_;
};

}  // namespace troupe
