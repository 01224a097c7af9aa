// Finds the operation that made a NaN or an infinity.
//
//   const AnomalyGuard guard;
//   (void)backward(loss(x));  // [backward] sqrt: gradient of input 0: f32 (8) has nan at element 3; made as operation
//   17
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace troupe {

/// The values that an AnomalyGuard rejects.
enum class Anomaly : std::uint8_t {
  nan,         ///< NaN only: for programs that mask with infinities
  not_finite,  ///< NaN and infinities: an infinity precedes most NaN
};

/// An operation returned a value that the AnomalyGuard rejects. The text names the operation, its first rejected
/// element in row-major order, the operation's number (CreationMark::serial), its call if it was made in one, and the
/// labels:
/// `[anomaly] log: result 0: f32 (2, 3) has nan at element 4; made as operation 17 of call 0.2 in encoder/norm`.
class AnomalyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Checks every operation on variables that this thread records while the guard lives. The results are checked at once:
/// a rejected result throws AnomalyError. The gradients are checked in every later pass, on any thread and node: a
/// rejected gradient throws BackwardError `[backward] sqrt: gradient of input 0: ...`.
/// Passes that this thread runs while the guard lives check all operations, also those recorded earlier. There, an
/// incoming gradient may already be wrong: `[backward] mul: got a gradient: f32 (2) has inf at element 0; ...`.
/// A function under checkpoint() is recomputed to find the operation inside it. Cost: one read of every element while
/// the guard lives, none otherwise. Guards nest; the innermost decides.
class AnomalyGuard {
 public:
  explicit AnomalyGuard(Anomaly what = Anomaly::not_finite) noexcept;
  ~AnomalyGuard();
  AnomalyGuard(const AnomalyGuard&) = delete;
  AnomalyGuard& operator=(const AnomalyGuard&) = delete;

  [[nodiscard]] Anomaly what() const noexcept { return what_; }

 private:
  Anomaly what_;
  const AnomalyGuard* outside_;
};

/// Labels the part of the program that this thread executes, for the texts above. Guards nest: "encoder/norm".
class LabelGuard {
 public:
  /// REQUIRES: `label` outlives the guard.
  explicit LabelGuard(std::string_view label) noexcept;
  ~LabelGuard();
  LabelGuard(const LabelGuard&) = delete;
  LabelGuard& operator=(const LabelGuard&) = delete;

  [[nodiscard]] std::string_view label() const noexcept { return label_; }
  [[nodiscard]] const LabelGuard* outside() const noexcept { return outside_; }

 private:
  std::string_view label_;
  const LabelGuard* outside_;
};

}  // namespace troupe
