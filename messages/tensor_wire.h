// How tensors travel beside the values that contain them: a descriptor in the body, the bytes in a separate frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "messages/frame.h"
#include "tensor/tensor.h"

namespace troupe {

class DeviceMap;

namespace detail {

/// Fixed part of a descriptor in the body; 8 bytes of size and 8 of stride for each dimension follow. Its size keeps
/// decoding within 16 times the received bytes: a Tensor has 312 bytes in memory.
inline constexpr std::size_t kTensorBytesMin = 32;

/// Frame number of a tensor without bytes: undefined (dtype 0) or without elements.
inline constexpr std::uint32_t kNoFrame = 0xffffffff;

/// How often sparse tensors may share the bytes of a message: more than any that are not copies of each other do. Below
/// kIndexBytesFree, as often as they like.
inline constexpr std::size_t kIndexReadsMax = 256;
inline constexpr std::size_t kIndexBytesFree = std::size_t{16} << 20U;

/// Returns the number of a device on the wire: 0 the CPU, N + 1 the GPU N.
[[nodiscard]] std::uint16_t wire_number(Device device);
/// Throws DecodeError if no device has that number.
[[nodiscard]] Device device_of(std::uint16_t wire_number);

/// Collects the tensors of one message. When all are known, it decides which bytes go into which frame:
/// - views of one storage share a frame, from the first used byte to the last, and one storage at the receiver: a write
///   into one is seen in the others, as at the sender;
/// - if that is 8 KiB or more and less than half of it is used, views that do not overlap get separate frames, and a
/// view that still uses less than half of its frame is copied to be contiguous.
/// Frames are where their tensors are, also on a GPU.
class TensorWriter {
 public:
  /// `devices` maps tensors to devices; null: from the CPU to the CPU.
  explicit TensorWriter(std::shared_ptr<const DeviceMap> devices) : devices_(std::move(devices)) {}

  /// Appends a descriptor to `body`, blank until `finish`, and freezes the tensor's bytes. Throws EncodeError
  /// `missing_device_map` if it is on an unmapped GPU.
  void add(const Tensor& tensor, std::vector<std::byte>& body);

  /// Fills the descriptors in and appends the frames to `frames`.
  void finish(std::vector<std::byte>& body, Frames& frames);

 private:
  struct View {
    Tensor tensor;
    Device target;         ///< at the receiver
    FrozenBytes block;     ///< the whole storage
    std::size_t begin;     ///< of the first element's bytes in `block`
    std::size_t extent;    ///< bytes from the first element to the end of the last
    std::size_t position;  ///< of the descriptor in the body
  };
  using Views = std::span<View>;

  [[nodiscard]] Device target_of(Device here) const;
  void place_storage(Views views, std::vector<std::byte>& body, Frames& frames);
  void place_together(Views views, std::vector<std::byte>& body, Frames& frames);

  std::shared_ptr<const DeviceMap> devices_;
  std::vector<View> views_;
};

/// Makes tensors from descriptors and frames. A large frame that is aligned as tensors are becomes their storage; any
/// other is copied once. So is foreign memory with numbers that are checked, or used as places in memory (bool and
/// integers): it could change after the check.
class TensorReader {
 public:
  explicit TensorReader(std::span<const Frame> frames) : frames_(frames), used_(frames.size()) {}

  /// Returns the storage on `device` with the bytes of frame `index`, for numbers of `dtype`; the same for every call.
  /// REQUIRES: index < size(). Throws DecodeError if this process does not have the device, or the frame was requested
  /// on another one; DeviceMemoryError.
  [[nodiscard]] const Storage& storage(std::size_t index, Device device, DType dtype);

  /// Returns `count` frames from `first` on, unchanged, for one payload. Throws DecodeError if there are fewer, or one
  /// of them was used before: many payloads that shared frames would take more memory than what was received.
  [[nodiscard]] Frames take(std::size_t first, std::size_t count);

  [[nodiscard]] std::span<const Frame> frames() const noexcept { return frames_; }

  /// Throws DecodeError unless the `size` bytes from `begin` on of frame `index` are booleans. However many tensors
  /// share the frame, none of its bytes is read more than twice. REQUIRES: the bytes exist; a call of `storage`
  /// follows.
  void require_booleans(std::size_t index, std::size_t begin, std::size_t size);

  /// Returns how many bytes `require_booleans` has read.
  [[nodiscard]] std::size_t booleans_read() const noexcept { return booleans_read_; }

  /// Counts the indices of a sparse tensor, which its constructor reads. Any number of them may lie in one frame:
  /// throws DecodeError once they are more than kIndexBytesFree and kIndexReadsMax times the bytes of all frames.
  void count_indices(std::size_t bytes);

  /// Throws DecodeError if a frame is unused.
  void require_all_used() const;

 private:
  using Place = std::pair<std::size_t, std::size_t>;  ///< a frame and a byte of it

  /// Returns the bytes of frame `index` to be checked: of the storage for `dtype`, or those that it will be copied
  /// from.
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t index, DType dtype);
  [[nodiscard]] bool needs_private_copy(std::size_t index, DType dtype) const;
  /// On the CPU.
  [[nodiscard]] const Storage& private_copy(std::size_t index);

  std::span<const Frame> frames_;
  std::vector<Storage> storages_;  ///< by frame, once one is needed
  std::vector<Storage> integers_;  ///< the same, copies of frames that are checked, and could change meanwhile
  std::vector<bool> used_;
  std::map<Place, std::size_t> booleans_;  ///< checked ranges, begin to end, which neither overlap nor touch
  std::size_t booleans_read_ = 0;
  std::optional<std::size_t> indices_left_;  ///< bytes that may be counted; known once some are
};

}  // namespace detail
}  // namespace troupe
