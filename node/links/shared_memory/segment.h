// Memory that other processes of this host can map: written by the process that made it, read by the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "messages/error.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

/// Mapped memory. Unmaps it in the destructor.
class Mapping {
 public:
  explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  ~Mapping();
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Read-only memory of another process must not be written: the write ends this process.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// A segment of this process: memory without a name, which vanishes with the last process that has it.
struct Segment {
  FileDescriptor file;
  std::shared_ptr<const Mapping> memory;
};

/// The processes that can write to a segment.
enum class Writers : std::uint8_t { owner, all };

/// Makes a segment of zeros, whose size is sealed. All its memory exists when this returns: no later access can fail
/// for want of memory. Errors: resource_exhausted.
[[nodiscard]] Result<Segment> make_segment(std::size_t bytes, Writers writers);

/// Maps a segment of another process. Errors: protocol_violation if it has another size, has no memory yet or is not
/// sealed as make_segment() seals it, so that its owner could take memory away under a reader; resource_exhausted.
[[nodiscard]] Result<std::shared_ptr<const Mapping>> map_segment(const FileDescriptor& file, std::size_t bytes,
                                                                 Writers writers);

}  // namespace troupe::detail
