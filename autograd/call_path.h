// Where in a program a graph vertex was made. Gradients are summed in an order that follows it. The sums are therefore
// the same for every placement of the program's parts and every order in which messages arrive.
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

/// The calls that lead to a point of the program: the caller's path, then the index of the call there. The empty path
/// is the program outside every call. Ordered lexicographically, a caller before its calls.
class CallPath {
 public:
  CallPath() = default;
  explicit CallPath(std::vector<std::uint32_t> indices) : indices_(std::move(indices)) {}

  /// Returns the path of call number `index` made at this path.
  [[nodiscard]] CallPath child(std::uint32_t index) const;

  [[nodiscard]] std::span<const std::uint32_t> indices() const noexcept { return {indices_.data(), indices_.size()}; }

  [[nodiscard]] std::vector<std::uint32_t> take() && noexcept { return std::move(indices_); }

  /// Returns "0.2.1", or "" for the empty path.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const CallPath&, const CallPath&) = default;
  friend std::strong_ordering operator<=>(const CallPath& a, const CallPath& b);

 private:
  std::vector<std::uint32_t> indices_;
};

/// Where and when a vertex was made: its call, and a serial number that grows within that call.
struct CreationMark {
  std::shared_ptr<const CallPath> call;  ///< null for the empty path
  std::uint64_t serial = 0;

  [[nodiscard]] const CallPath& path() const noexcept;
};

/// Assigns the vertices that this thread makes during the guard's life to call `path`. Their serials come from
/// `next_serial`, which several guards of one call may share. The destructor restores the previous state. Without a
/// guard, a thread has the empty path and its own counter.
class CallPathGuard {
 public:
  /// REQUIRES: `next_serial` outlives the guard.
  CallPathGuard(std::shared_ptr<const CallPath> path, std::atomic<std::uint64_t>& next_serial);
  ~CallPathGuard();
  CallPathGuard(const CallPathGuard&) = delete;
  CallPathGuard& operator=(const CallPathGuard&) = delete;

 private:
  std::shared_ptr<const CallPath> path_before_;
  std::atomic<std::uint64_t>* next_serial_before_;
};

/// Returns the mark for a vertex that this thread makes now, and consumes one serial.
[[nodiscard]] CreationMark take_creation_mark();

}  // namespace troupe
