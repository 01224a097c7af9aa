// The receiver's side of flow control: what a call of a peer holds here until it begins.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace troupe {

/// Whose credit a call holds. Calls made inside served functions have credit of their own, which outer calls cannot take:
/// otherwise two nodes whose functions call each other could wait for each other's callers.
enum class Charge : std::uint8_t {
  none = 0,    ///< words of the runtime and answers
  call = 1,
  nested = 2,
};

/// What the calls of one peer that are here and have not begun hold. One session writes `taken`, any thread gives back.
class CreditAccount {
 public:
  /// `told` is called on the thread that gives back, when the session has asked to be told; it must not block.
  explicit CreditAccount(std::function<void()> told) : told_(std::move(told)) {}
  CreditAccount(const CreditAccount&) = delete;
  CreditAccount& operator=(const CreditAccount&) = delete;

  void give_back(Charge charge, std::uint64_t bytes);

  /// Calls and bytes given back since the beginning.
  [[nodiscard]] std::uint64_t calls(Charge charge) const { return side(charge).calls.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t bytes(Charge charge) const { return side(charge).bytes.load(std::memory_order_acquire); }

  /// The next `give_back` after which `calls` of that side reach the number tells; once.
  void tell_at(Charge charge, std::uint64_t calls);

 private:
  struct Side {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> tell_at{kNever};
  };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  [[nodiscard]] Side& side(Charge charge) { return sides_[charge == Charge::nested ? 1 : 0]; }
  [[nodiscard]] const Side& side(Charge charge) const { return sides_[charge == Charge::nested ? 1 : 0]; }

  const std::function<void()> told_;
  std::array<Side, 2> sides_;
};

/// What one call holds until it begins or is dropped. Any thread may call any member.
class CallCredit {
 public:
  CallCredit(std::shared_ptr<CreditAccount> account, Charge charge, std::uint64_t bytes)
      : account_(std::move(account)), charge_(charge), bytes_(bytes) {}
  ~CallCredit() { begin(); }
  CallCredit(const CallCredit&) = delete;
  CallCredit& operator=(const CallCredit&) = delete;

  /// The call begins: its caller may send another. Later calls do nothing.
  void begin() {
    if (!begun_.exchange(true, std::memory_order_acq_rel)) account_->give_back(charge_, bytes_);
  }

 private:
  const std::shared_ptr<CreditAccount> account_;
  const Charge charge_;
  const std::uint64_t bytes_;
  std::atomic<bool> begun_{false};
};

}  // namespace troupe
