// Encodes values as bytes and decodes them, bounded. The only header that includes cereal.
//
// A user type travels if it has what cereal requires: one `serialize(Archive&)`, or save and load, or their minimal
// forms, members or free functions; a plain struct (plain_struct.h) travels without any of them. Numbers, enums, std
// containers (wire_containers.h) and tensors travel without that, too.
// Integers have fixed width and are little-endian; every length has 64 bits. Archives belong to one thread.
#pragma once

#include <bit>
#include <cereal/cereal.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/frame.h"
#include "messages/payload.h"
#include "messages/plain_struct.h"
#include "messages/tensor_wire.h"

namespace troupe {

static_assert(std::endian::native == std::endian::little && sizeof(long) == 8, "numbers are copied as they lie");

/// Base of the object that the layer above attaches to an archive, for types that cannot travel alone (Variable, RRef).
struct ArchiveHook {
  virtual ~ArchiveHook() = default;
};

/// The bytes are malformed. Text: `[decode] what: the values`. Never leaves the codec as an exception.
class DecodeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value cannot travel: `not_serializable` or `too_large`. Text: `[encode] what: the values`.
class EncodeError : public std::runtime_error {
 public:
  EncodeError(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

inline constexpr int kNestingMax = 64;             ///< containers within containers, structs within structs
inline constexpr std::uint64_t kEmptyMax = 1'024;  ///< elements of one container that take no bytes
inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

class OutArchive;
class InArchive;

namespace detail {
/// Has what cereal requires.
template <class T>
concept Serializes = cereal::traits::is_output_serializable<T, OutArchive>::value &&
                     cereal::traits::is_input_serializable<T, InArchive>::value;

template <class T>
concept UserTravels = std::is_empty_v<T> || Serializes<T> || PlainStruct<T>;
}  // namespace detail

/// How `T` is written, read and described. Specialized for numbers, std types and tensors; specialize it for a type
/// that needs the hook. This primary template passes user types to cereal. `describe` names the format on the
/// SchemaArchive (schema.h); `kTravels` says whether the type can travel.
template <class T>
struct WireFormat {
  static constexpr bool kTravels =
      requires { requires std::is_class_v<T> && std::is_default_constructible_v<T> && detail::UserTravels<T>; };
  static void save(OutArchive& ar, const T& value);
  static void load(InArchive& ar, T& value);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template user_type<T>();
  }
};

/// A type whose values can be sent. Checks the outermost user type only, not the types that its `serialize` names.
template <class T>
concept Travels = WireFormat<T>::kTravels;

namespace detail {
template <class T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, long double>;

template <class T>
concept Enum = std::is_enum_v<T>;

/// Elements whose layout in memory equals their layout on the wire.
template <class T>
concept Bulk = (Number<T> && !std::is_same_v<T, bool>) ||
               (Enum<T> && !std::is_same_v<typename std::underlying_type<T>::type, bool>);

[[noreturn]] void fail_not_boolean(unsigned value);
[[noreturn]] void fail_nesting_out();
[[noreturn]] void fail_nesting_in();

enum class Nesting : std::uint8_t { container, structure };

/// Counts one level of nesting of `archive` during its lifetime.
template <class Archive>
class Level {
 public:
  Level(Archive& archive, Nesting nesting) : archive_(archive), nesting_(nesting) { archive_.enter(nesting); }
  ~Level() { archive_.leave(nesting_); }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Archive& archive_;
  Nesting nesting_;
};
}  // namespace detail

/// The result of an OutArchive.
struct Encoded {
  std::vector<std::byte> bytes;
  Frames frames;  ///< of tensors and nested payloads
};

/// Writes values into a growing buffer. Errors are EncodeError.
class OutArchive : public cereal::OutputArchive<OutArchive, cereal::AllowEmptyClassElision> {
 public:
  /// `devices` maps tensors to devices; null: from the CPU to the CPU.
  explicit OutArchive(ArchiveHook* hook = nullptr, std::size_t text_bytes_max = kUnlimited,
                      std::shared_ptr<const DeviceMap> devices = nullptr);
  ~OutArchive();

  template <class... Ts>
  OutArchive& operator()(Ts&&... values) {
    (WireFormat<std::remove_cvref_t<Ts>>::save(*this, values), ...);
    return *this;
  }
  template <class T>
  OutArchive& operator&(T&& value) {
    return (*this)(value);
  }
  template <class T>
  OutArchive& operator<<(T&& value) {
    return (*this)(value);
  }

  [[nodiscard]] ArchiveHook* hook() const noexcept { return hook_; }

  /// Appends bytes unchanged.
  void write(const void* data, std::size_t size);
  void length(std::uint64_t count) { write(&count, sizeof count); }
  void text(std::string_view text);
  void tensor(const Tensor& tensor) { tensors_.add(tensor, bytes_); }
  /// Appends frames beside the body and returns the number of the first.
  std::uint32_t frames(const Frames& frames);

  /// Calls `save_next` for each of `count` elements. REQUIRES: their number has been written.
  template <class SaveNext>
  void elements(std::uint64_t count, SaveNext save_next) {
    std::uint64_t empty = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t before = bytes_.size();
      save_next();
      if (bytes_.size() == before && ++empty > kEmptyMax) fail_empty();
    }
  }

  /// Passes a value of a user type to cereal.
  template <class T>
  void user(const T& value) {
    OutputArchive::operator()(value);
  }

  /// Returns all that was written. The archive cannot be used afterwards.
  [[nodiscard]] Encoded finish();

 private:
  friend class detail::Level<OutArchive>;
  void enter(detail::Nesting nesting) {
    if (++depth_[static_cast<int>(nesting)] > kNestingMax) detail::fail_nesting_out();
  }
  void leave(detail::Nesting nesting) { --depth_[static_cast<int>(nesting)]; }
  [[noreturn]] static void fail_empty();

  std::vector<std::byte> bytes_;
  Frames frames_;
  detail::TensorWriter tensors_;
  ArchiveHook* hook_;
  std::size_t text_bytes_max_;
  int depth_[2] = {0, 0};
};

/// Reads values from bytes that may be hostile: every length is compared with the remaining bytes before any
/// allocation, and containers grow only as elements are present. Errors are DecodeError. REQUIRES: `bytes` and `frames`
/// outlive the archive.
class InArchive : public cereal::InputArchive<InArchive, cereal::AllowEmptyClassElision> {
 public:
  /// `owner` keeps `bytes` alive, so that a payload in them is not copied; null: it is copied.
  InArchive(std::span<const std::byte> bytes, std::span<const Frame> frames, ArchiveHook* hook = nullptr,
            std::size_t text_bytes_max = kUnlimited, std::shared_ptr<const void> owner = nullptr);
  /// Reads the values in `payload`, which outlives the archive.
  InArchive(const msg::Payload& payload, ArchiveHook* hook);
  ~InArchive();

  template <class... Ts>
  InArchive& operator()(Ts&&... values) {
    (WireFormat<std::remove_cvref_t<Ts>>::load(*this, values), ...);
    return *this;
  }
  template <class T>
  InArchive& operator&(T&& value) {
    return (*this)(value);
  }
  template <class T>
  InArchive& operator>>(T&& value) {
    return (*this)(value);
  }

  [[nodiscard]] ArchiveHook* hook() const noexcept { return hook_; }
  [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size(); }

  /// Returns the next `size` bytes.
  const std::byte* take(std::uint64_t size) {
    if (size > bytes_.size()) fail_short(size);
    const std::byte* data = bytes_.data();
    bytes_ = {data + size, bytes_.size() - size};
    return data;
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T number() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  /// Reads the number of elements of at least `element_bytes` each. Throws if so many cannot be present.
  [[nodiscard]] std::uint64_t length(std::size_t element_bytes);
  /// Reads the number of elements of unknown size. All but kEmptyMax of them must take a byte.
  [[nodiscard]] std::uint64_t length();
  [[nodiscard]] std::string_view text();
  [[nodiscard]] Tensor tensor();
  /// Returns the next `size` bytes; they outlive the archive.
  [[nodiscard]] Frame shared(std::uint64_t size);
  [[nodiscard]] detail::TensorReader& tensors() noexcept { return tensors_; }

  /// Calls `load_next` for each of `count` elements.
  template <class LoadNext>
  void elements(std::uint64_t count, LoadNext load_next) {
    std::uint64_t empty = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t before = remaining();
      load_next();
      if (remaining() == before && ++empty > kEmptyMax) fail_empty();
    }
  }

  template <class T>
  void user(T& value) {
    InputArchive::operator()(value);
  }

  /// Throws if bytes or frames are left over.
  void finish() const;

 private:
  friend class detail::Level<InArchive>;
  void enter(detail::Nesting nesting) {
    if (++depth_[static_cast<int>(nesting)] > kNestingMax) detail::fail_nesting_in();
  }
  void leave(detail::Nesting nesting) { --depth_[static_cast<int>(nesting)]; }
  [[noreturn]] void fail_short(std::uint64_t size) const;
  [[noreturn]] static void fail_empty();

  std::span<const std::byte> bytes_;
  detail::TensorReader tensors_;
  ArchiveHook* hook_;
  std::size_t text_bytes_max_;
  std::shared_ptr<const void> owner_;
  int depth_[2] = {0, 0};
};

}  // namespace troupe

CEREAL_SETUP_ARCHIVE_TRAITS(troupe::InArchive, troupe::OutArchive)

#include "messages/wire_basic.h"       // IWYU pragma: export
#include "messages/wire_containers.h"  // IWYU pragma: export
#include "messages/wire_tensors.h"     // IWYU pragma: export
#include "messages/wire_vocabulary.h"  // IWYU pragma: export
