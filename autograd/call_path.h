// Where in a program a graph vertex was made. Sums of gradients follow it, so they are the same for every placement of
// the program's parts and every order in which messages arrive.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// The calls that lead to a point of the program: its caller's path, then the call's index there. The empty path is the
/// program itself, outside every call. Ordered lexicographically, a caller before its calls.
class CallPath {
 public:
  CallPath() = default;
  explicit CallPath(std::vector<std::uint32_t> indices) : indices_(std::move(indices)) {}

  /// The path of call number `index` made at this path.
  [[nodiscard]] CallPath child(std::uint32_t index) const;

  [[nodiscard]] std::span<const std::uint32_t> indices() const noexcept { return indices_; }

  /// "0.2.1"; empty for the empty path.
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const CallPath&, const CallPath&) = default;

 private:
  std::vector<std::uint32_t> indices_;
};

/// When and where a vertex was made: its call, and a serial number that grows inside that call.
struct CreationMark {
  std::shared_ptr<const CallPath> call;  ///< null is the empty path
  std::uint64_t serial = 0;

  [[nodiscard]] const CallPath& path() const noexcept;
};

/// Vertices made by this thread during the guard's life belong to call `path` and take their serials from
/// `next_serial`, which several guards of the same call may share. The previous state returns when the guard ends.
/// Without a guard a thread has the empty path and a counter of its own.
class CallPathGuard {
 public:
  /// `next_serial` outlives the guard.
  CallPathGuard(std::shared_ptr<const CallPath> path, std::atomic<std::uint64_t>& next_serial);
  ~CallPathGuard();
  CallPathGuard(const CallPathGuard&) = delete;
  CallPathGuard& operator=(const CallPathGuard&) = delete;

 private:
  std::shared_ptr<const CallPath> path_before_;
  std::atomic<std::uint64_t>* next_serial_before_;
};

/// The mark for a vertex made now by this thread. Takes one serial.
[[nodiscard]] CreationMark take_creation_mark();

}  // namespace troupe
